"""Rankings of captioners by pairwise preferences, and measures of the model that prefers.

Win rates and strengths count images for which a pair of captions has an answer in both orders. Strengths are of Bradley
and Terry 1952, fitted by maximum likelihood as a logistic regression (Agresti 2002, Categorical Data Analysis, section
10.6) by Newton's method, with a tie as half a win for both. One tie is added to every pair of captioners, so that a
captioner that always wins has a finite strength. All intervals are over images, because the pairs of an image depend on
each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import expit

from captionlab.comparisons.schemas import (
    AGREEMENT,
    FIRST,
    FIRST_SHARE,
    OWN_FIRST,
    SECOND,
    STRENGTH,
    TIE,
    TIES,
    UNANSWERED,
    WIN_RATE,
)
from captionlab.statistics.intervals import (
    ANY,
    Ends,
    bootstrap_interval,
    bootstrap_share_interval,
    resampled_sums,
    share_interval,
)

Row = Mapping[str, Any]
Rows = list[dict[str, Any]]
# Wins that the tie that is added to every pair gives to each of both captioners.
ADDED = 0.5
# Largest change of the logarithm of a strength after which the fit ends, and most of its steps.
TOLERANCE, STEPS = 1e-8, 100
# A log-likelihood that falls by a smaller share is rounded.
ROUNDING = 1e-12


def strengths(wins: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Return the logarithms (..., k) of the strengths of Bradley and Terry that make wins (..., k, k) most probable.

    `wins[..., a, b]` is how often a won against b. The mean of the logarithms is 0. Newton's method begins at the
    logarithms `start` (k,), or at 0, and halves a step that lowers the likelihood, which has a single maximum. Raises
    ValueError if a group of captioners never loses against the others, whose strengths would be infinite (Ford 1957).
    """
    number = wins.shape[-1]
    beaten = np.linalg.matrix_power(np.eye(number) + (wins > 0), number - 1)  # also by way of others
    if not (beaten > 0).all():
        raise ValueError("strengths of captioners that never lose against others are infinite; add a tie to every pair")
    current = np.broadcast_to(np.zeros(number) if start is None else start, wins.shape[:-1])
    likelihood = _log_likelihood(wins, current)
    for _ in range(STEPS):
        step = _newton_step(wins, current)
        while (falls := _log_likelihood(wins, current + step) < likelihood - ROUNDING * np.abs(likelihood)).any():
            step = np.where(falls[..., None], step / 2, step)
        current = current + step
        likelihood = _log_likelihood(wins, current)
        if (np.abs(step) < TOLERANCE).all():
            return np.asarray(current - current.mean(axis=-1, keepdims=True))
    raise ValueError(f"strengths do not converge in {STEPS} steps")


def _log_likelihood(wins: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the log-likelihood (...) of wins (..., k, k), given the logarithms (..., k) of the strengths."""
    return -np.asarray((wins * np.logaddexp(0, logs[..., None, :] - logs[..., :, None])).sum(axis=(-2, -1)))


def _newton_step(wins: np.ndarray, logs: np.ndarray) -> np.ndarray:
    """Return the step (..., k) of Newton's method for the logarithms (..., k) of strengths.

    Only differences of logarithms count, so the information matrix is singular. 1 is added to all its entries, which
    makes it regular and the sum of the step 0.
    """
    loses = expit(logs[..., None, :] - logs[..., :, None])  # the probability that the row loses against the column
    surprise = wins * loses
    gradient = (surprise - np.swapaxes(surprise, -1, -2)).sum(axis=-1)
    variance = (wins + np.swapaxes(wins, -1, -2)) * loses * np.swapaxes(loses, -1, -2)
    information = np.eye(wins.shape[-1]) * variance.sum(axis=-1, keepdims=True) - variance + 1
    return np.asarray(np.linalg.solve(information, gradient[..., None])[..., 0])


def ranking_rows(preferences: Sequence[Row], captioners: Sequence[str], seed: int) -> Rows:
    """Return the rows of RANKINGS of each corpus, from rows of PREFERENCES between the captioners."""
    by_corpus: dict[str, list[Row]] = {}
    for row in preferences:
        by_corpus.setdefault(row["corpus"], []).append(row)
    return [
        {"corpus": corpus, "captioner": None, "against": None, **measured}
        for corpus, rows in by_corpus.items()
        for measured in _Tallies(rows, captioners, seed).rows()
    ]


class _Tallies:
    """The preferences on the images of a corpus, as numbers."""

    def __init__(self, rows: Sequence[Row], captioners: Sequence[str], seed: int):
        self.captioners, self.seed = captioners, seed
        self.pairs = [*combinations(range(len(captioners)), 2)]
        images = {image: place for place, image in enumerate(dict.fromkeys(row["image_id"] for row in rows))}
        places = {(captioners[a], captioners[b]): place for place, (a, b) in enumerate(self.pairs)}
        shape = (len(images), len(self.pairs), 2)  # the last for both orders
        # What the first captioner of a pair gets: 1, 1/2 or 0; NaN for no answer.
        self.scores = np.full(shape, np.nan)
        self.asked = np.zeros(shape, dtype=bool)
        self.first = np.zeros(shape, dtype=bool)
        for row in rows:
            at = images[row["image_id"]], places[row["captioner"], row["against"]], int(row["order"] != OWN_FIRST)
            self.asked[at], self.first[at] = row["asked"], row["answer"] == FIRST
            self.scores[at] = _score(row["answer"], row["order"])
        # Images for which a pair has answers in both orders, and the mean of both scores, 0 for other images.
        self.counted = np.isfinite(self.scores).all(axis=2)
        self.mean = np.where(self.counted, self.scores.mean(axis=2), 0.0)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield the measures of captioners, of pairs of captioners, and of the model."""
        # Scores and numbers of images of each pair: on all images, and on resamples of the images.
        values = np.concatenate([self.mean, self.counted], axis=1)
        sums, resampled = values.sum(axis=0), resampled_sums(values, self.seed)
        yield from self._strengths(sums, self._varied(resampled))
        yield from self._win_rates(sums, resampled)
        yield from self._shares()

    def _strengths(self, sums: np.ndarray, resampled: np.ndarray) -> Iterator[dict[str, Any]]:
        value = strengths(self._wins(sums))
        others = strengths(self._wins(resampled), start=value)
        for place, captioner in enumerate(self.captioners):
            involved = self.counted[:, [place in pair for pair in self.pairs]]
            images = int(involved.any(axis=1).sum())
            number = float(value[place]) if images else None
            ends = bootstrap_interval(number, others[:, place], ANY) if number is not None and images > 1 else None
            yield {"measure": STRENGTH, "captioner": captioner, **_numbers(number, ends, images, int(involved.sum()))}

    def _varied(self, resampled: np.ndarray) -> np.ndarray:
        """Return resamples in which pairs vary whose score is the same on all images.

        Other images may have another score. The share of them, of which `captionlab.statistics.intervals.unseen` is the
        upper end, is drawn for each resample from the beta distribution, and these images are all won or all lost.
        """
        random, varied = np.random.default_rng([self.seed, len(self.mean)]), resampled.copy()
        for place in range(len(self.pairs)):
            scores = self.mean[self.counted[:, place], place]
            if len(scores) > 1 and np.ptp(scores) == 0:
                others = random.beta(1, len(scores), len(varied))
                won = random.integers(0, 2, len(varied)) if 0 < scores[0] < 1 else 1 - scores[0]
                varied[:, place] += varied[:, len(self.pairs) + place] * others * (won - scores[0])
        return varied

    def _wins(self, sums: np.ndarray) -> np.ndarray:
        """Return wins (..., k, k) with the added tie, from scores and numbers of images of each pair (..., 2 pairs)."""
        number = len(self.captioners)
        wins = np.zeros((*sums.shape[:-1], number, number))
        for place, (a, b) in enumerate(self.pairs):
            won, images = sums[..., place], sums[..., len(self.pairs) + place]
            wins[..., a, b] = won + ADDED
            wins[..., b, a] = images - won + ADDED
        return wins

    def _win_rates(self, sums: np.ndarray, resampled: np.ndarray) -> Iterator[dict[str, Any]]:
        for place, (a, b) in enumerate(self.pairs):
            images = int(sums[len(self.pairs) + place])
            value = float(sums[place] / images) if images else None
            numbers = resampled[:, len(self.pairs) + place]
            rates = resampled[numbers > 0, place] / numbers[numbers > 0]
            ends = (
                bootstrap_share_interval(value, rates, images, (0.0, 1.0)) if value is not None and images > 1 else None
            )
            pair = {"captioner": self.captioners[a], "against": self.captioners[b]}
            yield {"measure": WIN_RATE, **pair, **_numbers(value, ends, images, images)}

    def _shares(self) -> Iterator[dict[str, Any]]:
        """Yield how the model answers when it is asked: identical captions do not count."""
        answered = self.asked & np.isfinite(self.scores)
        both = answered.all(axis=2)
        alike = both & (self.scores[..., 0] == self.scores[..., 1])
        tied = answered & (self.scores == 0.5)
        yield self._share(AGREEMENT, alike, both)
        yield self._share(FIRST_SHARE, self.first & answered, answered & ~tied)
        yield self._share(TIES, tied, answered)
        yield self._share(UNANSWERED, self.asked & ~answered, self.asked)

    def _share(self, measure: str, hits: np.ndarray, units: np.ndarray) -> dict[str, Any]:
        """Return a measure that is a share of units (images, ...), with Clopper and Pearson's interval over images."""
        counts = np.stack([hits.reshape(len(hits), -1).sum(axis=1), units.reshape(len(units), -1).sum(axis=1)], axis=1)
        counts = counts[counts[:, 1] > 0]
        images, total = len(counts), int(counts[:, 1].sum())
        if not images:
            return {"measure": measure, **_numbers(None, None, 0, 0)}
        value = float(counts[:, 0].sum() / total)
        resampled = resampled_sums(counts, self.seed)
        variance = float(np.var(resampled[:, 0] / resampled[:, 1]))
        ends = share_interval(value, variance, images, total) if images > 1 else None
        return {"measure": measure, **_numbers(value, ends, images, total)}


def _score(answer: str | None, order: str) -> float:
    """Return what an answer gives the first captioner of a pair: 1, 1/2 or 0; NaN for no answer."""
    if answer is None:
        return np.nan
    if answer == TIE:
        return 0.5
    return float(answer == (FIRST if order == OWN_FIRST else SECOND))


def _numbers(value: float | None, ends: Ends | None, images: int, n: int) -> dict[str, Any]:
    low, high = ends or (None, None)
    return {"value": value, "ci_low": low, "ci_high": high, "images": images, "n": n}
