"""Tables 4, 6 and 7, the numbers of Figures 9 and 13, and objects: what can be told from the states of a captioner?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from captionlab.papers.scenes.run import OVER_SPLITS, ScenesRun, scenes_sheet, without_interval
from captionlab.probes.objects import COMMONEST, MOST, RAREST
from captionlab.reporting.builder import Line, Number, columns_of, rows_of
from captionlab.reporting.render import MISSING, Block, Column, Table
from captionlab.reporting.runs import Place
from captionlab.reporting.sheets import Sheet
from captionlab.roles import FINETUNED, PRETRAINED, ROLES

F1 = [Number({"measure": name}, name, printed=name) for name in ("micro-F1", "macro-F1", "weighted-F1")]
FOREST, NETWORK, RANDOM = "random-forest", "mlp", "random"
INTACT, ABLATED, OF_OBJECTS = "probes", "probes without diagnostic objects", "probes of objects"
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
PROBES = {FOREST: "random forest", NETWORK: "multilayer perceptron"}


@dataclass(frozen=True)
class ProbedImages:
    """The images whose scenes are probed for."""

    scenes: Mapping[str, int]
    """how many depict each scene"""
    splits: Mapping[str, int]
    """how many there are of each split"""
    unchanged: int
    """those whose states are the same without diagnostic objects, as they have none of these"""


def hardest(run: ScenesRun) -> float | None:
    """The largest share of test images: 50/50 in the paper; None without probes."""
    return max(run.found("level", INTACT), default=None)


def split_name(share: float) -> str:
    """A split as the paper names it, training first."""
    return f"{100 * (1 - share):.0f}/{100 * share:.0f}"


def _states(labels: Mapping[str, str], probe: str, share: float, printed: str = "") -> list[Line]:
    """A row for each of these labels of STATES, with its first cell; `printed` stands before it in the paper."""
    return [
        Line(
            [head],
            {"subject": role, "experiment": experiment, "source": probe, "level": share},
            f"{printed}{label if printed else head}",
        )
        for label, role, experiment in STATES
        if (head := labels.get(label))
    ]


def probes_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Table 4: F1 of the random forest on the hardest split, with the random baseline."""
    sheet, share, blocks = scenes_sheet(run, provenance), hardest(run), []
    if share is not None:
        lines = [_guess("Random", share), *_states(NAMES, FOREST, share)]
        rows = rows_of(sheet, "4", split_name(share), run.corpus, lines, F1)
        blocks.append(Block(rows, f"{split_name(share)}, {run.corpus}"))
    _explain(sheet, run, images)
    return sheet.table(
        "scenes_table4_probes",
        "Scenes, table 4: scenes told from the states of a captioner",
        "F1 of a random forest that tells the scene of an image from the captioner's last states, half of the images "
        "being for training. (A): without the objects that tell the scene.",
        columns_of(["states"], F1),
        blocks,
    )


def classifiers_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Table 6: the same by both probes, and the control task."""
    sheet, share, blocks = scenes_sheet(run, provenance), hardest(run), []
    if share is not None:
        labels = {label: label for label in NAMES}
        intact = {label: label for label, _, experiment in STATES if experiment == INTACT}
        parts = [("6", "random", [_guess("RB", share)])]
        parts += [("6", PROBES[one], _states(labels, one, share, f"{short} ")) for one, short in ABBREVIATIONS.items()]
        parts += [
            ("", f"control: {name} on shuffled labels; not in the paper", _states(intact, probe + CONTROL, share))
            for probe, name in PROBES.items()
        ]
        blocks = [
            Block(rows_of(sheet, table or None, split_name(share), run.corpus, lines, F1), heading)
            for table, heading, lines in parts
        ]
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
        "F1 of both probes on the hardest split. PRE: pretrained, FT: finetuned, (A): without diagnostic objects.",
        columns_of(["states"], F1),
        blocks,
    )


def splits_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Table 7: the random forest with more and less to learn from."""
    sheet, labels = scenes_sheet(run, provenance), {label: label for label in NAMES}
    blocks = [
        Block(rows_of(sheet, "7", split, run.corpus, _states(labels, FOREST, share), F1), split)
        for share in sorted(run.found("level", INTACT))
        if (split := split_name(share))
    ]
    _explain(sheet, run, images)
    return sheet.table(
        "scenes_table7_splits",
        "Scenes, table 7: more and fewer images to train a probe on",
        "F1 of the random forest; training/test in per cent of the images.",
        columns_of(["states"], F1),
        blocks,
    )


def classes_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figures 8, 9 and 13: F1 of each scene."""
    sheet = scenes_sheet(run, provenance)
    places = ((PRETRAINED, FOREST, PRETRAINED), (FINETUNED, FOREST, FINETUNED), ("random", RANDOM, PRETRAINED))
    numbers = [Number({"subject": role, "source": probe}, heading=name) for name, probe, role in places]
    blocks = []
    for share in sorted(run.found("level", INTACT)):
        lines = [
            Line([scene, str(number)], {"experiment": INTACT, "measure": f"F1 of {scene}", "level": share})
            for scene, number in sorted(images.scenes.items(), key=lambda item: (-item[1], item[0]))
        ]
        blocks.append(Block(rows_of(sheet, None, "", run.corpus, lines, numbers), split_name(share)))
    _explain_selection(sheet, images)
    _explain_training(sheet, run, images)
    sheet.notes.append(f"{OVER_SPLITS} Figure 8 is the column of images, Figures 9 and 13 are the two extreme splits.")
    scene, *others = columns_of(["scene"], numbers)
    return sheet.table(
        "scenes_figure9_classes",
        "Scenes, figures 8, 9 and 13: how well each scene is told",
        "F1 of the random forest for each scene; the paper shows these numbers as bars only.",
        [scene, Column("images"), *others],
        blocks,
    )


def object_probes_table(run: ScenesRun, images: ProbedImages, provenance: Mapping[str, Any]) -> Table:
    """Beyond the paper: F1 of a random forest that tells the objects of whole images, before and after finetuning."""
    sheet = scenes_sheet(run, provenance)
    control = {"source": FOREST + CONTROL}
    numbers = [
        *(Number({"subject": role}, "this run", role) for role in ROLES),
        Number({"subject": FINETUNED}, "this run", "difference", against=PRETRAINED, sign=""),
        Number({"subject": PRETRAINED, "source": RANDOM}, heading="random"),
        *(Number({"subject": role, **control}, "shuffled labels", role) for role in ROLES),
    ]
    blocks = []
    for share in run.found("level", OF_OBJECTS):
        lines = []
        for measure in run.found("measure", OF_OBJECTS):
            place = {"experiment": OF_OBJECTS, "measure": measure, "source": FOREST, "level": share}
            ours = run.value(Place(PRETRAINED, run.corpus, **place))
            lines.append(Line([measure.removeprefix("F1 of "), str(ours.n) if ours else MISSING], place))
        rows = rows_of(sheet, None, "", run.corpus, lines, numbers)
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
    objects, *others = columns_of(["objects"], numbers)
    return sheet.table(
        "scenes_object_probes",
        "Beyond scenes: objects that probes find before and after finetuning",
        "F1 of a random forest that tells the objects of whole images from the captioner's last states; not in the "
        "paper.",
        [objects, Column("tested on", "images with it"), *others],
        blocks,
    )


def _guess(label: str, share: float) -> Line:
    """The row of guessing by the frequency of scenes."""
    place = {"subject": PRETRAINED, "experiment": INTACT, "source": RANDOM, "level": share}
    return Line([label], place, label)


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
