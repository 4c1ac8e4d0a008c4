"""General table of judgements: how far each metric agrees with judges of captions, independent of papers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from captionlab.judgements.coefficients import ACCURACY, PEARSON, TAU_B, TAU_C
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

SIMULATED_NOTE = (
    "Simulated judgements: they follow from what is known of rendered images. No person took part; the numbers say "
    "nothing about people."
)
# Coefficient -> group of its columns.
GROUPS = {TAU_B: "with ratings", TAU_C: "with ratings", PEARSON: "with ratings", ACCURACY: "accuracy on pairs"}
# A coefficient and the category of its pairs, None for all judgements.
Place = tuple[str, str | None]
RECORD_COLUMNS = (
    "judgements", "metric", "scorer", "coefficient", "category", "value", "ci_low", "ci_high", "images", "n", "note",
    *PROVENANCE,
)  # fmt: skip


def judgements_table(
    correlations: Mapping[str, Sequence[Row]], simulated: Collection[str], provenance: Mapping[str, Any]
) -> Table:
    """Return the table, with a block for each set of judgements and a row for each metric.

    `correlations` maps the name of a set to its rows of CORRELATIONS. `simulated` has the sets whose judges are
    simulated.
    """
    shown = places_of(correlations)
    columns = [Column("metric", numeric=False), Column("n")]
    columns += [Column(heading_of(place), group=GROUPS[place[0]]) for place in shown]
    blocks, records = [], []
    for name, rows in correlations.items():
        of_metrics: dict[tuple[str, str | None], dict[Place, Row]] = {}
        for row in rows:
            of_metrics.setdefault((row["metric"], row["scorer"]), {})[row["coefficient"], row["category"]] = row
            records.append({"judgements": name, **row})
        lines = [_line(*metric, found, shown) for metric, found in of_metrics.items()]
        images = max((row["images"] for row in rows), default=0)
        blocks.append(Block(lines, f"{name}, {images} images{', simulated judges' if name in simulated else ''}"))
    description = (
        "How far each metric of captions agrees with those who judged them: Kendall's tau-b and tau-c and Pearson's r "
        "with ratings, and the share of pairs of captions of which the metric prefers the same one, each times 100."
    )
    notes = [
        "n: ratings, each an observation of its own, or pairs of captions. A tie of a pair counts half.",
        OVER_IMAGES,
        f"{MISSING}: the set has no such judgements, or a note says why there is no number.",
        *([SIMULATED_NOTE] if simulated else []),
    ]
    texts = ("judgements", "Metrics against those who judged captions", description)
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, notes, provenance)


def places_of(tables: Mapping[str, Sequence[Row]]) -> list[Place]:
    """Return the coefficients and categories of the rows of all sets, in the order of columns."""
    places = {(row["coefficient"], row["category"]) for rows in tables.values() for row in rows}
    return sorted(places, key=lambda place: ([*GROUPS].index(place[0]), place[1] or ""))


def heading_of(place: Place) -> str:
    """Return the heading of the column of a coefficient and category."""
    coefficient, category = place
    return category or ("all" if coefficient == ACCURACY else coefficient)


def _line(
    metric: str,
    scorer: str | None,
    found: Mapping[Place, Row],
    shown: Sequence[Place],
) -> list[Cell]:
    """Return the row of a metric: its name, the number of judgements, and a cell for each coefficient."""
    head = Cell(metric, f"by {scorer}" if scorer else "")
    return [
        head,
        Cell(str(max(row["n"] for row in found.values()))),
        *(coefficient_cell(metric, found.get(at)) for at in shown),
    ]


def coefficient_cell(metric: str, row: Row | None) -> Cell:
    """Return the cell of a coefficient of a metric, times 100, from its row of CORRELATIONS; without a row, of none."""
    if row is None:
        return Cell(MISSING)
    note = f"{metric}: {row['note']}." if row["note"] else ""
    if row["value"] is None:
        return Cell(MISSING, note=note)
    if row["ci_low"] is None:
        return Cell(f"{100 * row['value']:.1f}", note=note, value=100 * row["value"])
    cell = interval_cell([100 * row[end] for end in ("value", "ci_low", "ci_high")], ".1f")
    return Cell(cell.text, cell.detail, note, value=cell.value)
