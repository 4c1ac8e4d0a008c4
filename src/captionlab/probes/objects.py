"""Probes of objects: which of the frequent objects of an image can be told from the states of a captioner.

Cafagna et al. 2022 probe for scenes alone (§7); this asks whether what the captioner knew before is still there after
finetuning on scenes. One forest tells all objects at once, on the same splits as probes of scenes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from captionlab.probes.probe import Score, classifier, split
from captionlab.progress import progress

# At most so many objects, each on a share of the images between these two: of a rarer one there is too little to learn,
# and one that is nearly everywhere, or nowhere, is predicted without a look.
MOST, RAREST, COMMONEST = 15, 0.05, 0.95
FOREST, RANDOM = "random-forest", "random"
OBJECTS, SHUFFLED = "objects", "shuffled"


def probed_objects(objects: Mapping[str, Iterable[str]], images: Sequence[str]) -> list[str]:
    """The labels that are on most of these images, each counting once, the most frequent first; equal ones by name."""
    count = Counter(label for image in images for label in {*objects.get(image, ())})
    fitting = [label for label, found in count.items() if RAREST <= found / len(images) <= COMMONEST]
    return sorted(fitting, key=lambda label: (-count[label], label))[:MOST]


def object_scores(labels: Sequence[str], right: np.ndarray, predicted: np.ndarray) -> list[Score]:
    """The F1s of what is predicted (n, L) of L objects: micro, macro, and of each; 0 for one that is nowhere."""
    from sklearn.metrics import f1_score

    each = [float(f1_score(*of_object, zero_division=0)) for of_object in zip(right.T, predicted.T, strict=True)]
    there = right.sum(0).tolist()
    return [
        Score("micro", "", float(f1_score(right.ravel(), predicted.ravel(), zero_division=0)), sum(there)),
        Score("macro", "", float(np.mean(each)), sum(there)),
        *(Score("object", *row) for row in zip(labels, each, there, strict=True)),
    ]


def run_object_probes(
    encodings: np.ndarray,
    scenes: Mapping[str, str],
    objects: Mapping[str, Iterable[str]],
    test_share: float,
    seeds: Sequence[int],
) -> list[dict[str, Any]]:
    """Rows of scores of probes of the states (n, width) of whole images, for each seed; none without objects to probe.

    `scenes` has the scene of each of the n images, which splits are stratified by, as those of probes of scenes are.
    `random` guesses each object as often as it is in training. In the control task each image has the objects of
    another one.
    """
    images = list(scenes)
    labels = probed_objects(objects, images)
    there = np.array([[label in {*objects.get(image, ())} for label in labels] for image in images], bool)
    rows = []
    for seed in progress(seeds if labels else [], what="splits", total=len(seeds)):
        train, test = split([*scenes.values()], test_share, seed)
        order = np.random.default_rng(seed).permutation(len(images))
        for name, task, right in ((FOREST, OBJECTS, there), (FOREST, SHUFFLED, there[order]), (RANDOM, OBJECTS, there)):
            fitted = classifier(name, seed).fit(encodings[train], right[train].astype(int))
            predicted = np.asarray(fitted.predict(encodings[test])).reshape(len(test), -1) > 0
            place = {"probe": name, "classes": task, "test_share": test_share, "seed": seed}
            scores = object_scores(labels, right[test], predicted)
            rows += [{**place, **vars(score), "label": score.name} for score in scores]
    return rows
