"""General table of questions that captions answer, by kind of question, independent of papers."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.evaluation.metrics.questions.metric import ACCURACY, METRICS, UNANSWERED
from captionlab.reporting.runs.values import Row, trainings
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

RECORD_COLUMNS = (
    "questions", "captioner", "against", "corpus", "split", "decoding", "metric", "value", "ci_low", "ci_high", "seeds",
    "n", "evaluation", *PROVENANCE,
)  # fmt: skip
NOTES = (
    "An answerer reads the caption and the question, and sees neither the image nor its references. Images without a "
    "question are left out; n counts the others. Intervals are over images, and over trainings if there are several.",
    "Less its parent: the captioner's share minus the share of the captioner that it was finetuned from, on the same "
    "images.",
)
# What identifies a row of the table in a block, and a block.
_LINE, _BLOCK = ("captioner", "seeds", "decoding", "against"), ("retriever", "corpus", "split", "evaluation")


def questions_table(summary: Sequence[Row], comparisons: Sequence[Row], provenance: Mapping[str, Any]) -> Table:
    """Return the table: a block for each set of questions, corpus and evaluation, with a row for each captioner.

    Below a captioner stands its difference from its parent, if the evaluation has both. `summary` has rows of SUMMARY
    and `comparisons` rows of COMPARISONS; rows of other metrics are left out.
    """
    rows = [{**row, "against": None} for row in summary if _is_about_questions(row)]
    rows += [{**row, "value": row["difference"]} for row in comparisons if _is_about_questions(row)]
    kinds = sorted({row["metric"] for row in rows} - {*METRICS})
    metrics = [ACCURACY, *kinds, UNANSWERED]
    columns = [Column("captioner", numeric=False), Column("n"), Column("all", group="correct, %")]
    columns += [Column(kind.removeprefix(f"{ACCURACY}, "), group="correct, %") for kind in kinds]
    columns.append(Column("no answer, %"))
    blocks = []
    for place in dict.fromkeys(tuple(row[name] for name in _BLOCK) for row in rows):
        of_block = [row for row in rows if tuple(row[name] for name in _BLOCK) == place]
        captioners = list(dict.fromkeys(row["captioner"] for row in of_block))
        lines = list(dict.fromkeys(tuple(row[name] for name in _LINE) for row in of_block))
        lines.sort(key=lambda line: captioners.index(line[0]))
        found = {(*(row[name] for name in _LINE), row["metric"]): row for row in of_block}
        shown = [_line(line, {metric: found.get((*line, metric)) for metric in metrics}) for line in lines]
        name, corpus, split, evaluation = place
        blocks.append(Block(shown, f"{name}: {corpus}, {split}, {evaluation}"))
    records = [{**row, "questions": row["retriever"]} for row in rows]
    texts = ("questions", "Questions answered from captions", "Shares of questions about images, with 95 % intervals.")
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, NOTES, provenance)


def _is_about_questions(row: Row) -> bool:
    return row["metric"] in METRICS or row["metric"].startswith(f"{ACCURACY}, ")


def _line(line: tuple[Any, ...], found: Mapping[str, Row | None]) -> list[Cell]:
    """Return a row of the table: the captioner or its difference from its parent, n, and a cell for each metric."""
    captioner, seeds, decoding, against = line
    several = f", {trainings(seeds)}" if seeds > 1 else ""
    head = Cell(f"less {against}") if against else Cell(captioner, f"{decoding}{several}")
    number = next((row["n"] for row in found.values() if row), MISSING)
    form = "+.1f" if against else ".1f"
    cells = (
        interval_cell([row[end] for end in ("value", "ci_low", "ci_high")], form) if row else Cell(MISSING)
        for row in found.values()
    )
    return [head, Cell(str(number)), *cells]
