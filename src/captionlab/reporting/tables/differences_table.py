"""General table of the differences between captioners, independent of papers."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.reporting.runs.values import Row, trainings
from captionlab.reporting.tables.render import Block, Cell, Column, Table, interval_cell, p_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

RECORD_COLUMNS = (
    "captioner", "against", "corpus", "split", "decoding", "retriever", "candidates", "metric", "difference", "ci_low",
    "ci_high", "p_value", "p_holm", "test", "seeds", "n", "evaluation", *PROVENANCE,
)  # fmt: skip
NOTES = (
    "A difference is the value of the first captioner less the value of the second on the same images. Captioners are "
    "compared with their parents, snapshots with the end of their training, and pairs of `compare` with each other.",
    "p: two-sided, of the paired bootstrap over images; of P@1 by one caption for each image, of McNemar's exact test. "
    "Holm: corrected for the comparisons of the metric in the evaluation on the corpus. Means over trainings have an "
    "interval over seeds and no test.",
)
_BLOCK = ("corpus", "split", "evaluation")


def differences_table(comparisons: Sequence[Row], provenance: Mapping[str, Any]) -> Table:
    """Return the table: a block for each corpus and evaluation, a row for each pair of captioners and metric.

    `comparisons` are rows of COMPARISONS.
    """
    blocks = []
    for place in dict.fromkeys(tuple(row[name] for name in _BLOCK) for row in comparisons):
        rows = [row for row in comparisons if tuple(row[name] for name in _BLOCK) == place]
        blocks.append(Block([_line(row) for row in rows], ", ".join(place)))
    columns = [
        *(Column(name, numeric=False) for name in ("captioners", "metric")),
        Column("n"), Column("difference"), Column("p"), Column("p, Holm"),
    ]  # fmt: skip
    texts = ("differences", "Differences between captioners", "Paired differences, with 95 % intervals and tests.")
    return table_of(*texts, columns, blocks, comparisons, RECORD_COLUMNS, NOTES, provenance)


def _line(row: Row) -> list[Cell]:
    several = trainings(row["seeds"]) if row["seeds"] > 1 else ""
    scored_by = ", ".join(filter(None, (row["retriever"], row["candidates"])))
    ends = [row[name] for name in ("difference", "ci_low", "ci_high")]
    return [
        Cell(f"{row['captioner']} \N{MINUS SIGN} {row['against']}", several),
        Cell(row["metric"], scored_by),
        Cell(str(row["n"])),
        interval_cell(ends, "+.2f"),
        *(p_cell(row[name]) for name in ("p_value", "p_holm")),
    ]
