"""General table of how far each metric agrees with raters on captions of a length or of a source."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from captionlab.judgements.coefficients import PEARSON, TAU_B, TAU_C
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.judgements_table import SIMULATED_NOTE, coefficient_cell
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.tables.sheets import PROVENANCE, table_of
from captionlab.statistics.groups import SMALLEST

COEFFICIENTS = (TAU_B, TAU_C, PEARSON)
RECORD_COLUMNS = (
    "judgements", "metric", "scorer", "by", "slice", "coefficient", "value", "ci_low", "ci_high", "images", "n", "note",
    *PROVENANCE,
)  # fmt: skip


def judgement_slices_table(
    slices: Mapping[str, Sequence[Row]], simulated: Collection[str], provenance: Mapping[str, Any]
) -> Table:
    """Return the table, with a block for each set of judgements and slice, and a row for each metric.

    `slices` maps the name of a set to its rows of SLICES. `simulated` has the sets whose judges are simulated.
    """
    blocks = []
    for name, rows in slices.items():
        for by, value in dict.fromkeys((row["by"], row["slice"]) for row in rows):
            of_slice = [row for row in rows if (row["by"], row["slice"]) == (by, value)]
            blocks.append(_block(f"{name}{', simulated judges' if name in simulated else ''}: {by}, {value}", of_slice))
    columns = [Column("metric", numeric=False), Column("n"), *map(Column, COEFFICIENTS)]
    description = (
        "How far each metric of captions agrees with ratings of the captions of one length or source alone: Kendall's "
        "tau-b and tau-c and Pearson's r, each times 100."
    )
    notes = [
        f"n: ratings, each an observation of its own. Captions of at least {SMALLEST} images make a slice. Lengths are "
        "in words; the source is who wrote a caption, or about what, where the published file tells.",
        "A coefficient of a slice is not comparable with one of all captions: captions of a slice differ less.",
        OVER_IMAGES,
        f"{MISSING}: a note says why there is no number.",
        *([SIMULATED_NOTE] if simulated else []),
    ]
    records = [{"judgements": name, **row} for name, rows in slices.items() for row in rows]
    texts = ("judgement_slices", "Metrics against those who rated captions, by length and source", description)
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, notes, provenance)


def _block(heading: str, rows: Sequence[Row]) -> Block:
    of_metrics: dict[tuple[str, str | None], dict[str, Row]] = {}
    for row in rows:
        of_metrics.setdefault((row["metric"], row["scorer"]), {})[row["coefficient"]] = row
    lines = [
        [
            Cell(metric, f"by {scorer}" if scorer else ""),
            Cell(str(max(row["n"] for row in found.values()))),
            *(coefficient_cell(metric, found.get(coefficient)) for coefficient in COEFFICIENTS),
        ]
        for (metric, scorer), found in of_metrics.items()
    ]
    return Block(lines, f"{heading}, {max(row['images'] for row in rows)} images")
