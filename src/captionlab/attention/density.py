"""Distribution of attention: densities as in Figure 4 (Gaussian kernels, Scott 1992), and tests of differences."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from captionlab.statistics.intervals import ANY, bootstrap_interval, bootstrap_p_value, resampled_sums

REACH = 3.0  # a grid reaches this many bandwidths beyond the points


@dataclass(frozen=True)
class Difference:
    """Difference between two captioners in a mean over images, second minus first, with its 95 % interval."""

    first: float
    second: float
    difference: float
    ci_low: float
    ci_high: float
    p_value: float  # two-sided, paired bootstrap over images
    n: int


@dataclass(frozen=True)
class Density:
    """Density on a two-dimensional grid, with the coordinates along each axis."""

    axes: list[np.ndarray]
    values: np.ndarray

    def enclosed(self) -> np.ndarray:
        """Return for each grid point the share of the total density at points that are at least as dense."""
        falling = np.argsort(-self.values, axis=None, kind="stable")
        shares = np.empty(self.values.size)
        shares[falling] = np.cumsum(self.values.ravel()[falling]) / self.values.sum()
        return shares.reshape(self.values.shape)


def estimate_density(points: np.ndarray, steps: int, around: np.ndarray) -> Density:
    """Return the density of points (n, 2) on a grid of `steps` x `steps` that covers the points `around` (m, 2).

    The grid extends REACH bandwidths beyond `around`. Raises ValueError for less than 3 points, and for points that are
    equal or on one line.
    """
    from scipy.stats import gaussian_kde

    points = np.asarray(points, np.float64)
    if len(points) <= 2:
        raise ValueError(f"a density in 2 dimensions needs more than 2 points, there are {len(points)}")
    if np.linalg.matrix_rank(np.cov(points.T)) < 2:
        raise ValueError(f"{len(points)} points that are equal, or all on one line, have no density")
    kernels = gaussian_kde(points.T)
    reach = REACH * np.sqrt(np.diag(kernels.covariance))
    axes = [np.linspace(*ends, steps) for ends in zip(around.min(0) - reach, around.max(0) + reach, strict=True)]
    grid = np.stack([places.ravel() for places in np.meshgrid(*axes, indexing="ij")])
    return Density(axes, kernels(grid).reshape(steps, steps))


def paired_difference(first: Mapping[str, float], second: Mapping[str, float], seed: int) -> Difference:
    """Return the difference between two captioners in a value per image.

    Raises ValueError if the values are not of the same images, or if there are none.
    """
    if first.keys() != second.keys() or not first:
        raise ValueError(f"the two captioners were not measured on the same images ({len(first)} and {len(second)})")
    values = np.array([[first[image], second[image]] for image in sorted(first)])
    means = resampled_sums(values, seed) / len(values)
    differences = means[:, 1] - means[:, 0]
    before, after = values.mean(0)
    difference = float(after - before)
    low, high = bootstrap_interval(difference, differences, ANY)
    return Difference(before, after, difference, low, high, bootstrap_p_value(differences), len(values))
