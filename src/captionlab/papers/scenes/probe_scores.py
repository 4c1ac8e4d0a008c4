"""Values of probes, and the differences between them that the claims are about (Cafagna et al. 2022, §7)."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from captionlab.evaluation.rows import row
from captionlab.intervals import (
    SIMILAR,
    Ends,
    effective_units,
    f1_interval,
    independent_difference,
    least_paired_interval,
    share_interval,
    splits_interval,
    within,
)
from captionlab.papers.scenes.run import Row, Rows
from captionlab.roles import PRETRAINED

# Experiments: of scenes, of scenes without the objects that tell them, of objects.
PROBING, PROBING_ABLATED, PROBING_OBJECTS = "probes", "probes without diagnostic objects", "probes of objects"
FOREST, NETWORK, RANDOM = "random-forest", "mlp", "random"
CONTROL = ", shuffled labels"
INTACT = "intact inputs"
# A part of the probed scenes, those of the fewest images: two of the paper's eight, which it names (§7).
RARE = 1 / 4
OF_RARE, OF_OTHERS = "F1 of rare scenes", "F1 of other scenes"
# How far rare scenes are told better than all others, below 0 where worse: the gap that finetuning closes.
RARE_ABOVE_OTHERS = "F1 of rare scenes above that of others"
AVERAGES = {"micro": "micro-F1", "macro": "macro-F1", "weighted": "weighted-F1"}
# Experiment, captioner, probe, share of test images and measure of an F1.
ProbePlace = tuple[str, str, str, float, str]


def probe_rows(corpus: str, scores: Iterable[Row]) -> tuple[Rows, Rows]:
    """F1 of probes, means over splits with their interval, and the differences that the claims are about.

    `scores` are rows of SCORES of both captioners. The measure of a scene is `F1 of <scene>`, that of the mean over
    scenes of the fewest images OF_RARE, over the others OF_OTHERS; RARE_ABOVE_OTHERS is how far they are apart. Splits
    of the same seed are the same images for both captioners, and differences are taken split by split. ValueError for a
    single split.
    """
    rows = [*scores]
    whole = min((score["objects"] for score in rows), default=0)
    found: dict[ProbePlace, list[Row]] = defaultdict(list)
    for score in rows:
        experiment = PROBING if score["objects"] == whole else PROBING_ABLATED
        found[_place(experiment, score, score["scene"])].append(score)
    scenes = [*dict.fromkeys(f"F1 of {score['scene']}" for score in rows if score["scene"])]
    rare = [f"F1 of {scene}" for scene in rare_scenes(rows)]
    others = [scene for scene in scenes if scene not in rare]
    for place in [*dict.fromkeys(place[:4] for place in found)]:
        of_rare, of_others = (
            _mean_over_scenes([found[*place, one] for one in scenes if one in part and (*place, one) in found])
            for part in (rare, others)
        )
        if of_rare:
            found[*place, OF_RARE] = of_rare
        if of_rare and of_others:
            found[*place, OF_OTHERS] = of_others
            found[*place, RARE_ABOVE_OTHERS] = [  # with the test images of the rare ones
                {**one, "f1": one["f1"] - other["f1"]} for one, other in zip(of_rare, of_others, strict=True)
            ]
    parts = {"macro-F1": scenes, OF_RARE: rare, OF_OTHERS: others, RARE_ABOVE_OTHERS: rare}
    return _over_splits(corpus, found, _units(found, parts))


def split_name(share: float) -> str:
    """A split with this share of test images as the paper names it, training first: 70/30."""
    return f"{100 * (1 - share):.0f}/{100 * share:.0f}"


def rare_scenes(scores: Iterable[Row]) -> list[str]:
    """The quarter of the scenes, at least one, that the fewest test images depict; of equal ones the first by name."""
    images: dict[str, int] = defaultdict(int)
    for score in scores:
        if score["scene"]:
            images[score["scene"]] += score["support"]
    ordered = sorted(images, key=lambda scene: (images[scene], scene))
    return sorted(ordered[: max(1, round(RARE * len(ordered)))])


def object_probe_rows(corpus: str, scores: Iterable[Row]) -> tuple[Rows, Rows]:
    """The same of probes of objects, whose scores are rows of OBJECT_SCORES; the measure of one is `F1 of <object>`."""
    found: dict[ProbePlace, list[Row]] = defaultdict(list)
    for score in scores:
        found[_place(PROBING_OBJECTS, score, score["label"])].append(score)
    units = _units(found, {})
    # Objects of the same image may be told together: of no average there are more units than images of one object.
    for place in found:
        objects = [own for other, own in units.items() if other[:4] == place[:4] and other[4] not in AVERAGES.values()]
        if place[4] in AVERAGES.values() and objects:
            units[place] = min(effective_units(objects), max(objects))
    return _over_splits(corpus, found, units)


def _place(experiment: str, score: Row, label: str) -> ProbePlace:
    """Where a score belongs; a probe of the control task is another one."""
    probe = score["probe"] + (CONTROL if score["classes"] == "shuffled" else "")
    measure = AVERAGES.get(score["average"], f"F1 of {label}")
    return experiment, score["captioner"], probe, score["test_share"], measure


def _mean_over_scenes(scenes: Sequence[Sequence[Row]]) -> list[Row]:
    """In each split the mean F1 of these scenes and how many test images depict them; a row of a scene is a split."""
    return [
        {
            "seed": of_split[0]["seed"],
            "f1": float(np.mean([score["f1"] for score in of_split])),
            "support": sum(score["support"] for score in of_split),
        }
        for of_split in zip(*scenes, strict=True)
    ]


def _units(found: Mapping[ProbePlace, Sequence[Row]], parts: Mapping[str, Sequence[str]]) -> dict[ProbePlace, float]:
    """The independent units of each F1 in one split: its test images, in that of the splits which has the fewest.

    Of the means over scenes that `parts` has, each with the measures that it is the mean of, `effective_units`.
    """
    # A rare scene may be missing from a test part.
    images = {place: max(1, min(score["support"] for score in scores)) for place, scores in found.items()}
    units = {}
    for place, own in images.items():
        scenes = [images[*place[:4], part] for part in parts.get(place[4], ()) if (*place[:4], part) in images]
        units[place] = effective_units(scenes) if scenes else float(own)
    return units


def _of_one_split(place: ProbePlace, f1: Mapping[ProbePlace, float], units: Mapping[ProbePlace, float]) -> Ends:
    """The interval of an F1 of so many units; as each image has one scene, micro-F1 is the share of right answers.

    Rare scenes and others are on other images: how far they are apart has the interval of a difference of two F1.
    """
    if place[4] == RARE_ABOVE_OTHERS:
        sides = [(*place[:4], side) for side in (OF_RARE, OF_OTHERS)]
        rare, others = ((f1[side], *f1_interval(f1[side], units[side])) for side in sides)
        return independent_difference(rare, others)[1:]
    if place[0] != PROBING_OBJECTS and place[4] == "micro-F1":
        return share_interval(f1[place], 0.0, units[place], units[place])
    return f1_interval(f1[place], units[place])


def _over_splits(
    corpus: str, scores: Mapping[ProbePlace, Sequence[Row]], units: Mapping[ProbePlace, float]
) -> tuple[Rows, Rows]:
    """Means over splits, and differences between probes that were tested on the same ones, of so many `units`.

    On which images two probes differ is not in the scores, so intervals of differences reach at least as far as the
    narrowest that there can be: a lower bound.
    """
    found = {place: {score["seed"]: score["f1"] for score in of_place} for place, of_place in scores.items()}
    means = {place: float(np.mean([*of_seeds.values()])) for place, of_seeds in found.items()}
    values, differences = [], []
    for key, of_seeds in found.items():
        experiment, role, probe, share, measure = key
        what = corpus, experiment, role
        n, place = scores[key][-1]["support"], (probe, share, len(of_seeds))
        lowest = -1.0 if measure == RARE_ABOVE_OTHERS else 0.0
        of_one = _of_one_split(key, means, units)
        number = splits_interval(np.array([*of_seeds.values()]), share, of_one, (lowest, 1.0))
        values.append(row(*what, measure, number, n, *place))
        for name, other in _others(key, {place[3] for place in found}).items():
            if other == key or other not in found:
                continue
            apart = np.array([f1 - found[other][seed] for seed, f1 in of_seeds.items()])
            reach = 1.0 - lowest
            low, high = least_paired_interval(float(np.mean(apart)) / reach, min(units[key], units[other]))
            number = splits_interval(apart, share, (reach * low, reach * high), (-reach, reach))
            differences.append(row(*what, measure, number, n, *place, name))
            if name == INTACT:
                margin = SIMILAR * abs(means[other])
                near = within(*number, margin)
                differences.append(row(*what, f"nearness of {measure}", near, n, *place, name, margin))
    return values, differences


def _others(place: ProbePlace, shares: Iterable[float]) -> dict[str, ProbePlace]:
    """What an F1 is held against, by name.

    The forest also against the network, and against itself with smaller shares of test images: test images of the same
    seed are among those of a larger one.
    """
    experiment, role, probe, share, measure = place
    against = {
        PRETRAINED: (experiment, PRETRAINED, probe, share, measure),
        RANDOM: (experiment, role, RANDOM, share, measure),
    }
    if probe == FOREST:
        against[NETWORK] = (experiment, role, NETWORK, share, measure)
        smaller = sorted(other for other in shares if other < share)
        against |= {f"test share {other:g}": (experiment, role, probe, other, measure) for other in smaller}
    if experiment == PROBING_ABLATED:
        against[INTACT] = (PROBING, role, probe, share, measure)
    return against
