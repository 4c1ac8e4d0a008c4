"""General table of a run: every metric of every captioner on every corpus, independent of papers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from captionlab.evaluation.metrics.nlg.metric import METRICS as NLG_METRICS
from captionlab.evaluation.metrics.spice.metric import METRICS as SPICE_METRICS
from captionlab.reporting.runs.values import Row, link_of, trainings
from captionlab.reporting.tables.best import with_best
from captionlab.reporting.tables.footnotes import protocol_note
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

ENDS = ("value", "ci_low", "ci_high")
UNITS = "times 100 but for ranks, lengths, vocabulary and metrics that have a scale of their own"
HEADS = 2  # number of columns before the metrics
SIMILARITY, OTHERS, OF_REFERENCES = "similarity to the references", "other metrics", {*NLG_METRICS, *SPICE_METRICS}
TESTED = ("against", "p_value", "p_holm", "test")
RECORD_COLUMNS = (
    "captioner", "corpus", "split", "decoding", "retriever", "candidates", "metric",
    "value", "ci_low", "ci_high", "seeds", "n", "evaluation", *TESTED, *PROVENANCE,
)  # fmt: skip


def metrics_of(summary: Iterable[Row]) -> list[tuple[str | None, str | None, str]]:
    """Return retriever, candidates and name of each metric in rows of SUMMARY.

    Text metrics come first, and the metrics of a retriever stand side by side.
    """
    found = dict.fromkeys((row["retriever"], row["candidates"], row["metric"]) for row in summary)
    return sorted(found, key=lambda one: (one[0] or "", one[1] or "", not one[0] and one[2] not in OF_REFERENCES))


def evaluation_table(
    summary: Sequence[Row], comparisons: Sequence[Row], humans: Collection[str], provenance: Mapping[str, Any]
) -> Table:
    """Return the table of all rows of the summary: a block for each corpus, captioners as rows, metrics as columns.

    `humans` are the captioners whose captions were written by people. `comparisons` are rows of COMPARISONS, which are
    records only: `against` is the captioner whose value is subtracted.
    """
    scored_by = metrics_of(summary)
    places = ("corpus", "captioner", "seeds", "evaluation", "retriever", "candidates", "metric")
    cells = {tuple(r[name] for name in places): r for r in summary}
    blocks = []
    for corpus, split in dict.fromkeys((r["corpus"], r["split"]) for r in summary):
        rows: list[list[Cell]] = []
        of_corpus = [r for r in summary if r["corpus"] == corpus]
        jobs = dict.fromkeys((r["captioner"], r["seeds"], r["evaluation"], r["decoding"]) for r in of_corpus)
        for captioner, seeds, evaluation, decoding in jobs:
            found = [cells.get((corpus, captioner, seeds, evaluation, *one)) for one in scored_by]
            counts = sorted({r["n"] for r in found if r})
            several = f", {trainings(seeds)}" if seeds > 1 else ""
            heads = [Cell(captioner, f"{evaluation}, {decoding}{several}"), Cell(" to ".join(map(str, counts)))]
            numbers = (
                interval_cell([r[name] for name in ENDS], ".1f" if r["retriever"] else ".2f", link=link_of(r))
                if r
                else Cell(MISSING)
                for r in found
            )
            rows.append([*heads, *numbers])
        aside = [place for place, (captioner, *_) in enumerate(jobs) if captioner in humans]
        # Whether all rows of captioners have the same trainings, evaluation and decoding.
        alike = len({job[1:] for job in jobs if job[0] not in humans}) == 1
        for column, (*_, metric) in enumerate(scored_by if alike else (), start=HEADS):
            rows = with_best(rows, column, metric, aside)
        blocks.append(Block(rows, f"{corpus}, {split}"))
    columns = [Column("captioner", numeric=False), Column("n")]
    for retriever, candidates, metric in scored_by:
        alone = SIMILARITY if metric in OF_REFERENCES else OTHERS
        columns.append(Column(metric, "", ", ".join(filter(None, (retriever, candidates))) or alone))
    description = f"Each captioner on each corpus, with 95 % intervals. Values are {UNITS}."
    texts = ("evaluation", "Every metric of this run", description)
    protocol = protocol_note({r["decoding"] for r in summary}, {r["candidates"] for r in summary})
    notes = [f"{MISSING}: not measured.", protocol]
    records = [{**row, **dict.fromkeys(TESTED)} for row in summary]
    records += [{**row, "value": row["difference"]} for row in comparisons]
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, notes, provenance)
