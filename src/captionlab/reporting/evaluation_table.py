"""The general table of a run: every metric of every captioner on every corpus, whatever the papers."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.reporting.footnotes import protocol_note, run_notes
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.sheets import PROVENANCE

RECORD_COLUMNS = (
    "captioner", "corpus", "split", "decoding", "retriever", "candidates", "metric",
    "value", "ci_low", "ci_high", "n", "evaluation", *PROVENANCE,
)  # fmt: skip


def evaluation_table(summary: Sequence[Mapping[str, Any]], provenance: Mapping[str, Any]) -> Table:
    """All rows of the summary; for people a block for each corpus, with captioners as rows and metrics as columns."""
    judges = list(dict.fromkeys((r["retriever"], r["candidates"], r["metric"]) for r in summary))
    # Text metrics first, and the metrics of one retriever side by side.
    judges.sort(key=lambda judge: (judge[0] or "", judge[1] or ""))
    cells = {
        (r["corpus"], r["captioner"], r["evaluation"], (r["retriever"], r["candidates"], r["metric"])): r
        for r in summary
    }
    blocks = []
    for corpus, split in dict.fromkeys((r["corpus"], r["split"]) for r in summary):
        rows = []
        jobs = [(r["captioner"], r["evaluation"], r["decoding"]) for r in summary if r["corpus"] == corpus]
        for captioner, evaluation, decoding in dict.fromkeys(jobs):
            found = [cells.get((corpus, captioner, evaluation, judge)) for judge in judges]
            counts = sorted({r["n"] for r in found if r})
            row = [Cell(captioner, f"{evaluation}, {decoding}"), Cell(" to ".join(map(str, counts)))]
            rows.append(row + [_cell(measured) for measured in found])
        blocks.append(Block(rows, f"{corpus}, {split}"))
    columns = [Column("captioner", numeric=False), Column("n")]
    columns += [Column(metric, "", _group(retriever, candidates)) for retriever, candidates, metric in judges]
    records = [{**{key: provenance.get(key) for key in PROVENANCE}, **row} for row in summary]
    return Table(
        "evaluation",
        "Every metric of this run",
        "Each captioner on each corpus, with 95 % intervals. All metrics are times 100, the mean rank aside.",
        columns,
        blocks,
        records,
        RECORD_COLUMNS,
        [
            f"{MISSING}: not measured.",
            protocol_note({r["decoding"] for r in summary}, {r["candidates"] for r in summary}),
            *run_notes(provenance),
        ],
    )


def _group(retriever: str | None, candidates: str | None) -> str:
    if retriever is None:
        return "similarity to the references"
    return f"{retriever}, {candidates}" if candidates else f"alignment by {retriever}"


def _cell(row: Mapping[str, Any] | None) -> Cell:
    if row is None:
        return Cell(MISSING)
    places = 1 if row["retriever"] else 2
    return Cell(f"{row['value']:.{places}f}", f"[{row['ci_low']:.{places}f}, {row['ci_high']:.{places}f}]")
