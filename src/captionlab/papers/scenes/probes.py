"""Tables 4, 6 and 7, the numbers of Figures 9 and 13, and objects: what can be told from the states of a captioner?"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from captionlab.papers.scenes.probe_scores import (
    AVERAGES,
    CONTROL,
    FOREST,
    NETWORK,
    PROBING,
    PROBING_ABLATED,
    PROBING_OBJECTS,
    RANDOM,
    split_name,
)
from captionlab.papers.scenes.run import Provenance, ScenesRun, scenes_sheet, without_interval
from captionlab.probes.probe import COMMONEST, MOST, RAREST
from captionlab.reporting.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.render import MISSING, Block, Column, Table
from captionlab.reporting.sheets import Sheet
from captionlab.roles import FINETUNED, PRETRAINED, ROLES

OVER_SPLITS = (
    "Intervals: 95 %, Student's t over splits that are drawn anew, corrected for the images that they share, and never "
    "narrower than the test images of one split allow."
)
F1 = [Number({"measure": name}, name, printed=name) for name in AVERAGES.values()]
# The rows of a probe by the paper's label: what Table 4 calls it, the role, and what the captioner saw.
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
Part = tuple[str | None, float, str, Sequence[Line]]
# The name, the title and the description of a table.
Texts = tuple[str, str, str]


@dataclass(frozen=True)
class ProbedImages:
    """The images whose scenes are probed for."""

    scenes: Mapping[str, int]
    """how many depict each scene"""
    splits: Mapping[str, int]
    """how many there are of each split"""
    unchanged: int
    """those whose states are the same without diagnostic objects, as they have none of these"""


def _hardest(run: ScenesRun) -> list[float]:
    """The largest share of test images: 50/50 in the paper; nothing without probes."""
    return sorted(run.found("level", PROBING))[-1:]


def _state(label: str, probe: str, share: float, head: str, printed: str | None = None) -> Line:
    """The row of a label of STATES with its first cell, and what the paper calls it where that is another."""
    _, role, experiment = STATES[label]
    place = {"subject": role, "experiment": experiment, "source": probe, "level": share}
    return Line([head], place, printed or head)


def probes_table(run: ScenesRun, images: ProbedImages, provenance: Provenance) -> Table:
    """Table 4: F1 of the random forest on the hardest split, with the random baseline."""
    parts = []
    for share in _hardest(run):
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
    """Table 6: the same by both probes, and the control task."""
    parts: list[Part] = []
    for share in _hardest(run):
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
    """Table 7: the random forest with more and less to learn from."""
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
    run: ScenesRun, images: ProbedImages, provenance: Provenance, texts: Texts, parts: Iterable[Part], *notes: str
) -> Table:
    sheet = scenes_sheet(run, provenance)
    blocks = [
        Block(rows_of(sheet, printed, split_name(share), run.corpus, lines, F1), heading)
        for printed, share, heading, lines in parts
    ]
    sheet.notes += [_selection(sheet, images), *_over_splits(run, PROBING), _training(run, images)]
    if images.unchanged:
        sheet.notes.append(
            f"(A): {images.unchanged} of the {sum(images.splits.values())} images have none of the objects that tell "
            "their scene; nothing is removed from them, and they are trained and tested on as they are."
        )
    sheet.notes += notes
    return sheet.table(*texts, columns_of(["states"], F1), blocks)


def classes_table(run: ScenesRun, images: ProbedImages, provenance: Provenance) -> Table:
    """The numbers of Figures 8, 9 and 13: F1 of each scene."""
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
    """Beyond the paper: F1 of a random forest that tells the objects of whole images, before and after finetuning."""
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
        *_over_splits(run, PROBING_OBJECTS),
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
    """How many images are probed, and of how many scenes, beside the paper's numbers."""
    texts = []
    for what, number in (("images", sum(images.scenes.values())), ("scenes", len(images.scenes))):
        theirs = sheet.run.published.find("text", what, "7", "probed")
        place = {"experiment": PROBING, "measure": f"probed {what}"}
        ours, paper = sheet.pair(place, without_interval(number, number), theirs, 0, interval=False)
        texts.append(f"{ours.text} {what} (paper {paper.text})")
    return f"Probed: {' of '.join(texts)}."


def _over_splits(run: ScenesRun, experiment: str) -> Iterator[str]:
    if splits := run.found("seeds", experiment):
        yield f"{OVER_SPLITS} Splits: {max(splits)}."


def _training(run: ScenesRun, images: ProbedImages) -> str:
    """Probes are not tested apart on images that the captioners never saw."""
    return (
        f"Of the {sum(images.splits.values())} probed images {images.splits.get(TRAINED_ON, 0)} are of the split "
        f"{TRAINED_ON!r} of {run.training}, on which a captioner is finetuned; the pretrained one may have "
        "learnt from the same pictures in another corpus."
    )
