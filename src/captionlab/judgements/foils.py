"""Tables of how well metrics tell captions from foils, by category, and of differences between metrics and categories.

A metric is measured on the pairs whose caption and foil it scored. Two metrics are compared on the pairs that both
scored. The units that intervals resample are images, or pairs of images that share their captions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from captionlab.judgements.correlation import ONE_IMAGE, Row, Rows, Scores
from captionlab.judgements.foil_measures import (
    ACCURACY,
    AUROC,
    THRESHOLDED,
    Scored,
    pair_measures,
    tied_measures,
)
from captionlab.statistics.intervals import bootstrap_share_interval, resampled_sums, share_interval

NO_PROBABILITY = "the score is no probability of a match, so it has no threshold"
Place = tuple[str | None, str]  # category, None for all, and measure


@dataclass(frozen=True)
class Measured:
    """A measure on `n` pairs of `images` units: its value and its values on resamples, (1 + resamples,)."""

    values: np.ndarray
    images: int
    n: int
    is_share: bool  # whether the value is the share of n alike pairs


class Foils:
    """Pairs of a caption and a foil, and the measures of metrics on them. Computed measures are kept."""

    def __init__(self, preferences: Sequence[Row], thresholds: Mapping[str, float], seed: int):
        """Take rows of PREFERENCES whose second caption is the foil.

        `thresholds` has the score of the probability 1/2 by scorer; scorers whose scores are no probabilities are not
        in it.
        """
        self.rows, self.thresholds = preferences, thresholds
        self.category = np.array([row["category"] for row in preferences], dtype=object)
        names = [row["tie"] or row["image_id"] for row in preferences]
        units, self.unit = np.unique(np.array(names, dtype=object), return_inverse=True)
        ties = {row["tie"]: -1 for row in preferences if row["tie"] is None}
        for row in preferences:
            ties.setdefault(row["tie"], len(ties))
        self.tie = np.array([ties[row["tie"]] for row in preferences])
        # How often each unit counts: once each, then as often as in each resample.
        self.weights = np.concatenate([np.ones((1, len(units))), resampled_sums(np.eye(len(units)), seed)])
        self._kept: dict[tuple[str, str | None, bytes], dict[Place, Measured]] = {}

    def categories(self) -> list[str | None]:
        """Return the categories in the order of the rows."""
        return list(dict.fromkeys(self.category))

    def scores(self, scores: Scores) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of the captions and of the foils, each (n,); NaN for a missing score."""
        found = [[scores[row["image_id"], row[name]] for row in self.rows] for name in ("caption_index", "other_index")]
        return np.array(found[0], dtype=np.float64), np.array(found[1], dtype=np.float64)

    def covered(self, scores: Scores) -> np.ndarray:
        """Return whether caption and foil of each pair (n,) have a finite score."""
        captions, foils = self.scores(scores)
        return np.isfinite(captions) & np.isfinite(foils)

    def measures(self, scores: Scores, covered: np.ndarray) -> dict[Place, Measured]:
        """Return the measures of a metric on the covered pairs (n,), by category and over all categories.

        There is no mean over categories if the metric covers no pair of one of them.
        """
        place = scores.metric, scores.scorer, covered.tobytes()
        if place not in self._kept:
            self._kept[place] = dict(self._measured(scores, covered))
        return self._kept[place]

    def _measured(self, scores: Scores, covered: np.ndarray) -> Iterator[tuple[Place, Measured]]:
        captions, foils = self.scores(scores)
        every = Scored(captions, foils, self.unit, self.tie)
        threshold = self.thresholds.get(scores.scorer) if scores.scorer else None
        by_measure: dict[str, list[Measured]] = {}
        for category in self.categories():
            here = every.restricted(covered & (self.category == category))
            for measure, found in self._of_pairs(here, threshold):
                by_measure.setdefault(measure, []).append(found)
                if category is not None:
                    yield (category, measure), found
            if category is not None:
                yield from (((category, measure), found) for measure, found in self._of_tied(here))
        for measure, several in by_measure.items():
            if len(several) < len(self.categories()):  # a mean over fewer categories is another number
                continue
            yield (None, measure), _mean(several, len(np.unique(self.unit[covered])))
        yield from (((None, measure), found) for measure, found in self._of_tied(every.restricted(covered)))

    def _of_pairs(self, scored: Scored, threshold: float | None) -> Iterator[tuple[str, Measured]]:
        images, pairs = len(np.unique(scored.unit)), len(scored.unit)
        if pairs:
            for measure, values in pair_measures(scored, self.weights, threshold).items():
                yield measure, Measured(values, images, pairs, measure not in (AUROC, ACCURACY))

    def _of_tied(self, scored: Scored) -> Iterator[tuple[str, Measured]]:
        measures, pairs = tied_measures(scored, self.weights)
        if pairs:
            yield from ((measure, Measured(values, pairs, pairs, True)) for measure, values in measures.items())


def foil_rows(
    metrics: Sequence[Scores], preferences: Sequence[Row], thresholds: Mapping[str, float], seed: int
) -> tuple[Rows, Rows]:
    """Return the rows of FOIL_MEASURES of all metrics, and of FOIL_DIFFERENCES.

    Differences are between every two metrics on a category, and between every two categories for a metric, earlier
    minus later. `preferences` are rows of PREFERENCES whose second caption is the foil; `thresholds` has the score of
    the probability 1/2 of each scorer whose scores are probabilities.
    """
    foils = Foils(preferences, thresholds, seed)
    values = [row for scores in metrics for row in _value_rows(scores, foils)]
    differences = [row for pair in combinations(metrics, 2) for row in _between_metrics(*pair, foils)]
    differences += [row for scores in metrics for row in _between_categories(scores, foils)]
    return values, differences


def _mean(several: Sequence[Measured], images: int) -> Measured:
    """Return the mean of a measure over categories, each with the same weight; the only category as it is.

    `images` is the number of units of all categories together.
    """
    if len(several) == 1:
        return several[0]
    values = np.mean([found.values for found in several], axis=0)
    return Measured(values, images, sum(found.n for found in several), False)


def _who(scores: Scores) -> dict[str, Any]:
    return {"metric": scores.metric, "scorer": scores.scorer}


def _value_rows(scores: Scores, foils: Foils) -> Iterator[dict[str, Any]]:
    covered = foils.covered(scores)
    left_out = int((~covered).sum())
    missing = f"{left_out} of {len(covered)} pairs have a text without a score and are left out" if left_out else ""
    found = foils.measures(scores, covered)
    for (category, measure), measured in found.items():
        low, high = _interval(measured)
        note = "; ".join(filter(None, (missing, ONE_IMAGE if measured.images == 1 else "")))
        number = {"value": float(measured.values[0]), "ci_low": low, "ci_high": high, "note": note or None}
        yield {**_who(scores), "category": category, "measure": measure, **number, **_counts(measured)}
    if scores.scorer not in foils.thresholds:
        nothing = {"value": None, "ci_low": None, "ci_high": None, "images": 0, "n": 0, "note": NO_PROBABILITY}
        for category in dict.fromkeys(category for category, _ in found):
            yield from ({**_who(scores), "category": category, "measure": name, **nothing} for name in THRESHOLDED)


def _between_metrics(scores: Scores, other: Scores, foils: Foils) -> Iterator[dict[str, Any]]:
    covered = foils.covered(scores) & foils.covered(other)
    ours, theirs = foils.measures(scores, covered), foils.measures(other, covered)
    for place, measured in ours.items():
        if place in theirs:
            against = {"against": other.metric, "against_scorer": other.scorer, "against_category": place[0]}
            yield _difference_row(scores, place, measured, theirs[place], against)


def _between_categories(scores: Scores, foils: Foils) -> Iterator[dict[str, Any]]:
    found = foils.measures(scores, foils.covered(scores))
    of_categories = [(place, measured) for place, measured in found.items() if place[0] is not None]
    for (place, measured), ((category, measure), other) in combinations(of_categories, 2):
        if measure == place[1]:
            against = {"against": scores.metric, "against_scorer": scores.scorer, "against_category": category}
            yield _difference_row(scores, place, measured, other, against)


def _difference_row(
    scores: Scores, place: Place, ours: Measured, theirs: Measured, against: Mapping[str, Any]
) -> dict[str, Any]:
    values = ours.values - theirs.values
    images, pairs = min(ours.images, theirs.images), min(ours.n, theirs.n)
    low, high = None, None
    if images > 1:
        low, high = bootstrap_share_interval(float(values[0]), _defined(values), images, (-1.0, 1.0))
    number = {"difference": float(values[0]), "ci_low": low, "ci_high": high, "images": images, "n": pairs}
    return {**_who(scores), "category": place[0], "measure": place[1], **against, **number}


def _interval(measured: Measured) -> tuple[float | None, float | None]:
    """Return the ends of the interval over units; None for one unit."""
    if measured.images == 1:
        return None, None
    value, resampled = float(measured.values[0]), _defined(measured.values)
    if measured.is_share:
        return share_interval(value, float(np.var(resampled)), measured.images, measured.n)
    return bootstrap_share_interval(value, resampled, measured.images, (0.0, 1.0))


def _defined(values: np.ndarray) -> np.ndarray:
    """Return the resampled values that are defined: a resample may have no image of a category."""
    return values[1:][np.isfinite(values[1:])]


def _counts(measured: Measured) -> dict[str, int]:
    return {"images": measured.images, "n": measured.n}
