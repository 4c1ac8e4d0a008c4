"""Tables of how far metrics agree with people, and how far apart two metrics are in that.

Each rating is an observation: a caption that three people judged counts three times with its one score, as in the usual
evaluation on Flickr8k (Hessel et al. 2021, CLIPScore, and flickr8k_example in its repository). A metric is held against
the judgements of captions that it scored, two metrics against those of captions that both scored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from captionlab.intervals import (
    bootstrap_interval,
    bootstrap_p_value,
    paired_share_interval,
    share_interval,
)
from captionlab.judgements.coefficients import Agreement, preference_agreements, rating_agreements

# A judged caption: its image, and its index among the captions of that image.
Key = tuple[str, int]
Row = Mapping[str, Any]
Rows = list[dict[str, Any]]
# How a metric agrees with some judgements.
Agreements = Callable[[Sequence[Row], "Scores", int], list[Agreement]]
ONE_IMAGE = "of one image, so without an interval"


@dataclass(frozen=True)
class Scores:
    """What a metric gave to captions; what it could not score is missing, or no finite number."""

    metric: str
    scorer: str | None  # who scores, where several may
    values: Mapping[Key, float]
    table: str = ""  # the name of the table of scores that has it

    def __getitem__(self, key: Key) -> float:
        return self.values.get(key, np.nan)


def agreement_rows(
    metrics: Sequence[Scores], ratings: Sequence[Row], preferences: Sequence[Row], seed: int
) -> tuple[Rows, Rows]:
    """Rows of CORRELATIONS of all metrics, and of DIFFERENCES of every two of them, the earlier less the later.

    `ratings` and `preferences` are rows of the tables of these names, of which one may be empty. Two metrics have no
    difference where a coefficient of one of them is not defined. Raises ValueError where two have one name.
    """
    _check_names(metrics)
    values: Rows = []
    differences: Rows = []
    for judgements, agreements in ((ratings, _with_ratings), (preferences, _with_preferences)):
        if judgements:
            judged = _Judged(judgements, agreements, seed)
            values += [row for scores in metrics for row in _value_rows(scores, judged)]
            differences += [row for pair in combinations(metrics, 2) for row in _difference_rows(*pair, judged)]
    return values, differences


def _check_names(metrics: Sequence[Scores]) -> None:
    """Raise ValueError for two metrics of one name and scorer, whose rows could not be told apart."""
    seen: dict[tuple[str, str | None], Scores] = {}
    for scores in metrics:
        if (other := seen.setdefault((scores.metric, scores.scorer), scores)) is not scores:
            both = (
                f"the tables {other.table!r} and {scores.table!r} both have a metric that is called {scores.metric!r}"
            )
            raise ValueError(f"{both}; give that of the section `metrics` another name in the config")


class _Judged:
    """Judgements, and how metrics agree with some of them; what was computed once is kept."""

    def __init__(self, rows: Sequence[Row], agreements: Agreements, seed: int):
        self.rows, self.agreements, self.seed = rows, agreements, seed
        self.found: dict[tuple[str, str | None, bytes], list[Agreement]] = {}

    def covered(self, *metrics: Scores) -> np.ndarray:
        """Whether all captions of each judgement (n,) have a score of every one of these metrics."""
        return np.array(
            [all(np.isfinite(scores[key]) for scores in metrics for key in _captions(row)) for row in self.rows]
        )

    def missing(self, scores: Scores) -> str:
        """How many captions a metric could not score, in words; empty where there are none."""
        captions = {key for row in self.rows for key in _captions(row)}
        without = sum(not np.isfinite(scores[key]) for key in captions)
        return f"{without} of {len(captions)} captions have no score and are left out" if without else ""

    def of(self, scores: Scores, covered: np.ndarray) -> list[Agreement]:
        """How a metric agrees with the judgements that are covered (n,)."""
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
    """The captions of a judgement: the one that was rated, or the two of a preference."""
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
    """What a coefficient is of."""
    return {name: getattr(found, name) for name in ("coefficient", "category", "images", "n")}


def _value_interval(found: Agreement) -> tuple[float | None, float | None]:
    """The ends of the interval over images; none of one image, or of what is not defined."""
    if found.value is None or found.images == 1:
        return None, None
    defined = found.resampled[np.isfinite(found.resampled)]
    if found.shares is not None:
        return share_interval(found.value, float(np.var(defined)), found.images, found.n)
    return bootstrap_interval(found.value, defined, (-1.0, 1.0))


def _paired(difference: float, ours: Agreement, theirs: Agreement) -> tuple[float | None, float | None, float | None]:
    """The ends of the interval of the difference of two coefficients on the same judgements, and its p-value."""
    if ours.images == 1:
        return None, None, None
    differences = (ours.resampled - theirs.resampled).round(9)  # what is smaller are the last bits of numbers
    defined = differences[np.isfinite(differences)]
    p_value = bootstrap_p_value(defined)
    if ours.shares is not None and theirs.shares is not None:
        return *paired_share_interval(ours.shares - theirs.shares), p_value
    return *bootstrap_interval(difference, defined, (-2.0, 2.0)), p_value
