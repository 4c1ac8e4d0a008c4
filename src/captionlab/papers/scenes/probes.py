"""Probes of a captioner's hidden states: Tables 4, 6 and 7, the numbers of Figures 8, 9 and 13, and objects (§7)."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionlab.config.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.evaluation.rows import row
from captionlab.papers.scenes.values import ScenesRun, scenes_sheet, without_interval
from captionlab.probes.probe import COMMONEST, MOST, RAREST
from captionlab.reporting.claims.reading import Provenance, Rows
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.tables.render import MISSING, Block, Column, Table
from captionlab.reporting.tables.sheets import Sheet
from captionlab.statistics.intervals import (
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

# Experiments: probes of scenes, of scenes without their diagnostic objects, and of objects.
PROBING, PROBING_ABLATED, PROBING_OBJECTS = "probes", "probes without diagnostic objects", "probes of objects"
FOREST, NETWORK, RANDOM = "random-forest", "mlp", "random"
CONTROL = ", shuffled labels"
INTACT = "intact inputs"
# Share of the probed scenes that count as rare (fewest images) or as frequent (most images). Two of the paper's eight
# scenes are rare; the paper names both (§7).
PART = 1 / 4
OF_RARE, OF_OTHERS, OF_FREQUENT = "F1 of rare scenes", "F1 of other scenes", "F1 of frequent scenes"
# The difference in F1 between rare scenes and others, below 0 if rare scenes are worse: the gap that finetuning closes.
RARE_ABOVE_OTHERS = "F1 of rare scenes above that of others"
AVERAGES = {"micro": "micro-F1", "macro": "macro-F1", "weighted": "weighted-F1"}
# Values that the F1 of some scenes is compared with. A probe is "at ceiling" if it is as near to 1 as values that are
# called similar. A probe "fails" (§7) if it is wrong more often than right.
CEILING, ONE_HALF = "the ceiling", "one half"
BOUNDS = {OF_FREQUENT: {CEILING: 1.0 - SIMILAR}, OF_RARE: {ONE_HALF: 0.5}}
# The middle between chance and finetuned states.
HALFWAY = "halfway from chance to finetuned"
# Experiment, captioner, probe, share of test images and measure of an F1.
ProbePlace = tuple[str, str, str, float, str]
OVER_SPLITS = (
    "Intervals: 95 %, Student's t over splits that are drawn anew, corrected for the images that they share, and never "
    "narrower than the test images of one split allow."
)
F1 = [Number({"measure": name}, name, printed=name) for name in AVERAGES.values()]
# The paper's label -> the name in Table 4, the role, and the experiment with the captioner's inputs.
STATES = {
    "PRE": ("Pretrained", PRETRAINED, PROBING),
    "FT": ("Finetuned", FINETUNED, PROBING),
    "PRE (A)": ("Pretrained (A)", PRETRAINED, PROBING_ABLATED),
    "FT (A)": ("Finetuned (A)", FINETUNED, PROBING_ABLATED),
}
# The split whose images a captioner is trained on.
TRAINED_ON = "train"
PROBES = {FOREST: ("random forest", "RF"), NETWORK: ("multilayer perceptron", "MLP")}
# The paper's table (None: it has none), the share of test images, the heading and the rows of a block.
TablePart = tuple[str | None, float, str, Sequence[Line]]
# The name, the title and the description of a table.
Texts = tuple[str, str, str]


def probe_rows(corpus: str, scores: Iterable[Row]) -> tuple[Rows, Rows]:
    """Return F1 of probes, means over splits with intervals, and the differences that the claims are about.

    `scores` are rows of SCORES of both captioners. The measure of a scene is `F1 of <scene>`. OF_RARE is the mean over
    scenes with the fewest images, OF_OTHERS the mean over the other scenes, and RARE_ABOVE_OTHERS the difference
    between the two. OF_FREQUENT is the mean over scenes with the most images. Splits of the same seed have the same
    images for both captioners, and differences are taken split by split. Raises ValueError if there is a single split.
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
    frequent = [f"F1 of {scene}" for scene in frequent_scenes(rows)]
    for place in [*dict.fromkeys(place[:4] for place in found)]:
        of_rare, of_others, of_frequent = (
            _mean_over_scenes([found[*place, one] for one in scenes if one in part and (*place, one) in found])
            for part in (rare, others, frequent)
        )
        if of_rare:
            found[*place, OF_RARE] = of_rare
        if of_frequent:
            found[*place, OF_FREQUENT] = of_frequent
        if of_rare and of_others:
            found[*place, OF_OTHERS] = of_others
            found[*place, RARE_ABOVE_OTHERS] = [  # with the number of test images of the rare scenes
                {**one, "f1": one["f1"] - other["f1"]} for one, other in zip(of_rare, of_others, strict=True)
            ]
    parts = {"macro-F1": scenes, OF_RARE: rare, OF_OTHERS: others, OF_FREQUENT: frequent, RARE_ABOVE_OTHERS: rare}
    units = _units(found, parts)
    values, differences = _over_splits(corpus, found, units)
    return values, [*differences, *_bounded_rows(values), *_halfway_rows(corpus, found, units)]


def split_name(share: float) -> str:
    """Return the paper's name of a split with this share of test images, training first: 70/30."""
    return f"{100 * (1 - share):.0f}/{100 * share:.0f}"


def rare_scenes(scores: Iterable[Row]) -> list[str]:
    """Return the quarter of the scenes, at least one, that the fewest test images depict; ties by name."""
    ordered = _from_rare_to_frequent(scores)
    return sorted(ordered[: max(1, round(PART * len(ordered)))])


def frequent_scenes(scores: Iterable[Row]) -> list[str]:
    """Return the quarter of the scenes, at least one, that the most test images depict; of ties the last by name."""
    ordered = _from_rare_to_frequent(scores)
    return sorted(ordered[-max(1, round(PART * len(ordered))) :])


def _from_rare_to_frequent(scores: Iterable[Row]) -> list[str]:
    """Return the scenes by the number of test images that depict them, ties by name."""
    images: dict[str, int] = defaultdict(int)
    for score in scores:
        if score["scene"]:
            images[score["scene"]] += score["support"]
    return sorted(images, key=lambda scene: (images[scene], scene))


def _bounded_rows(values: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """Yield the difference of each value from the bounds that BOUNDS has for its measure."""
    for value in values:
        for name, bound in BOUNDS.get(value["measure"], {}).items():
            number = (value["value"] - bound, value["ci_low"] - bound, value["ci_high"] - bound)
            place = (value["corpus"], value["experiment"], value["subject"], value["measure"])
            yield row(*place, number, value["n"], value["source"], value["level"], value["seeds"], name)


def _halfway_rows(
    corpus: str, found: Mapping[ProbePlace, Sequence[Row]], units: Mapping[ProbePlace, float]
) -> Iterator[dict[str, Any]]:
    """Yield how far F1 from the pretrained states exceeds the middle of chance and F1 from the finetuned states.

    Above 0, more than half of the information on scenes after finetuning is in the states before it. Differences are
    taken split by split.
    """
    for place, scores in found.items():
        experiment, role, probe, share, measure = place
        after, chance = (experiment, FINETUNED, probe, share, measure), (experiment, role, RANDOM, share, measure)
        if role != PRETRAINED or probe == RANDOM or measure not in AVERAGES.values() or not {after, chance} <= {*found}:
            continue
        others = [{score["seed"]: score["f1"] for score in found[other]} for other in (after, chance)]
        apart = np.array([score["f1"] - sum(other[score["seed"]] for other in others) / 2 for score in scores])
        of_one = least_paired_interval(float(apart.mean()), min(units[place], units[after], units[chance]))
        number = splits_interval(apart, share, of_one, (-1.0, 1.0))
        yield row(corpus, experiment, role, measure, number, scores[-1]["support"], probe, share, len(apart), HALFWAY)


def object_probe_rows(corpus: str, scores: Iterable[Row]) -> tuple[Rows, Rows]:
    """Return F1 of probes of objects, and their differences. `scores` are rows of OBJECT_SCORES.

    The measure of an object is `F1 of <object>`.
    """
    found: dict[ProbePlace, list[Row]] = defaultdict(list)
    for score in scores:
        found[_place(PROBING_OBJECTS, score, score["label"])].append(score)
    units = _units(found, {})
    # Objects of the same image may be predicted together, so an average has no more units than the most frequent object
    # has test images.
    for place in found:
        objects = [own for other, own in units.items() if other[:4] == place[:4] and other[4] not in AVERAGES.values()]
        if place[4] in AVERAGES.values() and objects:
            units[place] = min(effective_units(objects), max(objects))
    return _over_splits(corpus, found, units)


def _place(experiment: str, score: Row, label: str) -> ProbePlace:
    """Return the place of a score. A probe of the control task has a name of its own."""
    probe = score["probe"] + (CONTROL if score["classes"] == "shuffled" else "")
    measure = AVERAGES.get(score["average"], f"F1 of {label}")
    return experiment, score["captioner"], probe, score["test_share"], measure


def _mean_over_scenes(scenes: Sequence[Sequence[Row]]) -> list[Row]:
    """Return for each split the mean F1 over `scenes` and the number of test images that depict the scenes.

    `scenes` has the rows of each scene, a row for each split.
    """
    rows: list[Row] = []
    for split in zip(*scenes, strict=True):
        mean, images = float(np.mean([one["f1"] for one in split])), sum(one["support"] for one in split)
        rows.append({"seed": split[0]["seed"], "f1": mean, "support": images})
    return rows


def _units(found: Mapping[ProbePlace, Sequence[Row]], parts: Mapping[str, Sequence[str]]) -> dict[ProbePlace, float]:
    """Return the independent units of each F1 in one split: its test images, in the split that has the fewest.

    `parts` maps a mean over scenes to the measures that it averages. The units of the mean are the `effective_units` of
    the averaged measures.
    """
    # A rare scene may be missing from a test part.
    images = {place: max(1, min(score["support"] for score in scores)) for place, scores in found.items()}
    units = {}
    for place, own in images.items():
        scenes = [images[*place[:4], part] for part in parts.get(place[4], ()) if (*place[:4], part) in images]
        units[place] = effective_units(scenes) if scenes else float(own)
    return units


def _of_one_split(place: ProbePlace, f1: Mapping[ProbePlace, float], units: Mapping[ProbePlace, float]) -> Ends:
    """Return the interval of an F1 with this number of units in one split.

    Each image has one scene, so micro-F1 is the share of right answers. Rare scenes and others are on different images,
    so RARE_ABOVE_OTHERS has the interval of a difference of two independent F1.
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
    """Return means over splits, and differences between probes that were tested on the same splits.

    `units` has the independent units of each F1. The scores do not say on which images two probes differ, so the
    intervals of differences are at least as wide as the narrowest possible one: a lower bound.
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
    """Return the places that an F1 is compared with, by name.

    The forest is also compared with the network, and with itself at smaller shares of test images: with the same seed,
    test images of a smaller share are among the test images of a larger one.
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


@dataclass(frozen=True)
class ProbedImages:
    """Numbers of probed images by scene and by split, and of images without any of the diagnostic objects."""

    scenes: Mapping[str, int]
    splits: Mapping[str, int]
    unchanged: int


def _state(label: str, probe: str, share: float, head: str, printed: str | None = None) -> Line:
    """Return the row of a label of STATES with its first cell, and the paper's label if it is different."""
    _, role, experiment = STATES[label]
    place = {"subject": role, "experiment": experiment, "source": probe, "level": share}
    return Line([head], place, printed or head)


def probes_table(run: ScenesRun, images: ProbedImages, provenance: Provenance) -> Table:
    """Return Table 4: F1 of the random forest on the hardest split, with the random baseline."""
    parts = []
    for share in sorted(run.found("level", PROBING))[-1:]:  # 50/50 in the paper
        lines = [_state("PRE", RANDOM, share, "Random")]
        lines += [_state(label, FOREST, share, name) for label, (name, *_) in STATES.items()]
        parts.append(("4", share, f"{split_name(share)}, {run.corpus}", lines))
    texts = (
        "scenes_table4_probes",
        "Scenes, table 4: scenes told from the states of a captioner",
        "F1 of a random forest that tells the scene of an image from the captioner's last states, half of the images "
        "being for training. (A): without the objects that tell the scene.",
    )
    return _states_table(run, images, provenance, texts, parts)


def classifiers_table(run: ScenesRun, images: ProbedImages, provenance: Provenance) -> Table:
    """Return Table 6: F1 of both probes on the hardest split, and the control task."""
    parts: list[TablePart] = []
    for share in sorted(run.found("level", PROBING))[-1:]:  # 50/50 in the paper
        parts.append(("6", share, "random", [_state("PRE", RANDOM, share, "RB")]))
        for probe, (name, short) in PROBES.items():
            lines = [_state(label, probe, share, label, f"{short} {label}") for label in STATES]
            parts.append(("6", share, name, lines))
        for probe, (name, _) in PROBES.items():
            lines = [_state(label, probe + CONTROL, share, label) for label in ("PRE", "FT")]
            parts.append((None, share, f"control: {name} on shuffled labels; not in the paper", lines))
    texts = (
        "scenes_table6_classifiers",
        "Scenes, table 6: two probes and a control task",
        "F1 of both probes on the hardest split. PRE: pretrained, FT: finetuned, (A): without diagnostic objects.",
    )
    notes = (
        "Control: the same classes in a random order (Hewitt and Liang 2019). What a probe reaches there is chance; "
        "what it reaches on scenes beyond that is in the states.",
        "The settings of the multilayer perceptron were chosen by cross-validation in the training part of the first "
        "split; test images of other splits are among these. The forest's are scikit-learn's defaults, unchosen.",
    )
    return _states_table(run, images, provenance, texts, parts, *notes)


def splits_table(run: ScenesRun, images: ProbedImages, provenance: Provenance) -> Table:
    """Return Table 7: F1 of the random forest with more and fewer training images."""
    parts = [
        ("7", share, split_name(share), [_state(label, FOREST, share, label) for label in STATES])
        for share in sorted(run.found("level", PROBING))
    ]
    texts = (
        "scenes_table7_splits",
        "Scenes, table 7: more and fewer images to train a probe on",
        "F1 of the random forest; training/test in per cent of the images.",
    )
    return _states_table(run, images, provenance, texts, parts)


def _states_table(
    run: ScenesRun, images: ProbedImages, provenance: Provenance, texts: Texts, parts: Iterable[TablePart], *notes: str
) -> Table:
    sheet = scenes_sheet(run, provenance)
    blocks = [
        Block(rows_of(sheet, printed, split_name(share), run.corpus, lines, F1), heading)
        for printed, share, heading, lines in parts
    ]
    sheet.notes += [_selection(sheet, images), *_splits_notes(run, PROBING), _training(run, images)]
    if images.unchanged:
        sheet.notes.append(
            f"(A): {images.unchanged} of the {sum(images.splits.values())} images have none of the objects that tell "
            "their scene; nothing is removed from them, and they are trained and tested on as they are."
        )
    sheet.notes += notes
    return sheet.table(*texts, columns_of(["states"], F1), blocks)


def classes_table(run: ScenesRun, images: ProbedImages, provenance: Provenance) -> Table:
    """Return the numbers of Figures 8, 9 and 13: F1 of each scene."""
    sheet = scenes_sheet(run, provenance)
    places = ((PRETRAINED, FOREST, PRETRAINED), (FINETUNED, FOREST, FINETUNED), (RANDOM, RANDOM, PRETRAINED))
    numbers = [Number({"subject": role, "source": probe}, heading=name) for name, probe, role in places]
    blocks = []
    for share in sorted(run.found("level", PROBING)):
        lines = [
            Line([scene, str(number)], {"experiment": PROBING, "measure": f"F1 of {scene}", "level": share})
            for scene, number in images.scenes.items()
        ]
        lines.sort(key=lambda line: (-int(line.heads[1]), line.heads[0]))
        blocks.append(Block(rows_of(sheet, None, "", run.corpus, lines, numbers), split_name(share)))
    sheet.notes += [
        _selection(sheet, images),
        _training(run, images),
        f"{OVER_SPLITS} Figure 8 is the column of images, Figures 9 and 13 are the two extreme splits.",
    ]
    scene, *others = columns_of(["scene"], numbers)
    return sheet.table(
        "scenes_figure9_classes",
        "Scenes, figures 8, 9 and 13: how well each scene is told",
        "F1 of the random forest for each scene; the paper shows these numbers as bars only.",
        [scene, Column("images"), *others],
        blocks,
    )


def object_probes_table(run: ScenesRun, images: ProbedImages, provenance: Provenance) -> Table:
    """Return a table beyond the paper: F1 of a random forest that predicts objects, before and after finetuning."""
    sheet, control = scenes_sheet(run, provenance), {"source": FOREST + CONTROL}
    numbers = [
        *(Number({"subject": role}, "this run", role) for role in ROLES),
        Number({"subject": FINETUNED}, "this run", "difference", against=PRETRAINED, sign=""),
        Number({"subject": PRETRAINED, "source": RANDOM}, heading="random"),
        *(Number({"subject": role, **control}, "shuffled labels", role) for role in ROLES),
    ]
    blocks = []
    for share in run.found("level", PROBING_OBJECTS):
        lines = []
        for measure in run.found("measure", PROBING_OBJECTS):
            place = {"experiment": PROBING_OBJECTS, "measure": measure, "source": FOREST, "level": share}
            ours = run.value(run.place(subject=PRETRAINED, **place))
            lines.append(Line([measure.removeprefix("F1 of "), str(ours.n) if ours else MISSING], place))
        rows = rows_of(sheet, None, "", run.corpus, lines, numbers)
        blocks.append(Block(rows, f"{split_name(share)}, {run.corpus}"))
    if not blocks:
        sheet.notes.append("No object is on as many images, and missing on as many, as a probe needs.")
    sheet.notes += [
        *_splits_notes(run, PROBING_OBJECTS),
        _training(run, images),
        f"Objects are the most frequent labels of the images' tags, at most {MOST}, each on at least {RAREST:.0%} and "
        f"at most {COMMONEST:.0%} of the images. One forest tells them all at once from the mean of the last states. "
        "Difference: finetuned minus pretrained, split by split. Random: each object as often as in training. Shuffled "
        "labels: each image has the objects of another one. Images with an object are those of the last split; of an "
        "average, added up over objects.",
        "The forest names an object where it finds it likelier than not: where the states say little of a rare one, it "
        "names none, and F1 is below that of guessing.",
    ]
    objects, *others = columns_of(["objects"], numbers)
    return sheet.table(
        "scenes_object_probes",
        "Beyond scenes: objects that probes find before and after finetuning",
        "F1 of a random forest that tells the objects of whole images from the captioner's last states; not in the "
        "paper.",
        [objects, Column("tested on", "images with it"), *others],
        blocks,
    )


PROBE_TABLES = (probes_table, classifiers_table, splits_table, classes_table, object_probes_table)


def _selection(sheet: Sheet, images: ProbedImages) -> str:
    """Return a note on the number of probed images and scenes, beside the paper's numbers."""
    texts = []
    for what, number in (("images", sum(images.scenes.values())), ("scenes", len(images.scenes))):
        theirs = sheet.run.published.find("text", what, "7", "probed")
        place = {"experiment": PROBING, "measure": f"probed {what}"}
        ours, paper = sheet.pair(place, without_interval(number, number), theirs, 0, interval=False)
        texts.append(f"{ours.text} {what} (paper {paper.text})")
    return f"Probed: {' of '.join(texts)}."


def _splits_notes(run: ScenesRun, experiment: str) -> list[str]:
    return [f"{OVER_SPLITS} Splits: {max(splits)}."] if (splits := run.found("seeds", experiment)) else []


def _training(run: ScenesRun, images: ProbedImages) -> str:
    """Return a note on how many probed images the captioners were trained on: probes do not test other images apart."""
    return (
        f"Of the {sum(images.splits.values())} probed images {images.splits.get(TRAINED_ON, 0)} are of the split "
        f"{TRAINED_ON!r} of {run.training}, on which a captioner is finetuned; the pretrained one may have "
        "learnt from the same pictures in another corpus."
    )
