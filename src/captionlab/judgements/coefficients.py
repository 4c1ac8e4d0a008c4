"""Agreement of scores with human judgements: rank correlation with ratings, and accuracy on preferences.

Kendall 1945 (tau-b) and Stuart 1953 (tau-c), as in scipy.stats.kendalltau; Pearson's r; the share of preferences that a
metric agrees with. Every coefficient is also computed on resamples of the images, for its interval. Two metrics on the
same judgements are resampled alike, so the differences of their coefficients are paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from captionlab.statistics.intervals import resampled_sums

TAU_B, TAU_C, PEARSON, ACCURACY = "tau-b", "tau-c", "Pearson", "accuracy"
# Resamples of an undefined coefficient, and the reasons why a coefficient is undefined.
UNDEFINED = np.empty(0)
NONE, SAME_SCORES, SAME_RATINGS = "no judged caption has a score", "all scores are the same", "all ratings are the same"


@dataclass(frozen=True)
class Agreement:
    """A coefficient on `n` judgements of `images` images, with its values (resamples,) on resamples of the images.

    If the coefficient is undefined, `value` is None and `note` says why. The value of a resample without a defined
    coefficient is NaN.
    """

    coefficient: str
    images: int
    n: int
    value: float | None
    resampled: np.ndarray
    category: str | None = None
    note: str = ""
    # For an accuracy (images,): correct preferences of each image over the mean number of preferences per image.
    shares: np.ndarray | None = None


def rating_agreements(images: Sequence[str], scores: np.ndarray, ratings: np.ndarray, seed: int) -> list[Agreement]:
    """Return tau-b, tau-c and Pearson's r of scores (n,) and ratings (n,) of captions of images (n,).

    All three are undefined if all scores or all ratings are the same. The scale of tau-c, the smaller of the numbers of
    different scores and different ratings, is computed from all judgements and used in every resample. Memory grows
    with the square of the number of images.
    """
    names, image = np.unique(np.array(images, dtype=object), return_inverse=True)
    counts = len(names), len(scores)
    if reason := _undefined(scores, ratings):
        return [Agreement(name, *counts, None, UNDEFINED, note=reason) for name in (TAU_B, TAU_C, PEARSON)]
    # How often each image counts: first once each, then as often as in each resample.
    weights = np.concatenate([np.ones((1, len(names))), resampled_sums(np.eye(len(names)), seed)])
    with np.errstate(divide="ignore", invalid="ignore"):
        tau_b, tau_c = _taus(weights, image, scores, ratings)
        found = {TAU_B: tau_b, TAU_C: tau_c, PEARSON: _pearson(weights, image, scores, ratings)}
    return [Agreement(name, *counts, float(values[0]), values[1:]) for name, values in found.items()]


def preference_agreements(
    images: Sequence[str], preferred: np.ndarray, margins: np.ndarray, categories: Sequence[str | None], seed: int
) -> list[Agreement]:
    """Return the accuracy over all pairs of captions (n,), and over the pairs of each category if there are any.

    `margins`: how much higher the metric scores the first caption of a pair; `preferred`: how many more people chose
    the first caption. A pair counts half if people or the metric do not distinguish its captions. This is the mean of
    breaking ties at random, as in Hessel et al. 2021.
    """
    right = (1 + np.sign(preferred) * np.sign(margins)) / 2
    names, of = np.array(images, dtype=object), np.array(categories, dtype=object)
    found = [_accuracy(names, right, None, seed)]
    for category in dict.fromkeys(name for name in categories if name is not None):
        here = of == category
        found.append(_accuracy(names[here], right[here], category, seed))
    return found


def _undefined(scores: np.ndarray, ratings: np.ndarray) -> str:
    """Return why no coefficient is defined; empty if the coefficients are defined."""
    if not len(scores):
        return NONE
    return SAME_SCORES if np.ptp(scores) == 0 else SAME_RATINGS if np.ptp(ratings) == 0 else ""


def _taus(
    weights: np.ndarray, image: np.ndarray, scores: np.ndarray, ratings: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return tau-b and tau-c, each (m,), with images weighted by weights (m, images); image (n,) are indices of images.

    Concordant and tied pairs are counted once for all pairs of images. Copies of an image multiply these counts, so
    each resample is a quadratic form of its weights and needs no sorting.
    """
    x, y = (np.unique(values, return_inverse=True)[1] for values in (scores, ratings))
    excess = 2 * _quadratic(weights, _concordance(image, x, y))
    ordered = (weights @ np.bincount(image)) ** 2  # pairs in both orders, and pairs of a judgement with itself
    untied = [ordered - _quadratic(weights, _ties(image, levels)) for levels in (x, y)]
    levels = min(x.max(), y.max()) + 1
    return excess / np.sqrt(untied[0] * untied[1]), excess / (ordered * (levels - 1) / levels)


def _quadratic(weights: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return counts (m,) of pairs, from counts between images (images, images)."""
    return np.einsum("mi,mi->m", weights @ pairs, weights)


def _concordance(image: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return concordant minus discordant pairs between images: the row has the higher score, the column the lower.

    image, x, y (n,): indices of images, scores and ratings, from 0. Judgements are visited from the lowest score up.
    `below` keeps, for each rating, how many judgements with a lower score are rated lower minus how many are rated
    higher.
    """
    images, levels = image.max() + 1, np.arange(y.max() + 1)
    below = np.zeros((len(levels), images))
    found = np.zeros((images, images))
    order = np.argsort(x, kind="stable")
    for tied in np.split(order, np.flatnonzero(np.diff(x[order])) + 1):
        np.add.at(found, image[tied], below[y[tied]])
        np.add.at(below.T, image[tied], np.sign(levels - y[tied, None]))
    return found


def _ties(image: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return pairs between images with the same level, in both orders and including each judgement with itself."""
    counts = csr_array((np.ones(len(image)), (image, levels)))
    return np.asarray((counts @ counts.T).toarray())


def _pearson(weights: np.ndarray, image: np.ndarray, scores: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """Return Pearson's r (m,) with images weighted by weights (m, images)."""
    x, y = ((values - values.mean()) / values.std() for values in (scores, ratings))
    number = weights @ np.bincount(image)
    x_mean, y_mean, xx, yy, xy = (weights @ np.bincount(image, of) / number for of in (x, y, x * x, y * y, x * y))
    return (xy - x_mean * y_mean) / np.sqrt((xx - x_mean**2) * (yy - y_mean**2))


def _accuracy(names: np.ndarray, right: np.ndarray, category: str | None, seed: int) -> Agreement:
    images, image = np.unique(names, return_inverse=True)
    if not len(images):
        return Agreement(ACCURACY, 0, 0, None, UNDEFINED, category, NONE)
    sums = np.stack([np.bincount(image, right), np.bincount(image)], axis=1)
    resampled = resampled_sums(sums, seed)
    shares = sums[:, 0] * len(images) / len(right)
    value, resampled = float(right.mean()), resampled[:, 0] / resampled[:, 1]
    return Agreement(ACCURACY, len(images), len(right), value, resampled, category, shares=shares)
