"""Tables of how well metrics agree with human judgements, and of differences in agreement between two metrics.

Each rating is an observation: a caption with three ratings counts three times with its single score, as in the usual
evaluation on Flickr8k (Hessel et al. 2021, CLIPScore, and flickr8k_example in its repository). A metric is compared
with the judgements of captions that it scored. Two metrics are compared on the judgements of captions that both scored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from captionlab.judgements.coefficients import Agreement, preference_agreements, rating_agreements
from captionlab.statistics.intervals import (
    bootstrap_interval,
    bootstrap_t_p_value,
    paired_share_interval,
    share_interval,
)
from captionlab.statistics.multiple import holm

# The key of a judged caption: its image, and its index among the captions of the image.
Key = tuple[str, int]
Row = Mapping[str, Any]
Rows = list[dict[str, Any]]
# A function that returns the agreements of a metric with some judgements.
Agreements = Callable[[Sequence[Row], "Scores", int], list[Agreement]]
ONE_IMAGE = "of one image, so without an interval"


@dataclass(frozen=True)
class Scores:
    """Scores of captions by a metric. A caption that the metric could not score is missing or not finite."""

    metric: str
    scorer: str | None  # the model that scores, if the metric has one
    values: Mapping[Key, float]
    table: str = ""  # name of the table of scores with the metric

    def __getitem__(self, key: Key) -> float:
        return self.values.get(key, np.nan)


def agreement_rows(
    metrics: Sequence[Scores], ratings: Sequence[Row], preferences: Sequence[Row], seed: int
) -> tuple[Rows, Rows]:
    """Return the rows of CORRELATIONS of all metrics, and of DIFFERENCES of every pair of metrics, earlier minus later.

    P-values are corrected for all pairs of metrics of a coefficient and category. `ratings` and `preferences` are rows
    of the tables RATINGS and PREFERENCES; one may be empty. Two metrics have no difference in a coefficient that is
    undefined for one metric. Raises ValueError if two metrics have the same name and scorer.
    """
    _check_names(metrics)
    values: Rows = []
    differences: Rows = []
    for judgements, agreements in ((ratings, _with_ratings), (preferences, _with_preferences)):
        if judgements:
            judged = _Judged(judgements, agreements, seed)
            values += [row for scores in metrics for row in _value_rows(scores, judged)]
            differences += [row for pair in combinations(metrics, 2) for row in _difference_rows(*pair, judged)]
    return values, _corrected(differences)


def rating_rows(metrics: Sequence[Scores], ratings: Sequence[Row], seed: int) -> Rows:
    """Return the rows of CORRELATIONS of all metrics with rows of RATINGS."""
    judged = _Judged(ratings, _with_ratings, seed)
    return [row for scores in metrics for row in _value_rows(scores, judged)]


def _corrected(differences: Rows) -> Rows:
    """Return rows of DIFFERENCES with p-values that are corrected for the rows of the same coefficient and category."""
    families: dict[tuple[str, str | None], list[int]] = {}
    for number, row in enumerate(differences):
        families.setdefault((row["coefficient"], row["category"]), []).append(number)
    corrected: dict[int, float | None] = {}
    for numbers in families.values():
        corrected |= zip(numbers, holm([differences[number]["p_value"] for number in numbers]), strict=True)
    return [{**row, "p_holm": corrected[number]} for number, row in enumerate(differences)]


def _check_names(metrics: Sequence[Scores]) -> None:
    """Raise ValueError if two metrics have the same name and scorer, because their rows could not be told apart."""
    seen: dict[tuple[str, str | None], Scores] = {}
    for scores in metrics:
        if (other := seen.setdefault((scores.metric, scores.scorer), scores)) is not scores:
            both = (
                f"the tables {other.table!r} and {scores.table!r} both have a metric that is called {scores.metric!r}"
            )
            raise ValueError(f"{both}; rename the metric in the section `metrics` or `judges` of the config")


class _Judged:
    """Judgements, and the agreements of metrics with subsets of the judgements. Computed agreements are kept."""

    def __init__(self, rows: Sequence[Row], agreements: Agreements, seed: int):
        self.rows, self.agreements, self.seed = rows, agreements, seed
        self.found: dict[tuple[str, str | None, bytes], list[Agreement]] = {}

    def covered(self, *metrics: Scores) -> np.ndarray:
        """Return whether all captions of each judgement (n,) have a finite score by every one of the metrics."""
        return np.array(
            [all(np.isfinite(scores[key]) for scores in metrics for key in _captions(row)) for row in self.rows]
        )

    def missing(self, scores: Scores) -> str:
        """Return how many captions a metric could not score, in words; empty if it scored all."""
        captions = {key for row in self.rows for key in _captions(row)}
        without = sum(not np.isfinite(scores[key]) for key in captions)
        return f"{without} of {len(captions)} captions have no score and are left out" if without else ""

    def of(self, scores: Scores, covered: np.ndarray) -> list[Agreement]:
        """Return the agreements of a metric with the judgements that are covered (n,)."""
        place = scores.metric, scores.scorer, covered.tobytes()
        if place not in self.found:
            rows = [row for row, here in zip(self.rows, covered, strict=True) if here]
            self.found[place] = self.agreements(rows, scores, self.seed)
        return self.found[place]


def _with_ratings(rows: Sequence[Row], scores: Scores, seed: int) -> list[Agreement]:
    values = np.array([scores[key] for row in rows for key in _captions(row)])
    return rating_agreements([row["image_id"] for row in rows], values, np.array([row["rating"] for row in rows]), seed)


def _with_preferences(rows: Sequence[Row], scores: Scores, seed: int) -> list[Agreement]:
    values = np.array([[scores[key] for key in _captions(row)] for row in rows]).reshape(-1, 2)
    return preference_agreements(
        [row["image_id"] for row in rows],
        np.array([row["votes"] - row["other_votes"] for row in rows]),
        values[:, 0] - values[:, 1],
        [row["category"] for row in rows],
        seed,
    )


def _captions(row: Row) -> list[Key]:
    """Return the captions of a judgement: the caption that was rated, or both captions of a preference."""
    indices = [row[name] for name in ("caption_index", "other_index") if name in row]
    return [(row["image_id"], index) for index in indices]


def _value_rows(scores: Scores, judged: _Judged) -> Iterator[dict[str, Any]]:
    missing = judged.missing(scores)
    for found in judged.of(scores, judged.covered(scores)):
        low, high = _value_interval(found)
        note = "; ".join(filter(None, (missing, found.note, ONE_IMAGE if found.images == 1 else "")))
        number = {"value": found.value, "ci_low": low, "ci_high": high, "note": note or None}
        yield {"metric": scores.metric, "scorer": scores.scorer, **_place(found), **number}


def _difference_rows(scores: Scores, other: Scores, judged: _Judged) -> Iterator[dict[str, Any]]:
    covered = judged.covered(scores, other)
    for ours, theirs in zip(judged.of(scores, covered), judged.of(other, covered), strict=True):
        if ours.value is None or theirs.value is None:
            continue
        difference = ours.value - theirs.value
        low, high, p_value = _paired(difference, ours, theirs)
        number = {"difference": difference, "ci_low": low, "ci_high": high, "p_value": p_value}
        against = {"against": other.metric, "against_scorer": other.scorer}
        yield {"metric": scores.metric, "scorer": scores.scorer, **against, **_place(ours), **number}


def _place(found: Agreement) -> dict[str, Any]:
    """Return the columns that identify a coefficient, with its numbers of images and judgements."""
    return {name: getattr(found, name) for name in ("coefficient", "category", "images", "n")}


def _value_interval(found: Agreement) -> tuple[float | None, float | None]:
    """Return the ends of the interval over images; None with one image or an undefined coefficient."""
    if found.value is None or found.images == 1:
        return None, None
    defined = found.resampled[np.isfinite(found.resampled)]
    if found.shares is not None:
        return share_interval(found.value, float(np.var(defined)), found.images, found.n)
    return bootstrap_interval(found.value, defined, (-1.0, 1.0))


def _paired(difference: float, ours: Agreement, theirs: Agreement) -> tuple[float | None, float | None, float | None]:
    """Return the ends of the interval of the difference of two coefficients on the same judgements, and its p-value.

    All three are None with one image.
    """
    if ours.images == 1:
        return None, None, None
    differences = (ours.resampled - theirs.resampled).round(9)  # smaller differences are rounding errors
    defined = differences[np.isfinite(differences)]
    p_value = bootstrap_t_p_value(difference, defined, ours.images)
    if ours.shares is not None and theirs.shares is not None:
        return *paired_share_interval(ours.shares - theirs.shares), p_value
    return *bootstrap_interval(difference, defined, (-2.0, 2.0)), p_value
