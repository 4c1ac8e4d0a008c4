"""Values and differences of a run for the paper: agreement of metrics with each set of judgements, times 100.

Metrics have the paper's labels.
"""

from collections.abc import Iterable

from captionlab.evaluation.rows import row as measured_row
from captionlab.judgements.coefficients import ACCURACY, TAU_B, TAU_C
from captionlab.reporting.claims.reading import Rows
from captionlab.reporting.runs.values import Row

EXPERIMENT = "judgements"
# The coefficient that the paper prints for each set of judgements.
COEFFICIENTS = {
    "Flickr8k-Expert": TAU_C,
    "Flickr8k-CF": TAU_B,
    "Composite": TAU_C,
    "Pascal-50S": ACCURACY,
    "FOIL-1": ACCURACY,
    "FOIL-4": ACCURACY,
}
# Our metrics -> the paper's labels, in its order.
METRICS = {
    "BLEU@1": "BLEU-1", "BLEU@4": "BLEU-4", "ROUGE-L": "ROUGE-L", "METEOR": "METEOR", "CIDEr": "CIDEr",
    "SPICE": "SPICE", "CLIPScore": "CLIP-S", "RefCLIPScore": "RefCLIP-S",
}  # fmt: skip


def labelled(metric: str, scorer: str | None, encoder: str) -> str:
    """Return the paper's label of a metric.

    The name of the scorer is added unless the metric has no scorer or the scorer is `encoder`, which stands for the
    paper's.
    """
    label = METRICS.get(metric, metric)
    return label if scorer in (None, encoder) else f"{label} by {scorer}"


def value_rows(correlations: Iterable[Row], label: str, name: str, encoder: str) -> Rows:
    """Return rows of ROLE_VALUES from the rows of CORRELATIONS that have an interval.

    Subjects are metrics, the corpus is `name`, and the source is the category of the pairs.
    """
    return [
        _row(row, label, name, labelled(row["metric"], row["scorer"], encoder), row["value"])
        for row in correlations
        if row["coefficient"] == COEFFICIENTS[label] and row["ci_low"] is not None
    ]


def difference_rows(differences: Iterable[Row], label: str, name: str, encoder: str) -> Rows:
    """Return rows of ROLE_DIFFERENCES from the rows of DIFFERENCES that have an interval, in both directions.

    Differences within a category of pairs are left out.
    """
    rows = []
    for row in differences:
        of_paper = (row["coefficient"], row["category"]) == (COEFFICIENTS[label], None)
        if of_paper and row["ci_low"] is not None:
            first = labelled(row["metric"], row["scorer"], encoder)
            second = labelled(row["against"], row["against_scorer"], encoder)
            back = {**row, "ci_low": -row["ci_high"], "ci_high": -row["ci_low"]}
            rows.append(_row(row, label, name, first, row["difference"], second))
            rows.append(_row(back, label, name, second, -row["difference"], first))
    return rows


def _row(row: Row, label: str, name: str, subject: str, value: float, against: str | None = None) -> dict[str, object]:
    number = 100 * value, 100 * row["ci_low"], 100 * row["ci_high"]
    place = (name, EXPERIMENT, subject, COEFFICIENTS[label])
    return measured_row(*place, number, row["images"], source=row["category"], against=against)
