"""What changes when a captioner is finetuned on scenes (Cafagna et al. 2022): values, and differences for its claims.

Rows are those of ROLE_VALUES and ROLE_DIFFERENCES. `subject` is pretrained or finetuned, or the paper's label of a
captioner in Table 1; `source` a relation of the attention, a split, a probe, or a kind of positions; `level` a depth, a
number of removed objects (missing: all numbers together), a share of test images, or a layer.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from captionlab.ablation.comparison import Pair, mean_over_images
from captionlab.attention.objects import UNIFORM, overlap_by_chance
from captionlab.evaluation.rows import row
from captionlab.intervals import (
    NORMAL,
    NOTHING,
    SIMILAR,
    SMALL_EFFECT,
    Ends,
    alike,
    bootstrap_interval,
    effective_units,
    f1_interval,
    independent_difference,
    least_paired_interval,
    paired_share_interval,
    resampled_sums,
    share_interval,
    splits_interval,
    student_interval,
    within,
)
from captionlab.roles import FINETUNED, PRETRAINED

Row = Mapping[str, Any]
INTACT = "intact inputs"
END = "the end of the finetuning"
# What a special token must draw more than to have most of the attention.
HALF = "half of the attention"
# A part of the probed scenes, those of the fewest images: two of the paper's eight, which it names (§7).
RARE = 1 / 4
OF_RARE, OF_OTHERS = "F1 of rare scenes", "F1 of other scenes"
# How far rare scenes are told better than all others, below 0 where worse: the gap that finetuning closes.
RARE_ABOVE_OTHERS = "F1 of rare scenes above that of others"
PROBING, PROBING_ABLATED, PROBING_OBJECTS = "probes", "probes without diagnostic objects", "probes of objects"
# Experiment, captioner, probe, share of test images and measure of an F1.
ProbePlace = tuple[str, str, str, float, str]
# Scenes of the paper whose attended and frequent objects overlap much, and little (§5); names of columns of OVERLAPS.
MUCH, LITTLE = ("station", "road", "sea", "resort"), ("room", "house", "restaurant")
OVERLAP_MEASURES = {"RBO": "rank_biased_overlap", "IoU": "intersection_over_union"}
FOREST, NETWORK = "random-forest", "mlp"
AVERAGES = {"micro": "micro-F1", "macro": "macro-F1", "weighted": "weighted-F1"}


# ------------------------------------------------------------------------------------------------- scene captions
def caption_rows(
    summary: Iterable[Row], comparisons: Iterable[Row], labels: Mapping[str, str], evaluation: str, end: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Metrics of captioners by the paper's label (`labels`: by name), and their differences from their parents.

    Against the captioner `end`, with which the finetuning ends, whether those stopped before are similar to it.
    """
    values, of_end = [], {}
    for found in summary:
        if found["evaluation"] == evaluation and found["captioner"] in labels:
            of_value = found["corpus"], "scene captions", labels[found["captioner"]], found["metric"]
            values.append(row(*of_value, _three(found), found["n"]))
            if found["captioner"] == end:
                of_end[found["corpus"], found["metric"]] = found["value"]
    differences = []
    for found in comparisons:
        if found["evaluation"] == evaluation and found["captioner"] in labels and found["against"] in (end, *labels):
            corpus, label, metric = found["corpus"], labels[found["captioner"]], found["metric"]
            number = _three(found, "difference")
            place: dict[str, Any] = {"against": labels.get(found["against"])}
            if found["against"] == end:
                place = {"against": END, "margin": SIMILAR * abs(of_end[corpus, metric])}
                number, metric = within(*number, place["margin"]), f"nearness of {metric}"
            differences.append(row(corpus, "scene captions", label, metric, number, found["n"], **place))
    return values, differences


# ------------------------------------------------------------------------------------------------------ attention
def attention_rows(
    corpus: str, blocks: Mapping[str, Sequence[Row]], differences: Iterable[Row], seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Deviation and mass of each relation; their differences, and for the mass whether it stayed similar.

    `blocks` are rows of BLOCKS by role, `differences` of the attention stage.
    """
    values = []
    for role, rows in blocks.items():
        relations = dict.fromkeys(found["relation"] for found in rows)
        for relation in relations:
            chosen = [found for found in rows if found["relation"] == relation]
            for statistic in ("deviation", "mass"):
                of_images = [b[statistic] for b in chosen]
                ends = (0.0, 2 * max(of_images) or 1.0)  # of a mass there is no other end
                mean = mean_over_images(of_images, [b["image_id"] for b in chosen], seed, ends)
                number = mean.value, mean.ci_low, mean.ci_high
                values.append(row(corpus, "attention", role, statistic, number, mean.n, relation))
    made = []
    for found in differences:
        number = _three(found, "difference")
        place = {"source": found["relation"], "against": PRETRAINED}
        made.append(row(corpus, "attention", FINETUNED, found["statistic"], number, found["n"], **place))
        margin, measure = SIMILAR * abs(found["pretrained"]), f"nearness of {found['statistic']}"
        near = within(*number, margin)
        made.append(row(corpus, "attention", FINETUNED, measure, near, found["n"], **place, margin=margin))
    return values, made


def special_rows(
    corpus: str, shares: Mapping[str, Sequence[Row]], seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Attention that each special token draws in each layer, and how much more in the last than in the first.

    And how much more than half of all attention in the last. `shares` are rows of SHARES by role. `source` is what
    attends.
    """
    values, differences = [], []
    for role, rows in shares.items():
        found: dict[tuple[str, str, int], dict[str, float]] = defaultdict(dict)
        for share in rows:
            if share["share"] is not None:
                found[share["target"], share["attending"], share["layer"]][share["image_id"]] = share["share"]
        for (target, attending, layer), of_images in found.items():
            mean = mean_over_images([*of_images.values()], [*of_images], seed, (0.0, 1.0))
            number = mean.value, mean.ci_low, mean.ci_high
            values.append(row(corpus, "special tokens", role, target, number, mean.n, attending, layer))
        last = max((layer for _, _, layer in found), default=1)
        for target, attending in dict.fromkeys((target, attending) for target, attending, _ in found):
            ends = [found[target, attending, layer] for layer in (1, last)]
            if last > 1:
                rise = {image: ends[1][image] - ends[0][image] for image in ends[0]}
                mean = mean_over_images([*rise.values()], [*rise], seed, (-1.0, 1.0))
                number = mean.value, mean.ci_low, mean.ci_high
                place: dict[str, Any] = {"source": attending, "level": last}
                differences.append(
                    row(corpus, "special tokens", role, target, number, mean.n, **place, against="layer 1")
                )
                mean = mean_over_images([*ends[1].values()], [*ends[1]], seed, (0.0, 1.0))
                number = mean.value - 0.5, mean.ci_low - 0.5, mean.ci_high - 0.5
                differences.append(row(corpus, "special tokens", role, target, number, mean.n, **place, against=HALF))
    return values, differences


# -------------------------------------------------------------------------------------------------- diagnostic objects
def overlap_rows(
    corpus: str, overlaps: Sequence[Row], rankings: Iterable[Row], correlations: Iterable[Row]
) -> list[dict[str, Any]]:
    """How far attended and frequent objects overlap more than by chance, and than where attention is the same for every
    tag, and how the two measures go together.

    The intervals of the first two are Student's over scenes, that of a correlation Fisher's.
    """
    objects: dict[str, int] = defaultdict(int)
    for ranked in rankings:
        if ranked["ranking"] == "frequent":
            objects[ranked["scene"]] += 1
    of_uniform = {
        (found["scene"], found["depth"]): found["rank_biased_overlap"]
        for found in overlaps
        if found["captioner"] == UNIFORM
    }
    apart: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    images: dict[tuple[str, int], int] = defaultdict(int)
    for found in overlaps:
        role, scene, depth = (found[name] for name in ("captioner", "scene", "depth"))
        held = {"chance": overlap_by_chance(objects[scene], depth)}
        if role != UNIFORM:
            held["uniform attention"] = of_uniform[scene, depth]
        for against, value in held.items():
            apart[role, depth, against].append(found["rank_biased_overlap"] - value)
        images[role, depth] += found["attended"]
    rows = []
    for (role, depth, against), values in apart.items():
        if len(values) > 1:
            number = student_interval(np.array(values), len(values), (-1.0, 1.0))
            rows.append(row(corpus, "overlap", role, "RBO", number, images[role, depth], level=depth, against=against))
    for found in correlations:
        if found["r"] is not None and found["degrees"] > 1:
            number = correlation_interval(found["r"], found["degrees"] + 2)
            pairs = found["degrees"] + 2
            rows.append(row(corpus, "overlap", found["captioner"], "r", number, pairs, against="no correlation"))
    return rows


def contrast_rows(corpus: str, overlaps: Iterable[Row]) -> list[dict[str, Any]]:
    """How much more objects overlap in the scenes MUCH than in the scenes LITTLE, mean against mean, at each depth.

    Of the scenes that the run has; nothing where it has none of either. The scenes are given, so that chance is in
    their images alone: distances to the ends of their intervals are joined by squares (Zou and Donner 2008).
    """
    found: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for overlap in overlaps:
        found[overlap["captioner"], overlap["depth"]].append(overlap)
    rows = []
    for (role, depth), of_role in found.items():
        sides = [[overlap for overlap in of_role if overlap["scene"] in side] for side in (MUCH, LITTLE)]
        if role == UNIFORM or not all(sides):
            continue
        present = {overlap["scene"] for overlap in of_role}
        names = [", ".join(scene for scene in side if scene in present) for side in (MUCH, LITTLE)]
        for measure, column in OVERLAP_MEASURES.items():
            much, little = (_mean_overlap(side, column) for side in sides)
            value, low, high = independent_difference(much, little)
            number = value, max(-1.0, low), min(1.0, high)
            images = sum(overlap["attended"] for side in sides for overlap in side)
            place: dict[str, Any] = {"source": names[0], "level": depth, "against": names[1]}
            rows.append(row(corpus, "overlap of scenes", role, measure, number, images, **place))
    return rows


def _mean_overlap(overlaps: Sequence[Row], column: str) -> tuple[float, float, float]:
    """The mean over scenes, of other images each, and the ends of its interval."""
    mean = float(np.mean([overlap[column] for overlap in overlaps]))
    below, above = (
        math.hypot(*(overlap[column] - overlap[f"{column}_ci_{end}"] for overlap in overlaps)) / len(overlaps)
        for end in ("low", "high")
    )
    return mean, mean - below, mean + above


def correlation_interval(r: float, pairs: int) -> tuple[float, float, float]:
    """Pearson's correlation of at least 4 pairs with its 95 % interval (Fisher 1921).

    His has no width where all pairs lie on a line; there it is that of pairs that are `alike`.
    """
    if 1 - abs(r) <= NOTHING:
        return r, *alike(r, pairs, (-1.0, 1.0))
    middle, distance = math.atanh(r), NORMAL / math.sqrt(pairs - 3)
    return r, math.tanh(middle - distance), math.tanh(middle + distance)


# ------------------------------------------------------------------------------------------------------- ablation
def ablation_rows(
    corpus: str, effects: Iterable[Row], pairs: Mapping[str, Sequence[Pair]], seed: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What ablation does to captions, shares in per cent, and how much more to those of the finetuned captioner.

    `effects` are those of the ablation stage, `pairs` captions before and after by role. The spread is the standard
    deviation of the confidence shifts of unchanged captions.
    """
    values = []
    for found in effects:
        if found["value"] is not None:
            factor = 100.0 if found["statistic"] == "changed" else 1.0
            value, low, high = (factor * found[name] for name in ("value", "ci_low", "ci_high"))
            place = {"source": found["split"], "level": found["objects"] or None}
            role, statistic = found["captioner"], found["statistic"]
            values.append(row(corpus, "ablation", role, statistic, (value, low, high), found["n"], **place))
    differences = []
    for split in sorted({pair.split for of_role in pairs.values() for pair in of_role}):
        numbers = sorted({p.objects for of_role in pairs.values() for p in of_role if p.split == split})
        for level in (None, *numbers):
            chosen = {
                role: [p for p in of_role if p.split == split and level in (None, p.objects)]
                for role, of_role in pairs.items()
            }
            for measure, number, n in compared(chosen[FINETUNED], chosen[PRETRAINED], seed):
                differences.append(
                    row(corpus, "ablation", FINETUNED, measure, number, n, split, level, against=PRETRAINED)
                )
    return values, differences


def shift_rows(corpus: str, pairs: Mapping[str, Sequence[Pair]], split: str, seed: int) -> list[dict[str, Any]]:
    """How far the confidence shifts of the images of a split lie from those of all others, and whether that is near.

    Of unchanged captions, an image once, with its mean shift. Near is within SMALL_EFFECT of the standard deviation of
    the shifts within a side: the shifts themselves are about 0. Nothing where a side has fewer than two images.
    """
    rows = []
    for role, of_role in pairs.items():
        sides: list[dict[str, list[float]]] = [{}, {}]
        for pair in of_role:
            if not pair.changed:
                sides[pair.split != split].setdefault(pair.image, []).append(pair.before - pair.after)
        shifts = [np.array([np.mean(of_image) for of_image in side.values()]) for side in sides]
        if min(map(len, shifts)) < 2:
            continue
        # The images of the two sides are others, so with a seed of its own each; equal ones draw alike.
        resampled = [
            resampled_sums(of_side[:, None], seed + number)[:, 0] / len(of_side)
            for number, of_side in enumerate(shifts)
        ]
        images = min(map(len, shifts))
        value = float(shifts[0].mean() - shifts[1].mean())
        number = value, *bootstrap_interval(value, resampled[0] - resampled[1], images, (-1.0, 1.0))
        place: dict[str, Any] = {"source": split, "against": "all other splits"}
        rows.append(row(corpus, "ablation", role, "shift", number, images, **place))
        margin = SMALL_EFFECT * pooled_deviation(shifts)
        near = within(*number, margin)
        rows.append(row(corpus, "ablation", role, "nearness of shift", near, images, **place, margin=margin))
    return rows


def pooled_deviation(samples: Sequence[np.ndarray]) -> float:
    """The standard deviation within samples (n,) that may have other means, of which one has at least 2 values."""
    squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in samples)
    return math.sqrt(squares / sum(len(sample) - 1 for sample in samples))


def compared(
    first: Sequence[Pair], second: Sequence[Pair], seed: int
) -> Iterator[tuple[str, tuple[float, float, float], int]]:
    """Measures of captions before and after ablation, first minus second, and the number of captions averaged.

    Both captioners saw the same images, which are resampled together. Confidence, shift and spread are of unchanged
    captions and left out where a captioner has less than two of them. The number is that of the captioner with fewer.
    """
    images = {image: number for number, image in enumerate(dict.fromkeys(pair.image for pair in (*first, *second)))}
    # For each captioner: samples, changed ones, and of the others the sums of confidence, shift and its square.
    sums = np.zeros((len(images), 2, 5))
    for side, pairs in enumerate((first, second)):
        for pair in pairs:
            shift = pair.before - pair.after
            same = [0.0, pair.after, shift, shift**2] if not pair.changed else [1.0, 0.0, 0.0, 0.0]
            sums[images[pair.image], side] += [1.0, *same]
    total, unchanged = sums[:, :, 0].sum(0), (sums[:, :, 0] - sums[:, :, 1]).sum(0)
    resampled = resampled_sums(sums.reshape(len(images), -1), seed).reshape(-1, 2, 5)
    for measure in ("changed", "confidence", "shift", "spread"):
        averaged = total if measure == "changed" else unchanged
        if measure == "changed" or averaged.min() >= 2:
            difference = float(-np.diff(_statistic(measure, sums.sum(0)[None]), axis=1)[0, 0])
            others = -np.diff(_statistic(measure, resampled), axis=1)[:, 0]
            if measure == "changed":
                of_images = (sums[:, 0, 1] / total[0] - sums[:, 1, 1] / total[1]) * len(images)
                low, high = (100.0 * end for end in paired_share_interval(of_images))
            else:
                there = others[np.isfinite(others)]
                low, high = bootstrap_interval(difference, there, len(images), (-1.0, 1.0))
            yield measure, (difference, low, high), int(averaged.min())


def _statistic(measure: str, sums: np.ndarray) -> np.ndarray:
    """The measure (n, 2) from sums (n, 2, 5)."""
    samples, changed, confidence, shift, squares = np.moveaxis(sums, -1, 0)
    if measure == "changed":
        return np.asarray(100.0 * changed / samples)
    same = samples - changed
    with np.errstate(invalid="ignore", divide="ignore"):  # a resample may have no unchanged caption
        if measure == "spread":
            return np.sqrt(np.clip(squares / same - (shift / same) ** 2, 0, None))
        return np.asarray((confidence if measure == "confidence" else shift) / same)


# --------------------------------------------------------------------------------------------------------- probes
def probe_rows(corpus: str, scores: Iterable[Row]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
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
        measure = AVERAGES.get(score["average"], f"F1 of {score['scene']}")
        found[experiment, score["captioner"], _probe(score), score["test_share"], measure].append(score)
    rare = rare_scenes(rows)
    scenes = dict.fromkeys(f"F1 of {score['scene']}" for score in rows if score["scene"])
    found |= _of_rare(found, rare)
    of_rare = [f"F1 of {scene}" for scene in rare]
    of_others = [scene for scene in scenes if scene not in of_rare]
    parts = {"macro-F1": [*scenes], OF_RARE: of_rare, OF_OTHERS: of_others, RARE_ABOVE_OTHERS: of_rare}
    return _over_splits(corpus, found, _units(found, parts))


def rare_scenes(scores: Iterable[Row]) -> list[str]:
    """The quarter of the scenes, at least one, that the fewest test images depict; of equal ones the first by name."""
    images: dict[str, int] = defaultdict(int)
    for score in scores:
        if score["scene"]:
            images[score["scene"]] += score["support"]
    ordered = sorted(images, key=lambda scene: (images[scene], scene))
    return sorted(ordered[: max(1, round(RARE * len(ordered)))])


def _of_rare(found: Mapping[ProbePlace, Sequence[Row]], rare: Sequence[str]) -> dict[ProbePlace, list[Row]]:
    """In each place and split the mean F1 of rare scenes, that of others, and how far the first is above the second.

    The last with the test images of the rare ones.
    """
    made: dict[ProbePlace, list[Row]] = {}
    for place in dict.fromkeys(place[:4] for place in found):
        sides: list[list[Sequence[Row]]] = [[], []]
        for key, scores in found.items():
            if key[:4] == place and scores[0]["scene"]:
                sides[scores[0]["scene"] not in rare].append(scores)
        of_rare, others = map(_mean_over_scenes, sides)
        if of_rare:
            made[*place, OF_RARE] = of_rare
        if of_rare and others:
            made[*place, OF_OTHERS] = others
            made[*place, RARE_ABOVE_OTHERS] = [
                {**one, "f1": one["f1"] - other["f1"]} for one, other in zip(of_rare, others, strict=True)
            ]
    return made


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


def object_probe_rows(corpus: str, scores: Iterable[Row]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The same of probes of objects, whose scores are rows of OBJECT_SCORES; the measure of one is `F1 of <object>`."""
    found: dict[ProbePlace, list[Row]] = defaultdict(list)
    of_objects = set()
    for score in scores:
        measure = AVERAGES.get(score["average"], f"F1 of {score['label']}")
        if score["average"] not in AVERAGES:
            of_objects.add(measure)
        found[PROBING_OBJECTS, score["captioner"], _probe(score), score["test_share"], measure].append(score)
    units = _units(found, {})
    # Objects of the same image may be told together: of no average there are more units than images of one object.
    for place in found:
        objects = [number for other, number in units.items() if other[:4] == place[:4] and other[4] in of_objects]
        if place[4] not in of_objects and objects:
            units[place] = min(effective_units(objects), max(objects))
    return _over_splits(corpus, found, units)


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
    experiment, *_, measure = place
    if measure == RARE_ABOVE_OTHERS:
        sides = [(*place[:4], side) for side in (OF_RARE, OF_OTHERS)]
        rare, others = ((f1[side], *f1_interval(f1[side], units[side])) for side in sides)
        return independent_difference(rare, others)[1:]
    if experiment != PROBING_OBJECTS and measure == "micro-F1":
        return share_interval(f1[place], 0.0, units[place], units[place])
    return f1_interval(f1[place], units[place])


def _probe(score: Row) -> str:
    """The probe, and whether it is that of the control task."""
    return score["probe"] + (", shuffled labels" if score["classes"] == "shuffled" else "")


def _over_splits(
    corpus: str, scores: Mapping[ProbePlace, Sequence[Row]], units: Mapping[ProbePlace, float]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Means over splits, and differences between probes that were tested on the same ones, of so many `units`.

    The forest is also held against the network, and against itself with smaller shares of test images; test images of
    the same seed are among those of a larger one. On which images two probes differ is not in the scores, so intervals
    of differences reach at least as far as the narrowest that there can be: a lower bound.
    """
    found = {place: {score["seed"]: score["f1"] for score in of_place} for place, of_place in scores.items()}
    shares = sorted({share for _, _, _, share, _ in found})
    means = {place: float(np.mean([*of_seeds.values()])) for place, of_seeds in found.items()}
    values, differences = [], []
    for key, of_seeds in found.items():
        experiment, role, probe, share, measure = key
        place: dict[str, Any] = {"source": probe, "level": share, "seeds": len(of_seeds)}
        n = scores[key][-1]["support"]
        of_splits = np.array([*of_seeds.values()])
        lowest = -1.0 if measure == RARE_ABOVE_OTHERS else 0.0
        number = splits_interval(of_splits, share, _of_one_split(key, means, units), (lowest, 1.0))
        values.append(row(corpus, experiment, role, measure, number, n, **place))
        against = {
            PRETRAINED: (experiment, PRETRAINED, probe, share, measure),
            "random": (experiment, role, "random", share, measure),
        }
        if probe == FOREST:
            against[NETWORK] = (experiment, role, NETWORK, share, measure)
            smaller = [other for other in shares if other < share]
            against |= {f"test share {other:g}": (experiment, role, probe, other, measure) for other in smaller}
        if experiment == PROBING_ABLATED:
            against[INTACT] = (PROBING, role, probe, share, measure)
        for name, other in against.items():
            if other != key and other in found:
                apart = np.array([f1 - found[other][seed] for seed, f1 in of_seeds.items()])
                least, reach = min(units[key], units[other]), 1.0 - lowest
                low, high = least_paired_interval(float(np.mean(apart)) / reach, least)
                number = splits_interval(apart, share, (reach * low, reach * high), (-reach, reach))
                told = {**place, "against": name}
                differences.append(row(corpus, experiment, role, measure, number, n, **told))
                if name == INTACT:
                    margin = SIMILAR * abs(means[other])
                    near, nearness = within(*number, margin), f"nearness of {measure}"
                    differences.append(row(corpus, experiment, role, nearness, near, n, **told, margin=margin))
    return values, differences


def _three(found: Row, name: str = "value") -> tuple[float, float, float]:
    return found[name], found["ci_low"], found["ci_high"]
