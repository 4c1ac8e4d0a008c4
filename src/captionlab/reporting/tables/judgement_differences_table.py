"""General table of how far every two metrics differ in their agreement with judges of captions."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.judgements_table import GROUPS, SIMULATED_NOTE, Place, heading_of, places_of
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell, p_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

_WHO = ("metric", "scorer", "against", "against_scorer")
RECORD_COLUMNS = (
    "judgements", *_WHO, "coefficient", "category", "difference", "ci_low", "ci_high", "p_value", "p_holm", "images",
    "n", *PROVENANCE,
)  # fmt: skip
NOTES = (
    "A difference is the coefficient of the first metric less the coefficient of the second, times 100, on the "
    "judgements of captions that both scored.",
    "Intervals and p: paired bootstrap over images. If no resample lies on the far side of 0, p is of Student's t with "
    "the standard deviation of the resamples, because the smallest p of a bootstrap is too large for many pairs. Holm: "
    "corrected for all pairs of metrics of the coefficient in the set.",
)


def judgement_differences_table(
    differences: Mapping[str, Sequence[Row]], simulated: Collection[str], provenance: Mapping[str, Any]
) -> Table:
    """Return the table, with a block for each set of judgements and a row for each pair of metrics.

    `differences` maps the name of a set to its rows of DIFFERENCES. `simulated` has the sets whose judges are
    simulated.
    """
    shown = places_of(differences)
    columns = [Column("metrics", numeric=False), Column("n")]
    for place in shown:
        group = f"{GROUPS[place[0]]}, {heading_of(place)}"
        columns += [Column("difference", group=group), Column("p, Holm", group=group)]
    blocks = []
    for name, rows in differences.items():
        of_pairs: dict[tuple[Any, ...], dict[Place, Row]] = {}
        for row in rows:
            pair = tuple(row[column] for column in _WHO)
            of_pairs.setdefault(pair, {})[row["coefficient"], row["category"]] = row
        lines = [_line(pair, found, shown) for pair, found in of_pairs.items()]
        blocks.append(Block(lines, f"{name}{', simulated judges' if name in simulated else ''}"))
    records = [{"judgements": name, **row} for name, rows in differences.items() for row in rows]
    missing = f"{MISSING}: the set has no such judgements, or the coefficient is not defined for one of the metrics."
    texts = (
        "judgement_differences",
        "Metrics against each other, by those who judged captions",
        "How much better each metric of captions agrees with those who judged them than each other metric: paired "
        "differences, with 95 % intervals and tests.",
    )
    notes = [*NOTES, missing, *([SIMULATED_NOTE] if simulated else [])]
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, notes, provenance)


def _line(pair: tuple[Any, ...], found: Mapping[Place, Row], shown: Sequence[Place]) -> list[Cell]:
    """Return the row of a pair of metrics: its name, the number of judgements, a difference and p by coefficient."""
    metric, scorer, against, other = pair
    names = [f"{name} by {by}" if by else name for name, by in ((metric, scorer), (against, other))]
    cells = [Cell(" \N{MINUS SIGN} ".join(names)), Cell(str(max(row["n"] for row in found.values())))]
    for place in shown:
        row = found.get(place)
        if row is None:
            cells += [Cell(MISSING), Cell(MISSING)]
        elif row["ci_low"] is None:
            cells += [Cell(f"{100 * row['difference']:+.1f}", value=100 * row["difference"]), Cell(MISSING)]
        else:
            ends = [100 * row[end] for end in ("difference", "ci_low", "ci_high")]
            cells += [interval_cell(ends, "+.1f"), p_cell(row["p_holm"])]
    return cells
