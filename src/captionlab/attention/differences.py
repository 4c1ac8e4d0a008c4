"""Is attention spread otherwise after finetuning? The same images by two captioners, with a test."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from captionlab.intervals import bootstrap_interval, bootstrap_p_value, resampled_sums


@dataclass(frozen=True)
class Difference:
    """The mean of a statistic over images by two captioners, second minus first, with its 95 % interval."""

    first: float
    second: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float
    """two-sided, paired bootstrap over images"""
    n: int


def paired_difference(first: Mapping[str, float], second: Mapping[str, float], seed: int) -> Difference:
    """Compare values of the same images; ValueError when they are not of the same images, or there are none."""
    if first.keys() != second.keys() or not first:
        raise ValueError(f"the two captioners were not measured on the same images ({len(first)} and {len(second)})")
    values = np.array([[first[image], second[image]] for image in sorted(first)])
    means = resampled_sums(values, seed) / len(values)
    differences = means[:, 1] - means[:, 0]
    before, after = values.mean(0)
    # Where nothing attends at all, another image may have a weight of 1.
    far, difference = float(np.abs(values).max()) or 1.0, float(after - before)
    low, high = bootstrap_interval(difference, differences, len(values), (-far, far))
    return Difference(before, after, difference, low, high, bootstrap_p_value(differences), len(values))
