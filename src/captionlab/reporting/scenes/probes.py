"""Tables 4, 6 and 7, and the numbers of Figures 9 and 13: can a scene be told from the states of a captioner?"""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.reporting.published import PublishedValue
from captionlab.reporting.render import Block, Cell, Column, Table
from captionlab.reporting.scenes.run import OVER_SPLITS, ScenesRun, ScenesSheet
from captionlab.roles import FINETUNED, PRETRAINED, ROLES

AVERAGES = ("micro-F1", "macro-F1", "weighted-F1")
FOREST, NETWORK, RANDOM = "random-forest", "mlp", "random"
INTACT, ABLATED = "probing", "probing without telling objects"
CONTROL = ", shuffled labels"
# The rows of a probe: the paper's label, the role, and what the captioner saw.
STATES = (
    ("PRE", "pretrained", INTACT),
    ("FT", "finetuned", INTACT),
    ("PRE (A)", "pretrained", ABLATED),
    ("FT (A)", "finetuned", ABLATED),
)
NAMES = {"PRE": "Pretrained", "FT": "Finetuned", "PRE (A)": "Pretrained (A)", "FT (A)": "Finetuned (A)"}
ABBREVIATIONS = {FOREST: "RF", NETWORK: "MLP"}


def hardest(run: ScenesRun) -> float | None:
    """The largest share of test images: 50/50 in the paper; None without probes."""
    return max(run.found("level", INTACT), default=None)


def split_name(share: float) -> str:
    """A split as the paper names it, training first."""
    return f"{100 * (1 - share):.0f}/{100 * share:.0f}"


def probes_table(run: ScenesRun, provenance: Mapping[str, Any]) -> Table:
    """Table 4: F1 of the random forest on the hardest split, with the random baseline."""
    sheet = ScenesSheet(run, provenance)
    share = hardest(run)
    rows = []
    if share is not None:
        rows.append(_row(sheet, "Random", ("4", "Random", split_name(share)), INTACT, "pretrained", RANDOM, share))
        for label, role, experiment in STATES:
            name = NAMES[label]
            rows.append(_row(sheet, name, ("4", name, split_name(share)), experiment, role, FOREST, share))
    _explain(sheet)
    return sheet.table(
        "scenes_table4_probes",
        "Scenes, table 4: scenes told from the states of a captioner",
        "F1 of a random forest that tells the scene of an image from the captioner's last states, half of the images "
        "being for training. (A): without the objects that tell the scene.",
        _columns(),
        [Block(rows, f"{split_name(share)}, {run.corpus}")] if share is not None else [],
    )


def classifiers_table(run: ScenesRun, provenance: Mapping[str, Any]) -> Table:
    """Table 6: the same by both probes, and the control task."""
    sheet = ScenesSheet(run, provenance)
    share = hardest(run)
    blocks = []
    if share is not None:
        split = split_name(share)
        blocks.append(Block([_row(sheet, "RB", ("6", "RB", split), INTACT, "pretrained", RANDOM, share)], "random"))
        for probe, short in ABBREVIATIONS.items():
            rows = [
                _row(sheet, label, ("6", f"{short} {label}", split), experiment, role, probe, share)
                for label, role, experiment in STATES
            ]
            blocks.append(Block(rows, {FOREST: "random forest", NETWORK: "multilayer perceptron"}[probe]))
        for probe, heading in ((FOREST, "random forest"), (NETWORK, "multilayer perceptron")):
            rows = [
                _row(sheet, label, None, experiment, role, probe + CONTROL, share)
                for label, role, experiment in STATES[:2]
            ]
            blocks.append(Block(rows, f"control: {heading} on shuffled labels; not in the paper"))
    _explain(sheet)
    sheet.notes.append(
        "Control: the same classes in a random order (Hewitt and Liang 2019). What a probe reaches there is chance; "
        "what it reaches on scenes beyond that is in the states."
    )
    return sheet.table(
        "scenes_table6_classifiers",
        "Scenes, table 6: two probes and a control task",
        "F1 of both probes on the hardest split. PRE: pretrained, FT: finetuned, (A): without telling objects.",
        _columns(),
        blocks,
    )


def splits_table(run: ScenesRun, provenance: Mapping[str, Any]) -> Table:
    """Table 7: the random forest with more and less to learn from."""
    sheet = ScenesSheet(run, provenance)
    blocks = []
    for share in sorted(run.found("level", INTACT)):
        split = split_name(share)
        rows = [
            _row(sheet, label, ("7", label, split), experiment, role, FOREST, share)
            for label, role, experiment in STATES
        ]
        blocks.append(Block(rows, split))
    _explain(sheet)
    return sheet.table(
        "scenes_table7_splits",
        "Scenes, table 7: more and fewer images to train a probe on",
        "F1 of the random forest; training/test in per cent of the images.",
        _columns(),
        blocks,
    )


def classes_table(run: ScenesRun, images: Mapping[str, int], provenance: Mapping[str, Any]) -> Table:
    """The numbers of Figures 8, 9 and 13: F1 of each scene. images: images of each scene in the probing data."""
    sheet = ScenesSheet(run, provenance)
    columns = [Column("scene", numeric=False), Column("images"), *(Column(role) for role in ROLES), Column("random")]
    blocks = []
    for share in sorted(run.found("level", INTACT)):
        rows = []
        for scene, number in sorted(images.items(), key=lambda item: (-item[1], item[0])):
            cells = [
                sheet.value(INTACT, role, f"F1 of {scene}", source=probe, level=share)[0]
                for role, probe in ((PRETRAINED, FOREST), (FINETUNED, FOREST), (PRETRAINED, RANDOM))
            ]
            rows.append([Cell(scene), Cell(str(number)), *cells])
        blocks.append(Block(rows, split_name(share)))
    sheet.notes.append(f"{OVER_SPLITS} Figure 8 is the column of images, Figures 9 and 13 are the two extreme splits.")
    return sheet.table(
        "scenes_figure9_classes",
        "Scenes, figures 8, 9 and 13: how well each scene is told",
        "F1 of the random forest for each scene; the paper shows these numbers as bars only.",
        columns,
        blocks,
    )


def _columns() -> list[Column]:
    columns = [Column("states", numeric=False)]
    for measure in AVERAGES:
        columns += [Column("this run", group=measure), Column("paper", group=measure)]
    return columns


def _row(
    sheet: ScenesSheet,
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
        theirs: PublishedValue | None = sheet.run.published.find(*printed, measure) if printed else None
        row += sheet.value(experiment, role, measure, theirs, source=probe, level=share)
    return row


def _explain(sheet: ScenesSheet) -> None:
    rows = [row for row in sheet.run.values if row["experiment"] == INTACT]
    if rows:
        splits = max(row["seeds"] for row in rows)
        sheet.notes.append(f"{OVER_SPLITS} Splits: {splits}. They share images, so intervals are somewhat too narrow.")
