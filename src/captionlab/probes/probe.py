"""Probes of scenes and objects on the states of a captioner, with baselines (Cafagna et al. 2022, §7, appendix D).

Splits are stratified. All random draws depend on a seed. The control task has the same classes in random order, so the
F1 of a probe on the control task measures memorisation and not knowledge in the states.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from captionlab.jobs.progress import progress

FOREST, MLP, RANDOM = PROBES = ("random-forest", "mlp", "random")
SCENES, SHUFFLED = "scenes", "shuffled"
# Guessing learns nothing, so it has no control task.
TASKS = [*product((FOREST, MLP), (SCENES, SHUFFLED)), (RANDOM, SCENES)]
# Largest number of probed objects, and bounds of the share of images that each is on. Rarer objects give too few
# examples to learn from, and the presence of nearly ubiquitous objects is predicted without looking.
MOST, RAREST, COMMONEST = 15, 0.05, 0.95
NETWORK = "network"  # pipeline step of the neural probe to which GRID applies
# The neural probe of Cafagna et al. 2022, appendix D: three layers (inputs, 16 hidden units, classes) and alpha 1.
PUBLISHED: dict[str, Any] = {"hidden_layer_sizes": (16,), "alpha": 1.0}
# Settings of the neural probe that are tried in a search.
GRID: dict[str, list[Any]] = {"hidden_layer_sizes": [(16,), (16, 16)], "alpha": [0.1, 1.0]}
FOLDS = 3
ITERATIONS = 1000  # enough for lbfgs to converge on some hundreds of images


@dataclass(frozen=True)
class Score:
    """F1 of a probe on the test part of a split. `name` is a class or an object, and empty for an average."""

    average: str
    name: str
    f1: float
    support: int


def run_probes(
    encodings: Mapping[int, np.ndarray],
    scenes: Sequence[str],
    test_shares: Sequence[float],
    seeds: Sequence[int],
    search: bool = False,
) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], float | None]]]:
    """Return rows of scores, and the settings of the neural probe with their macro F1, the chosen settings first.

    `encodings` has the states (n, width) of the images by the number of removed objects; `scenes` are the classes of
    the n images. A probe of ablated images is trained and tested on ablated images. The neural probe has the settings
    PUBLISHED, with None as their macro F1. With `search` its settings are selected from GRID, once, on the first
    training part, with the fewest objects removed.
    """
    tried: list[tuple[dict[str, Any], float | None]] = [(PUBLISHED, None)]
    if search:
        first, _ = split(scenes, test_shares[0], seeds[0])
        tried = [*search_mlp(encodings[min(encodings)][first], [scenes[row] for row in first], seeds[0])]
    rows = []
    runs = [(objects, share, seed) for objects in encodings for share in test_shares for seed in seeds]
    for objects, share, seed in progress(runs, what="splits", total=len(runs)):
        classes = {SCENES: list(scenes), SHUFFLED: shuffled(scenes, seed)}
        for name, task in TASKS:
            parts = split(classes[task], share, seed)
            chosen = tried[0][0] if name == MLP else None
            found = probe(name, encodings[objects], classes[task], parts, seed, chosen)
            place = {"objects": objects, "probe": name, "classes": task, "test_share": share, "seed": seed}
            rows += [{**place, **vars(score), "scene": score.name} for score in found]
    return rows, tried


def probed_objects(objects: Mapping[str, Iterable[str]], images: Sequence[str]) -> list[str]:
    """Return the labels to probe: at most MOST labels that are on the most images, the most frequent first.

    Only labels on a share of the images between RAREST and COMMONEST count. Equal counts are ordered by name.
    """
    count = Counter(label for image in images for label in {*objects.get(image, ())})
    fitting = [label for label, found in count.items() if RAREST <= found / len(images) <= COMMONEST]
    return sorted(fitting, key=lambda label: (-count[label], label))[:MOST]


def object_scores(labels: Sequence[str], right: np.ndarray, predicted: np.ndarray) -> list[Score]:
    """Return the F1s of predictions (n, L) of L objects: micro, macro, and for each object.

    The F1 is 0 for an object that neither occurs nor is predicted.
    """
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
    """Return rows of scores of object probes on the states (n, width) of whole images, for each seed.

    The probes are not in the paper. They test whether the captioner's knowledge of objects survives finetuning on
    scenes. Splits are stratified by the scenes of the n images. One forest predicts all objects; `random` predicts each
    object as often as it is in the training part. In the control task each image has the objects of a random image. If
    there are no objects to probe, there are no rows.
    """
    images = list(scenes)
    labels = probed_objects(objects, images)
    there = np.array([[label in {*objects.get(image, ())} for label in labels] for image in images], bool)
    rows = []
    for seed in progress(seeds if labels else [], what="splits", total=len(seeds)):
        train, test = split([*scenes.values()], test_share, seed)
        order = np.random.default_rng(seed).permutation(len(images))
        runs = ((FOREST, "objects", there), (FOREST, SHUFFLED, there[order]), (RANDOM, "objects", there))
        for name, task, right in runs:
            fitted = classifier(name, seed).fit(encodings[train], right[train].astype(int))
            predicted = np.asarray(fitted.predict(encodings[test])).reshape(len(test), -1) > 0
            place = {"probe": name, "classes": task, "test_share": test_share, "seed": seed}
            found = object_scores(labels, right[test], predicted)
            rows += [{**place, **vars(score), "label": score.name} for score in found]
    return rows


def downsample(scenes: Mapping[str, str], total: int, seed: int) -> dict[str, str]:
    """Return at most `total` of the images, each with its class, by drawing images from the largest classes.

    All images of smaller classes stay. The largest classes end at the same size, or one image larger if `total` allows
    it, in the order of their names. The order of the images stays. Raises ValueError if a class that has at least two
    images would be left with fewer than two.
    """
    sizes = Counter(scenes.values())
    max_per_class = max(sizes.values(), default=0)
    while sum(min(size, max_per_class) for size in sizes.values()) > total:
        max_per_class -= 1
    if max_per_class < 2 <= max(sizes.values(), default=2):
        raise ValueError(f"{total} images are too few for {len(sizes)} scenes; ask for at least {2 * len(sizes)}")
    spare = total - sum(min(size, max_per_class) for size in sizes.values())
    larger = sorted(scene for scene, size in sizes.items() if size > max_per_class)[:spare]
    generator = np.random.default_rng(seed)
    kept: set[str] = set()
    for scene in sorted(sizes):
        images = [image for image, found in scenes.items() if found == scene]
        drawn = generator.permutation(len(images))[: max_per_class + (scene in larger)]
        kept.update(images[place] for place in drawn)
    return {image: scene for image, scene in scenes.items() if image in kept}


def without_singles(scenes: Mapping[str, str]) -> dict[str, str]:
    """Return the images, each with its class, without classes of a single image, which cannot be split."""
    sizes = Counter(scenes.values())
    return {image: scene for image, scene in scenes.items() if sizes[scene] > 1}


def split(classes: Sequence[str], test_share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the training part and of the test part, stratified by class.

    Each class has at least one row in both parts. Raises ValueError for a class of a single row.
    """
    if rare := [name for name, count in Counter(classes).items() if count < 2]:
        raise ValueError(
            f"the scene {rare[0]!r} has one image, which cannot be both trained and tested on; leave it out"
        )
    generator = np.random.default_rng(seed)
    tested: list[int] = []
    for name in sorted({*classes}):
        rows = generator.permutation(np.flatnonzero(np.asarray(classes) == name))
        tested += rows[: min(len(rows) - 1, max(1, round(test_share * len(rows))))].tolist()
    test = np.sort(np.asarray(tested))
    return np.setdiff1d(np.arange(len(classes)), test), test


def shuffled(classes: Sequence[str], seed: int) -> list[str]:
    """Return the classes in random order."""
    return [classes[row] for row in np.random.default_rng(seed).permutation(len(classes))]


def search_mlp(encodings: np.ndarray, classes: Sequence[str], seed: int) -> list[tuple[dict[str, Any], float]]:
    """Return all settings of GRID with their cross-validated macro F1, the best first, ties by smaller settings."""
    from sklearn.model_selection import GridSearchCV

    generator = np.random.default_rng(seed)
    fold = np.empty(len(classes), int)  # each class is spread over all folds
    for name in sorted({*classes}):
        rows = generator.permutation(np.flatnonzero(np.asarray(classes) == name))
        fold[rows] = (np.arange(len(rows)) + generator.integers(FOLDS)) % FOLDS
    search = GridSearchCV(
        classifier(MLP, seed),
        {f"{NETWORK}__{name}": values for name, values in GRID.items()},
        scoring=lambda fitted, states, right: scores(list(right), fitted.predict(states))[1].f1,
        cv=[(np.flatnonzero(fold != part), np.flatnonzero(fold == part)) for part in range(FOLDS)],
        refit=False,
        error_score="raise",
    )
    found = search.fit(encodings, classes).cv_results_
    tried = [
        ({name: settings[f"{NETWORK}__{name}"] for name in GRID}, float(f1))
        for settings, f1 in zip(found["params"], found["mean_test_score"], strict=True)
    ]
    return sorted(tried, key=lambda result: (-result[1], *result[0].values()))


def probe(
    name: str,
    encodings: np.ndarray,
    classes: Sequence[str],
    rows: tuple[np.ndarray, np.ndarray],
    seed: int,
    settings: Mapping[str, Any] | None = None,
) -> list[Score]:
    """Train a probe on the first `rows` of `encodings` (n, width), and return its scores on the second `rows`.

    Raises ValueError if `name` is not in PROBES.
    """
    if name not in PROBES:
        raise ValueError(f"the probe is {name!r}; it must be {', '.join(PROBES)}")
    train, test = rows
    trained, right = ([classes[row] for row in part] for part in rows)
    fitted = classifier(name, seed, settings).fit(encodings[train], trained)
    return scores(right, fitted.predict(encodings[test]))


def scores(right: Sequence[str], predicted: Sequence[str]) -> list[Score]:
    """Return the F1s of predictions: micro, macro and weighted over the classes in `right`, and for each class."""
    from sklearn.metrics import accuracy_score, f1_score

    classes, support = np.unique(right, return_counts=True)
    of_class = f1_score(right, predicted, labels=classes, average=None)
    total = len(right)
    weighted = sum(f1 * number for f1, number in zip(of_class.tolist(), support.tolist(), strict=True)) / total
    return [
        Score("micro", "", float(accuracy_score(right, predicted)), total),
        Score("macro", "", float(of_class.mean()), total),
        Score("weighted", "", weighted, total),
        *(Score("class", *row) for row in zip(classes.tolist(), of_class.tolist(), support.tolist(), strict=True)),
    ]


def classifier(name: str, seed: int, settings: Mapping[str, Any] | None = None) -> Any:
    """Return an untrained classifier of PROBES; `settings` of the neural probe are PUBLISHED by default."""
    if name == RANDOM:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="stratified", random_state=seed)
    if name == FOREST:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(random_state=seed, n_jobs=1)
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    # The paper uses "LBFGS with adaptive learning rate". scikit-learn's LBFGS ignores the rate and finds each step by a
    # line search.
    network = MLPClassifier(
        solver="lbfgs",
        learning_rate="adaptive",
        max_iter=ITERATIONS,
        random_state=seed,
        **(settings or PUBLISHED),
    )
    return Pipeline([("scaler", StandardScaler()), (NETWORK, network)])
