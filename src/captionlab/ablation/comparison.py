"""Captions with and without the objects that tell a scene (Cafagna et al. 2022, §6.2, Figures 6, 7 and 12)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from captionlab.evaluation.intervals import percentile_interval, resampled_sums


@dataclass(frozen=True)
class Mean:
    """The mean of a number over samples, with its 95 % interval and the standard deviation of the samples."""

    value: float
    ci_low: float
    ci_high: float
    deviation: float
    n: int


def mean_over_images(values: Sequence[float], images: Sequence[str], seed: int) -> Mean:
    """The mean of a value per sample; the interval resamples images, as an image may be several samples. ValueError for
    none."""
    if not values:
        raise ValueError("there is no sample to average over")
    rows = {image: row for row, image in enumerate(dict.fromkeys(images))}
    sums = np.zeros((len(rows), 2))
    for value, image in zip(values, images, strict=True):
        sums[rows[image]] += value, 1
    resampled = resampled_sums(sums, seed)
    low, high = percentile_interval(resampled[:, 0] / resampled[:, 1])
    return Mean(float(np.mean(values)), low, high, float(np.std(values)), len(values))


def changed(before: str, after: str) -> bool:
    """Whether a caption is another one: white space and case do not count."""
    return before.casefold().split() != after.casefold().split()


def z_test(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Of two independent samples: z, the difference of their means in standard errors, and its two-sided p-value.

    ValueError for less than two values in one of them, or when all values of both are equal.
    """
    if min(len(first), len(second)) < 2:
        raise ValueError(f"a z-test needs at least 2 values in each sample, there are {len(first)} and {len(second)}")
    error = math.sqrt(sum(float(np.var(values, ddof=1)) / len(values) for values in (first, second)))
    if not error:
        raise ValueError("a z-test needs values that differ")
    z = float(np.mean(first) - np.mean(second)) / error
    return z, math.erfc(abs(z) / math.sqrt(2))
