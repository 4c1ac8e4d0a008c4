"""Table of slices: by captioner, corpus and metric, the parts of the corpus with the worst values."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.footnotes import protocol_note
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell, p_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of
from captionlab.statistics.groups import SMALLEST

# Slices of a captioner, corpus and metric that pages show. The CSV has all.
WORST = 5
PLACE = ("captioner", "corpus", "split", "evaluation", "decoding", "retriever", "candidates", "metric")
RECORD_COLUMNS = (
    *PLACE, "by", "slice", "rank", "value", "ci_low", "ci_high", "n", "difference", "difference_low",
    "difference_high", "p_value", "p_holm", "test", "rest", *PROVENANCE,
)  # fmt: skip
NOTES = (
    "A value is computed on the images of the slice alone, by the formula of the metric; an image may be in several "
    "slices. Slices by length are of the captioner's own captions: n counts their images.",
    "Difference: value of the slice less the value on the other images, with its 95 % interval. p: two-sided; of a "
    "share of images with one caption each of Fisher's exact test, of other values of Welch's t-test with variances of "
    "the jackknife (of Student's, if all images of a group are alike). Holm: corrected for all slices of the "
    "captioner, corpus and metric. Among many slices the worst is low by chance, too: read p with Holm's correction.",
    "Scores of single captions, such as CIDEr's with the weights of its n-grams, are computed on the whole corpus.",
    "A captioner with several seeds has rows for each training, and none for their mean.",
)


def slices_table(rows: Sequence[Row], left_out: Mapping[str, int], provenance: Mapping[str, Any]) -> Table:
    """Return the table: a block for each captioner, corpus and metric, with its worst slices first.

    `rows` are rows of SLICES. `left_out` has the number of slices with too few images, by what they are slices of.
    """
    blocks = []
    for place in dict.fromkeys(tuple(row[name] for name in PLACE) for row in rows):
        of_place = [row for row in rows if tuple(row[name] for name in PLACE) == place]
        lines = [_line(row) for row in of_place if row["rank"] <= WORST]
        blocks.append(Block(lines, _heading(of_place[0], len(of_place))))
    columns = [Column("slice", numeric=False), Column("n"), Column("value"), Column("difference to the rest")]
    columns += [Column("p"), Column("p, Holm")]
    description = (
        f"Each metric on parts of each corpus, the worst first: at most {WORST} for each captioner, corpus and "
        "metric; all are in the CSV. A slice links to its captions."
    )
    notes = [*NOTES, *_small(left_out), protocol_note({row["decoding"] for row in rows})]
    texts = ("slices", "Slices of the corpora", description)
    return table_of(*texts, columns, blocks, rows, RECORD_COLUMNS, notes, provenance)


def _heading(row: Row, slices: int) -> str:
    scored_by = ", ".join(filter(None, (row["retriever"], row["candidates"])))
    metric = f"{row['metric']} ({scored_by})" if scored_by else row["metric"]
    where = f"{row['captioner']} on {row['corpus']}, {row['split']}, in {row['evaluation']}"
    return f"{metric}: {where}; {slices} slices" if slices > 1 else f"{metric}: {where}; 1 slice"


def _small(left_out: Mapping[str, int]) -> list[str]:
    """Return a note on the slices that have too few images."""
    if not left_out:
        return []
    counts = "; ".join(f"{where}: {count}" for where, count in left_out.items())
    return [f"Not shown, because they have fewer than {SMALLEST} images: {counts}."]


def _line(row: Row) -> list[Cell]:
    slice_cell = Cell(row["slice"], row["by"], link=slice_link(row))
    value = interval_cell([row[name] for name in ("value", "ci_low", "ci_high")], ".2f")
    difference = Cell(MISSING, note="Too few other images, or no spread, so that a difference says nothing.")
    if row["difference"] is not None:
        ends = [row[name] for name in ("difference", "difference_low", "difference_high")]
        difference = interval_cell(ends, "+.2f")
    return [slice_cell, Cell(str(row["n"])), value, difference, *(p_cell(row[name]) for name in ("p_value", "p_holm"))]


def slice_link(row: Row) -> str:
    """Return the address of the captions of a row of SLICES, which the browser selects by scene, object or slice."""
    own = row["by"] in ("scene", "object")
    chosen = {row["by"]: row["slice"]} if own else {"slice": f"{row['by']}: {row['slice']}"}
    return captions_link(
        row["corpus"], row["captioner"], row["evaluation"], row["metric"], row["retriever"], row["candidates"],
        filters=chosen,
    )  # fmt: skip
