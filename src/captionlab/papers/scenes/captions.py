"""Caption metrics (Table 1), examples of the data (Table 8, Figure 2), and captions that change (Figure 5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionlab.ablation.comparison import changed
from captionlab.config.roles import FINETUNED, PRETRAINED, ROLES
from captionlab.evaluation.rows import row
from captionlab.papers.scenes.values import CAPTIONS, ScenesRun, scenes_sheet, three
from captionlab.reporting.claims.reading import Provenance, Rows
from captionlab.reporting.runs.values import Row, means
from captionlab.reporting.tables.builder import Line, Number, blocks_of, columns_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, Value
from captionlab.reporting.tables.sheets import PROVENANCE
from captionlab.statistics.intervals import SIMILAR, within

# The headings of the paper's Table 1 -> our metrics.
METRICS = {"B4": "BLEU@4", "M": "METEOR", "RL": "ROUGE-L", "CIDEr": "CIDEr", "SPICE": "SPICE"}
END = "the end of the finetuning"
# Numbers of images in Table 8, and in Figure 5.
SHOWN, CHANGED = 4, 3
DATA_COLUMNS = ("place", "image_id", "split", "captions", "reference", "generated", *PROVENANCE)
CHANGE_COLUMNS = ("image_id", "split", "scene", "captioner", "removed", "before", "after", "changed", *PROVENANCE)


def caption_rows(
    summary: Iterable[Row], comparisons: Iterable[Row], labels: Mapping[str, str], evaluation: str, end: str
) -> tuple[Rows, Rows]:
    """Return metrics of captioners by the paper's label, and their differences from their parents.

    `labels` maps a captioner to its label. Snapshots are also compared with the captioner `end`, at the end of the
    finetuning, by a nearness.
    """
    values, of_end = [], {}
    for found in means(summary):
        if found["evaluation"] == evaluation and found["captioner"] in labels:
            of_value = found["corpus"], CAPTIONS, labels[found["captioner"]], found["metric"]
            values.append(row(*of_value, three(found), found["n"], seeds=found["seeds"]))
            if found["captioner"] == end:
                of_end[found["corpus"], found["metric"]] = found["value"]
    differences = []
    for found in means(comparisons):
        if found["evaluation"] == evaluation and found["captioner"] in labels and found["against"] in (end, *labels):
            corpus, metric, number = found["corpus"], found["metric"], three(found, "difference")
            place: dict[str, Any] = {"against": labels.get(found["against"]), "seeds": found["seeds"]}
            if found["against"] == end:
                place |= {"against": END, "margin": SIMILAR * abs(of_end[corpus, metric])}
                number, metric = within(*number, place["margin"]), f"nearness of {metric}"
            differences.append(row(corpus, CAPTIONS, labels[found["captioner"]], metric, number, found["n"], **place))
    return values, differences


def _by_epoch(label: str) -> tuple[bool, bool, int, str]:
    """Return a key that sorts rows of Table 1: the captioner before finetuning, then by epoch, then other labels."""
    return label != PRETRAINED, not label.isdigit(), int(label) if label.isdigit() else 0, label


def metrics_table(run: ScenesRun, provenance: Provenance) -> Table:
    """Return Table 1: metrics of scene captions over the epochs of finetuning."""
    sheet = scenes_sheet(run, provenance)
    measured = run.found("measure", CAPTIONS)
    shown = {printed: metric for printed, metric in METRICS.items() if metric in measured}
    numbers = [Number({"measure": metric}, printed, printed=printed, decimals=1) for printed, metric in shown.items()]
    subjects = sorted(run.found("subject", CAPTIONS), key=_by_epoch)
    lines = [Line([label], {"subject": label, "experiment": CAPTIONS}, label) for label in subjects]
    sheet.notes += [f"{printed} is not in this run." for printed in METRICS if printed not in shown]
    sheet.notes.append(
        f"{OVER_IMAGES} Rows are snapshots of one training after so many epochs; pretrained is before it."
    )
    return sheet.table(
        "scenes_table1_metrics",
        "Scenes, table 1: scene captions over the epochs of finetuning",
        "Similarity of captions to scene captions that people wrote, before and during finetuning on such captions.",
        columns_of(["epoch"], numbers),
        blocks_of(sheet, "1", lines, numbers),
    )


# Human captions by image.
Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Example:
    """An image with a human caption of each kind, and the captions generated before and after finetuning."""

    image: str
    split: str
    objects: str
    scene: str
    before: str | None
    after: str | None


Examples = Sequence[Example]


def drawn_examples(
    captions: Mapping[str, Sequence[Row]],
    shown: Mapping[str, Mapping[str, str]],
    objects: Texts,
    scenes: Texts,
    splits: Mapping[str, str],
    seed: int,
) -> tuple[Examples, Examples]:
    """Return the image of Figure 2, and the images of Table 8, each with a random object caption and scene caption.

    Figure 2 has the first image of `shown` that people described in both ways. `shown` has the images whose attention
    is drawn, with their captions by role. The images of Table 8 are drawn at random among all images that people
    described in both ways. `captions` are rows of ABLATED by role; captions of whole images stand beside the human
    captions. `objects` and `scenes` have the human captions of each image; `splits` has the split of every image of the
    corpus.
    """
    whole = {role: {row["image_id"]: row["caption"] for row in captions[role] if not row["objects"]} for role in ROLES}
    generator = np.random.default_rng(seed)

    def example(image: str, generated: Mapping[str, str | None]) -> Example:
        of_objects, of_scene = (of[image][int(generator.integers(len(of[image])))] for of in (objects, scenes))
        return Example(image, splits[image], of_objects, of_scene, generated[PRETRAINED], generated[FINETUNED])

    described = sorted(splits.keys() & objects.keys() & scenes.keys())
    first = [image for image in shown if image in described][:1]
    of_figure = [example(image, shown[image]) for image in first]
    drawn = [described[place] for place in generator.permutation(len(described))[:SHOWN]]
    return of_figure, [example(image, {role: whole[role].get(image) for role in ROLES}) for image in drawn]


def data_table(
    run: ScenesRun, of_figure: Examples, of_table: Examples, pictures: Mapping[str, bytes], provenance: Provenance
) -> Table:
    """Return the captions of Figure 2 and Table 8.

    Examples are in the form of `drawn_examples`; `pictures` are PNGs by image.
    """
    sheet = scenes_sheet(run, provenance)
    blocks, records = [], []
    for place, one in [*(("figure 2", one) for one in of_figure), *(("table 8", one) for one in of_table)]:
        lines = [("of objects", one.objects, one.before), ("of scenes", one.scene, one.after)]
        rows = [[Cell(kind), Cell(reference), Cell(generated or MISSING)] for kind, reference, generated in lines]
        records += [dict(zip(DATA_COLUMNS, (place, one.image, one.split, *line), strict=False)) for line in lines]
        blocks.append(Block(rows, f"{place}: image {one.image}, split {one.split}", pictures.get(one.image, b"")))
    sheet.notes.append(
        f"Images of Table 8 are drawn at random among those of {run.corpus} that people described in both ways; the "
        "image of Figure 2 is the first of these whose attention is drawn, as in Figures 3 and 11. Each has a random "
        "caption of either kind. Generated: before finetuning beside object captions, after it beside scene captions; "
        f"{MISSING}: not captioned in this run."
    )
    if not of_table:
        sheet.notes.append("No image has an object caption; papers.scenes.object_captions must name its images.")
    return sheet.table(
        "scenes_table8_examples",
        "Scenes, table 8 and figure 2: examples of the data",
        "What people wrote of the objects and of the scene of an image, and what the captioner did before and after.",
        [Column(name, numeric=False) for name in ("captions", "reference", "generated")],
        blocks,
        records,
        DATA_COLUMNS,
    )


@dataclass(frozen=True)
class Change:
    """An image without diagnostic objects of its scene, with captions (before, after) by role."""

    image: str
    split: str
    scene: str
    removed: str
    captions: Mapping[str, tuple[str, str]]


def first_changes(captions: Mapping[str, Sequence[Row]], objects: int) -> list[Change]:
    """Return, for each of a few scenes, the first sample whose caption by the finetuned captioner changes.

    Only samples from which `objects` objects were removed count. `captions` are rows of ABLATED by role, including
    whole images.
    """
    every = [(role, row) for role, rows in captions.items() for row in rows]
    whole = {(role, row["image_id"]): row["caption"] for role, row in every if not row["objects"]}
    ablated = {(role, r["image_id"], r["scene"]): r["caption"] for role, r in every if r["objects"] == objects}
    found: dict[str, Change] = {}
    for one in captions[FINETUNED]:
        image, scene = one["image_id"], one["scene"]
        if one["objects"] == objects and scene not in found and changed(whole[FINETUNED, image], one["caption"]):
            texts = {role: (whole[role, image], ablated[role, image, scene]) for role in ROLES}
            found[scene] = Change(image, one["split"], scene, ", ".join(one["labels"]), texts)
    return [found[scene] for scene in sorted(found)][:CHANGED]


def changes_table(
    run: ScenesRun, changes: Sequence[Change], pictures: Mapping[str, bytes], objects: int, provenance: Provenance
) -> Table:
    """Return Figure 5: captions that change when `objects` objects are removed. `pictures` are PNGs by image."""
    sheet = scenes_sheet(run, provenance)
    blocks, records = [], []
    for one in changes:
        rows = []
        for role, (before, after) in one.captions.items():
            differs = changed(before, after)
            rows.append([Cell(role), Cell(before), Cell(after if differs else "the same")])
            record: tuple[Value, ...] = one.image, one.split, one.scene, role, one.removed, before, after, differs
            records.append(dict(zip(CHANGE_COLUMNS, record, strict=False)))
        heading = f"{one.scene}, image {one.image}, without {one.removed}"
        blocks.append(Block(rows, heading, pictures.get(one.image, b"")))
    sheet.notes.append(
        "The first image of a scene whose scene caption changes: these are the exceptions, how frequent they are is in "
        "scenes_figure6_ablation."
    )
    return sheet.table(
        "scenes_figure5_examples",
        "Scenes, figure 5: captions that change",
        f"Captions before and after the {objects} most diagnostic objects of the scene are removed.",
        [Column(name, numeric=False) for name in ("captioner", "whole image", "without the objects")],
        blocks,
        records,
        CHANGE_COLUMNS,
    )
