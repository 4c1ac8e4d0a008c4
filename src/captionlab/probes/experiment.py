"""All probes of a captioner's states: classifiers, splits, seeds, and the control task."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from captionlab.probes.probe import probe, search_mlp, shuffled, split
from captionlab.progress import progress

SCENES, SHUFFLED = "scenes", "shuffled"
# Nothing is learnt by guessing, so it has no control task.
TASKS = [(name, classes) for name in ("random-forest", "mlp") for classes in (SCENES, SHUFFLED)] + [("random", SCENES)]


def run_probes(
    encodings: Mapping[int, np.ndarray], scenes: Sequence[str], test_shares: Sequence[float], seeds: Sequence[int]
) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], float]]]:
    """Rows of scores, and the settings that were tried for the neural probe with their macro F1, the chosen one first.

    `encodings` has the states (n, width) of the images, by the number of objects that were removed; `scenes` are the
    classes of the n images. The neural probe is chosen once, on the first training part of the whole images; a probe of
    ablated images is trained and tested on ablated ones. The control task has the same classes in a random order.
    """
    first, _ = split(scenes, test_shares[0], seeds[0])
    tried = search_mlp(encodings[min(encodings)][first], [scenes[row] for row in first], seeds[0])
    rows = []
    runs = [(objects, share, seed) for objects in encodings for share in test_shares for seed in seeds]
    for objects, share, seed in progress(runs, what="splits", total=len(runs)):
        classes = {SCENES: list(scenes), SHUFFLED: shuffled(scenes, seed)}
        for name, task in TASKS:
            parts = split(classes[task], share, seed)
            chosen = tried[0][0] if name == "mlp" else None
            place = {"objects": objects, "probe": name, "classes": task, "test_share": share, "seed": seed}
            scores = probe(name, encodings[objects], classes[task], parts, seed, chosen)
            rows += [{**place, **vars(score), "scene": score.name} for score in scores]
    return rows, tried
