"""Values and differences of a run for the paper: measures on foils, times 100, with the paper's labels of models."""

from collections.abc import Iterable, Mapping

from captionlab.evaluation.rows import row as measured_row
from captionlab.judgements.language import LOG_PROBABILITY
from captionlab.reporting.claims.reading import Rows
from captionlab.reporting.runs.values import Row

# Measures of models, and differences of a model between two pieces: the subject is a piece, the source the model.
MODELS, PIECES = "foils", "pieces"
# Row of the language model that sees no image. The paper has GPT-1 and GPT-2 in its place.
LANGUAGE_MODEL = "language model"


def labelled(metric: str, scorer: str | None, scorers: Mapping[str, str]) -> str:
    """Return the label of a metric: of the model that a scorer plays, else of the metric with its scorer.

    `scorers` maps labels of models to scorers.
    """
    if metric == LOG_PROBABILITY and scorer is None:
        return LANGUAGE_MODEL
    played = {name: label for label, name in sorted(scorers.items(), reverse=True)}
    if metric == "score" and scorer is not None:
        return played.get(scorer, scorer)
    return metric if scorer is None else f"{metric} by {scorer}"


def value_rows(measures: Iterable[Row], name: str, scorers: Mapping[str, str]) -> Rows:
    """Return rows of ROLE_VALUES from the rows of FOIL_MEASURES that have an interval.

    Subjects are models, the corpus is `name`, and the source is the category; None for the mean over categories.
    """
    return [
        _row(row, name, MODELS, _model(row, scorers), row["value"], row["category"])
        for row in measures
        if row["ci_low"] is not None
    ]


def difference_rows(differences: Iterable[Row], name: str, scorers: Mapping[str, str]) -> Rows:
    """Return rows of ROLE_DIFFERENCES from the rows of FOIL_DIFFERENCES that have an interval, in both directions."""
    rows = []
    for row in differences:
        if row["ci_low"] is None:
            continue
        first, second = _model(row, scorers), labelled(row["against"], row["against_scorer"], scorers)
        experiment, sides, source = MODELS, (first, second), row["category"]
        if row["category"] != row["against_category"]:
            experiment, sides, source = PIECES, (row["category"], row["against_category"]), first
        back = {**row, "ci_low": -row["ci_high"], "ci_high": -row["ci_low"]}
        rows.append(_row(row, name, experiment, sides[0], row["difference"], source, sides[1]))
        rows.append(_row(back, name, experiment, sides[1], -row["difference"], source, sides[0]))
    return rows


def _model(row: Row, scorers: Mapping[str, str]) -> str:
    return labelled(row["metric"], row["scorer"], scorers)


def _row(
    row: Row, name: str, experiment: str, subject: str, value: float, source: str | None, against: str | None = None
) -> dict[str, object]:
    number = 100 * value, 100 * row["ci_low"], 100 * row["ci_high"]
    place = (name, experiment, subject, row["measure"])
    return measured_row(*place, number, row["images"], source=source, against=against)
