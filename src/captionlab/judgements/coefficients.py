"""How far scores agree with what people said: rank correlation with ratings, accuracy on preferences.

Kendall 1945 (tau-b) and Stuart 1953 (tau-c), as scipy.stats.kendalltau has them; Pearson's r; the share of preferences
that a metric has, too. Every coefficient also comes on resamples of the images, for its interval: two metrics on the
same judgements are resampled alike, so that the differences of their coefficients are paired.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from captionlab.intervals import resampled_sums

TAU_B, TAU_C, PEARSON, ACCURACY = "tau-b", "tau-c", "Pearson", "accuracy"
# Of a coefficient that is not defined, and why it is not.
UNDEFINED = np.empty(0)
NONE, SAME_SCORES, SAME_RATINGS = "no judged caption has a score", "all scores are the same", "all ratings are the same"


@dataclass(frozen=True)
class Agreement:
    """A coefficient on `n` judgements of so many images, with its values (resamples,) on resamples of the images.

    It is missing where it is not defined, as `note` says; a resample on which it is not is NaN.
    """

    coefficient: str
    images: int
    n: int
    value: float | None
    resampled: np.ndarray
    category: str | None = None
    note: str = ""
    # Of an accuracy: of each image the preferences that it has, over those of a mean image.
    shares: np.ndarray | None = None


def rating_agreements(images: Sequence[str], scores: np.ndarray, ratings: np.ndarray, seed: int) -> list[Agreement]:
    """Tau-b, tau-c and Pearson's r of scores (n,) and ratings (n,) of captions of images (n,).

    None is defined where all scores, or all ratings, are the same. The scale of tau-c, the smaller number of different
    scores or ratings, is that of the judgements in every resample. Memory goes with the square of the images.
    """
    names, image = np.unique(np.array(images, dtype=object), return_inverse=True)
    counts = len(names), len(scores)
    if reason := _undefined(scores, ratings):
        return [Agreement(name, *counts, None, UNDEFINED, note=reason) for name in (TAU_B, TAU_C, PEARSON)]
    # How often each image counts: all of them once, then in each resample.
    weights = np.concatenate([np.ones((1, len(names))), resampled_sums(np.eye(len(names)), seed)])
    with np.errstate(divide="ignore", invalid="ignore"):
        tau_b, tau_c = _taus(weights, image, scores, ratings)
        found = {TAU_B: tau_b, TAU_C: tau_c, PEARSON: _pearson(weights, image, scores, ratings)}
    return [Agreement(name, *counts, float(values[0]), values[1:]) for name, values in found.items()]


def preference_agreements(
    images: Sequence[str], preferred: np.ndarray, margins: np.ndarray, categories: Sequence[str | None], seed: int
) -> list[Agreement]:
    """Accuracy over all pairs of captions (n,), and over those of each category where there are any.

    `margins`: how much higher the metric scores the first caption of a pair; `preferred`: how many more people chose
    it. Where captions draw, for people or for the metric, a pair counts half: Hessel et al. 2021 break ties at random,
    of which this is the mean.
    """
    right = (1 + np.sign(preferred) * np.sign(margins)) / 2
    names, of = np.array(images, dtype=object), np.array(categories, dtype=object)
    found = [_accuracy(names, right, None, seed)]
    for category in dict.fromkeys(name for name in categories if name is not None):
        here = of == category
        found.append(_accuracy(names[here], right[here], category, seed))
    return found


def _undefined(scores: np.ndarray, ratings: np.ndarray) -> str:
    """Why nothing correlates; empty where something does."""
    if not len(scores):
        return NONE
    return SAME_SCORES if np.ptp(scores) == 0 else SAME_RATINGS if np.ptp(ratings) == 0 else ""


def _taus(
    weights: np.ndarray, image: np.ndarray, scores: np.ndarray, ratings: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Tau-b and tau-c, each (m,), where images count as often as weights (m, images) say; image (n,) is their index.

    Concordant and tied pairs are counted once for all pairs of images. Copies of an image multiply these counts, so
    each resample is a quadratic form of its weights, and nothing is sorted again.
    """
    x, y = (np.unique(values, return_inverse=True)[1] for values in (scores, ratings))
    excess = 2 * _quadratic(weights, _concordance(image, x, y))
    ordered = (weights @ np.bincount(image)) ** 2  # pairs in both orders, and of each with itself
    untied = [ordered - _quadratic(weights, _ties(image, levels)) for levels in (x, y)]
    levels = min(x.max(), y.max()) + 1
    return excess / np.sqrt(untied[0] * untied[1]), excess / (ordered * (levels - 1) / levels)


def _quadratic(weights: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Counts (m,) of pairs, from those between images (images, images)."""
    return np.einsum("mi,mi->m", weights @ pairs, weights)


def _concordance(image: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Concordant less discordant pairs between images: that of the higher score in the row, the other in the column.

    image, x, y (n,): indices of images, scores and ratings, from 0. From the lowest score up, it is kept how many
    judgements with a lower score have a rating below each, less those that have one above it.
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
    """Pairs between images that have the same level, in both orders and of each judgement with itself."""
    counts = csr_array((np.ones(len(image)), (image, levels)))
    return np.asarray((counts @ counts.T).toarray())


def _pearson(weights: np.ndarray, image: np.ndarray, scores: np.ndarray, ratings: np.ndarray) -> np.ndarray:
    """Pearson's r (m,) where images count as often as weights (m, images) say."""
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
