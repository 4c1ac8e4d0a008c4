"""What a run has of the paper: metrics by its labels, and how they agree with each set of judgements, times 100."""

from collections.abc import Iterable, Iterator

from captionlab.evaluation.rows import row as measured_row
from captionlab.judgements.coefficients import TAU_B, TAU_C
from captionlab.reporting.reading import Rows
from captionlab.reporting.runs import Row

EXPERIMENT = "judgements"
# The coefficient that the paper has for each set of judgements.
COEFFICIENTS = {"Flickr8k-Expert": TAU_C, "Flickr8k-CF": TAU_B}
# The paper's labels of metrics, in its order.
METRICS = {
    "BLEU@1": "BLEU-1", "BLEU@4": "BLEU-4", "ROUGE-L": "ROUGE-L", "METEOR": "METEOR", "CIDEr": "CIDEr",
    "SPICE": "SPICE", "CLIPScore": "CLIP-S", "RefCLIPScore": "RefCLIP-S",
}  # fmt: skip


def labelled(metric: str, scorer: str | None, encoder: str) -> str:
    """The paper's label of a metric; of one that is not by the `encoder` that stands for the paper's, by whom it is."""
    label = METRICS.get(metric, metric)
    return label if scorer in (None, encoder) else f"{label} by {scorer}"


def value_rows(correlations: Iterable[Row], label: str, name: str, encoder: str) -> Rows:
    """Rows of ROLE_VALUES from those of CORRELATIONS that have an interval; subjects are metrics, the corpus `name`."""
    return [
        _row(row, label, name, labelled(row["metric"], row["scorer"], encoder), row["value"])
        for row in _of_paper(correlations, label)
        if row["ci_low"] is not None
    ]


def difference_rows(differences: Iterable[Row], label: str, name: str, encoder: str) -> Rows:
    """Rows of ROLE_DIFFERENCES from those of DIFFERENCES that have an interval, every pair both ways round."""
    rows = []
    for row in _of_paper(differences, label):
        if row["ci_low"] is not None:
            first = labelled(row["metric"], row["scorer"], encoder)
            second = labelled(row["against"], row["against_scorer"], encoder)
            back = {**row, "ci_low": -row["ci_high"], "ci_high": -row["ci_low"]}
            rows.append(_row(row, label, name, first, row["difference"], second))
            rows.append(_row(back, label, name, second, -row["difference"], first))
    return rows


def _of_paper(rows: Iterable[Row], label: str) -> Iterator[Row]:
    """Those of the coefficient that the paper has."""
    return (row for row in rows if (row["coefficient"], row["category"]) == (COEFFICIENTS[label], None))


def _row(row: Row, label: str, name: str, subject: str, value: float, against: str | None = None) -> dict[str, object]:
    number = 100 * value, 100 * row["ci_low"], 100 * row["ci_high"]
    return measured_row(name, EXPERIMENT, subject, COEFFICIENTS[label], number, row["images"], against=against)
