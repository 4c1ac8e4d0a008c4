"""Tables 4, 6 and 7, the numbers of Figures 9 and 13, and objects: what can be told from the states of a captioner?"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from captionlab.papers.scenes.run import OVER_SPLITS, ScenesRun, scenes_sheet, without_interval
from captionlab.probes.objects import COMMONEST, MOST, RAREST
from captionlab.reporting.published import PublishedValue
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.sheets import Sheet
from captionlab.roles import FINETUNED, PRETRAINED, ROLES

AVERAGES = ("micro-F1", "macro-F1", "weighted-F1")
FOREST, NETWORK, RANDOM = "random-forest", "mlp", "random"
INTACT, ABLATED, OF_OBJECTS = "probing", "probing without telling objects", "probing of objects"
CONTROL = ", shuffled labels"
# The rows of a probe: the paper's label, the role, and what the captioner saw.
STATES = (
    ("PRE", "pretrained", INTACT),
    ("FT", "finetuned", INTACT),
    ("PRE (A)", "pretrained", ABLATED),
    ("FT (A)", "finetuned", ABLATED),
)
NAMES = {"PRE": "Pretrained", "FT": "Finetuned", "PRE (A)": "Pretrained (A)", "FT (A)": "Finetuned (A)"}
# The split whose images a captioner is trained on.
TRAINED_ON = "train"
ABBREVIATIONS = {FOREST: "RF", NETWORK: "MLP"}


@dataclass(frozen=True)
class ProbedImages:
    """The images whose scenes are probed for."""

    scenes: Mapping[str, int]
    """how many depict each scene"""
    splits: Mapping[str, int]
    """how many there are of each split"""
    unchanged: int
    """those whose states are the same without telling objects, as they have none of these"""


def hardest(run: ScenesRun) -> float | None:
    """The largest share of test images: 50/50 in the paper; None without probes."""
    return max(run.found("level", INTACT), default=None)


def split_name(share: float) -> str:
    """A split as the paper names it, training first."""
    return f"{100 * (1 - share):.0f}/{100 * share:.0f}"


def probes_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Table 4: F1 of the random forest on the hardest split, with the random baseline."""
    sheet = scenes_sheet(run, provenance)
    share = hardest(run)
    rows = []
    if share is not None:
        rows.append(_row(sheet, run, "Random", ("4", "Random", split_name(share)), INTACT, "pretrained", RANDOM, share))
        for label, role, experiment in STATES:
            name = NAMES[label]
            rows.append(_row(sheet, run, name, ("4", name, split_name(share)), experiment, role, FOREST, share))
    _explain(sheet, run, images)
    return sheet.table(
        "scenes_table4_probes",
        "Scenes, table 4: scenes told from the states of a captioner",
        "F1 of a random forest that tells the scene of an image from the captioner's last states, half of the images "
        "being for training. (A): without the objects that tell the scene.",
        _columns(),
        [Block(rows, f"{split_name(share)}, {run.corpus}")] if share is not None else [],
    )


def classifiers_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Table 6: the same by both probes, and the control task."""
    sheet = scenes_sheet(run, provenance)
    share = hardest(run)
    blocks = []
    if share is not None:
        split = split_name(share)
        blocks.append(
            Block([_row(sheet, run, "RB", ("6", "RB", split), INTACT, "pretrained", RANDOM, share)], "random")
        )
        for probe, short in ABBREVIATIONS.items():
            rows = [
                _row(sheet, run, label, ("6", f"{short} {label}", split), experiment, role, probe, share)
                for label, role, experiment in STATES
            ]
            blocks.append(Block(rows, {FOREST: "random forest", NETWORK: "multilayer perceptron"}[probe]))
        for probe, heading in ((FOREST, "random forest"), (NETWORK, "multilayer perceptron")):
            rows = [
                _row(sheet, run, label, None, experiment, role, probe + CONTROL, share)
                for label, role, experiment in STATES[:2]
            ]
            blocks.append(Block(rows, f"control: {heading} on shuffled labels; not in the paper"))
    _explain(sheet, run, images)
    sheet.notes.append(
        "Control: the same classes in a random order (Hewitt and Liang 2019). What a probe reaches there is chance; "
        "what it reaches on scenes beyond that is in the states."
    )
    sheet.notes.append(
        "The settings of the multilayer perceptron were chosen by cross-validation in the training part of the first "
        "split; test images of other splits are among these. The forest's are scikit-learn's defaults, unchosen."
    )
    return sheet.table(
        "scenes_table6_classifiers",
        "Scenes, table 6: two probes and a control task",
        "F1 of both probes on the hardest split. PRE: pretrained, FT: finetuned, (A): without telling objects.",
        _columns(),
        blocks,
    )


def splits_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Table 7: the random forest with more and less to learn from."""
    sheet = scenes_sheet(run, provenance)
    blocks = []
    for share in sorted(run.found("level", INTACT)):
        split = split_name(share)
        rows = [
            _row(sheet, run, label, ("7", label, split), experiment, role, FOREST, share)
            for label, role, experiment in STATES
        ]
        blocks.append(Block(rows, split))
    _explain(sheet, run, images)
    return sheet.table(
        "scenes_table7_splits",
        "Scenes, table 7: more and fewer images to train a probe on",
        "F1 of the random forest; training/test in per cent of the images.",
        _columns(),
        blocks,
    )


def classes_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figures 8, 9 and 13: F1 of each scene."""
    sheet = scenes_sheet(run, provenance)
    columns = [Column("scene", numeric=False), Column("images"), *(Column(role) for role in ROLES), Column("random")]
    blocks = []
    for share in sorted(run.found("level", INTACT)):
        rows = []
        for scene, number in sorted(images.scenes.items(), key=lambda item: (-item[1], item[0])):
            cells = [
                sheet.value(run.place(INTACT, role, f"F1 of {scene}", source=probe, level=share))[0]
                for role, probe in ((PRETRAINED, FOREST), (FINETUNED, FOREST), (PRETRAINED, RANDOM))
            ]
            rows.append([Cell(scene), Cell(str(number)), *cells])
        blocks.append(Block(rows, split_name(share)))
    _explain_selection(sheet, images)
    _explain_training(sheet, run, images)
    sheet.notes.append(f"{OVER_SPLITS} Figure 8 is the column of images, Figures 9 and 13 are the two extreme splits.")
    return sheet.table(
        "scenes_figure9_classes",
        "Scenes, figures 8, 9 and 13: how well each scene is told",
        "F1 of the random forest for each scene; the paper shows these numbers as bars only.",
        columns,
        blocks,
    )


def object_probes_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Beyond the paper: F1 of a random forest that tells the objects of whole images, before and after finetuning."""
    sheet = scenes_sheet(run, provenance)
    columns = [Column("objects", numeric=False), Column("tested on", "images with it")]
    columns += [*(Column(role, group="this run") for role in ROLES), Column("difference", group="this run")]
    columns += [Column("random"), *(Column(role, group="shuffled labels") for role in ROLES)]
    blocks = []
    for share in run.found("level", OF_OBJECTS):
        rows = []
        for measure in run.found("measure", OF_OBJECTS):
            before, after, random, *control = (
                run.place(OF_OBJECTS, role, measure, source=probe, level=share)
                for probe, roles in ((FOREST, ROLES), (RANDOM, ROLES[:1]), (FOREST + CONTROL, ROLES))
                for role in roles
            )
            of_roles = [sheet.value(place)[0] for place in (before, after)]
            apart = run.difference(after, PRETRAINED)
            of_roles += sheet.pair({**asdict(after), "against": PRETRAINED}, apart, None)[:1]
            of_roles += [sheet.value(place)[0] for place in (random, *control)]
            ours = run.value(before)
            rows.append([Cell(measure.removeprefix("F1 of ")), Cell(str(ours.n) if ours else MISSING), *of_roles])
        blocks.append(Block(rows, f"{split_name(share)}, {run.corpus}"))
    if not blocks:
        sheet.notes.append("No object is on as many images, and missing on as many, as a probe needs.")
    _explain_splits(sheet, OF_OBJECTS)
    _explain_training(sheet, run, images)
    sheet.notes.append(
        f"Objects are the most frequent labels of the images' tags, at most {MOST}, each on at least {RAREST:.0%} and "
        f"at most {COMMONEST:.0%} of the images. One forest tells them all at once from the mean of the last states. "
        "Difference: finetuned minus pretrained, split by split. Random: each object as often as in training. Shuffled "
        "labels: each image has the objects of another one. Images with an object are those of the last split; of an "
        "average, added up over objects."
    )
    sheet.notes.append(
        "The forest names an object where it finds it likelier than not: where the states say little of a rare one, it "
        "names none, and F1 is below that of guessing."
    )
    return sheet.table(
        "scenes_object_probes",
        "Beyond scenes: objects that probes find before and after finetuning",
        "F1 of a random forest that tells the objects of whole images from the captioner's last states; not in the "
        "paper.",
        columns,
        blocks,
    )


def _columns() -> list[Column]:
    columns = [Column("states", numeric=False)]
    for measure in AVERAGES:
        columns += [Column("this run", group=measure), Column("paper", group=measure)]
    return columns


def _row(
    sheet: Sheet,
    run: ScenesRun,
    label: str,
    printed: tuple[str, str, str] | None,
    experiment: str,
    role: str,
    probe: str,
    share: float,
) -> Sequence[Cell]:
    """A row of averages; `printed` is table, row and column of the paper."""
    row = [Cell(label)]
    for measure in AVERAGES:
        theirs: PublishedValue | None = run.published.find(*printed, measure) if printed else None
        row += sheet.value(run.place(experiment, role, measure, source=probe, level=share), theirs)
    return row


def _explain(sheet: Sheet, run: ScenesRun, images: ProbedImages) -> None:
    """What the numbers of probes of scenes are, and of which images."""
    _explain_selection(sheet, images)
    _explain_splits(sheet, INTACT)
    _explain_training(sheet, run, images)
    if images.unchanged:
        sheet.notes.append(
            f"(A): {images.unchanged} of the {sum(images.splits.values())} images have none of the objects that tell "
            "their scene; nothing is removed from them, and they are trained and tested on as they are."
        )


def _explain_selection(sheet: Sheet, images: ProbedImages) -> None:
    """How many images are probed, and of how many scenes, beside the paper's numbers."""
    texts = []
    for what, number in (("images", sum(images.scenes.values())), ("scenes", len(images.scenes))):
        theirs = sheet.run.published.find("text", what, "7", "probed")
        place = {"experiment": INTACT, "measure": f"probed {what}"}
        ours, paper = sheet.pair(place, without_interval(number, number), theirs, 0, interval=False)
        texts.append(f"{ours.text} {what} (paper {paper.text})")
    sheet.notes.append(f"Probed: {' of '.join(texts)}.")


def _explain_splits(sheet: Sheet, experiment: str) -> None:
    if splits := sheet.run.found("seeds", experiment):
        sheet.notes.append(f"{OVER_SPLITS} Splits: {max(splits)}.")


def _explain_training(sheet: Sheet, run: ScenesRun, images: ProbedImages) -> None:
    """Probes are not tested apart on images that the captioners never saw."""
    sheet.notes.append(
        f"Of the {sum(images.splits.values())} probed images {images.splits.get(TRAINED_ON, 0)} are of the split "
        f"{TRAINED_ON!r} of {run.training}, on which a captioner is finetuned; the pretrained one may have "
        "learnt from the same pictures in another corpus."
    )
