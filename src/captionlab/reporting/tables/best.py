"""Mark the best values of a column in a table."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from captionlab.evaluation.metrics.alignment import metric as alignment
from captionlab.evaluation.metrics.amber import metric as amber
from captionlab.evaluation.metrics.chair import metric as chair
from captionlab.evaluation.metrics.clipscore import metric as clipscore
from captionlab.evaluation.metrics.diversity import metric as diversity
from captionlab.evaluation.metrics.nlg import metric as nlg
from captionlab.evaluation.metrics.questions import metric as questions
from captionlab.evaluation.metrics.retrieval import metric as retrieval
from captionlab.evaluation.metrics.sacrebleu import metric as sacrebleu
from captionlab.evaluation.metrics.spice import metric as spice
from captionlab.evaluation.summary import NEITHER
from captionlab.reporting.runs.roles import FLUENCY_METRICS
from captionlab.reporting.tables.render import Cell

MODULES = (alignment, amber, chair, clipscore, diversity, nlg, questions, retrieval, sacrebleu, spice)
BETTER = {
    name: metric.better
    for metrics in (
        *(module.METRICS for module in MODULES),
        FLUENCY_METRICS,
    )
    for name, metric in metrics.items()
}


def with_best(
    rows: Sequence[Sequence[Cell]], column: int, metric: str | None, aside: Collection[int] = ()
) -> list[list[Cell]]:
    """Return the rows with the best cells of a column marked.

    Rows whose index is in `aside` are never marked. Cells that are printed alike are equally good. If all cells are
    printed alike (for example captioners whose BLEU-4 is 0.00), or if the metric is not in BETTER, no cell is marked.
    """
    better, marked = BETTER.get(metric or "", NEITHER), [list(row) for row in rows]
    found = {place: row[column].value for place, row in enumerate(rows) if place not in aside}
    values = {place: better * value for place, value in found.items() if value is not None}
    printed = {place: _printed(rows[place][column]) for place in values}
    if better and len({*printed.values()}) > 1:
        best = printed[max(values, key=values.__getitem__)]
        for place in values:
            if printed[place] == best:
                marked[place][column] = replace(rows[place][column], best=True)
    return marked


def _printed(cell: Cell) -> str:
    """Return the number of a cell as it is printed, without the text that follows it."""
    return cell.text.split()[0]
