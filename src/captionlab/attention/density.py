"""Kernel density estimates with their contours: Gaussian kernels, Scott's (1992) bandwidth, as Figure 4 is drawn."""

from dataclasses import dataclass

import numpy as np

# A grid reaches this many bandwidths beyond the points.
REACH = 3.0


@dataclass(frozen=True)
class Density:
    """A density on a grid of one or two dimensions."""

    axes: list[np.ndarray]
    """the places of the grid along each dimension"""
    values: np.ndarray
    """the density at each place of the grid, an axis for each dimension"""

    def enclosed(self) -> np.ndarray:
        """At each place of the grid, the share of the whole that is where the density is at least as high as there."""
        falling = np.argsort(-self.values, axis=None, kind="stable")
        shares = np.empty(self.values.size)
        shares[falling] = np.cumsum(self.values.ravel()[falling]) / self.values.sum()
        return shares.reshape(self.values.shape)


def estimate_density(points: np.ndarray, steps: int = 100, around: np.ndarray | None = None) -> Density:
    """The density of points (n,) or (n, 2) on a grid of `steps` places along each dimension.

    The grid covers `around`, by default the points themselves, so that two densities can share one. ValueError when the
    points are too few, or lie on one line.
    """
    points = np.asarray(points, np.float64)
    points = points[:, None] if points.ndim == 1 else points
    count, dimensions = points.shape
    if count <= dimensions:
        raise ValueError(f"a density in {dimensions} dimensions needs more than {dimensions} points, there are {count}")
    covariance = np.cov(points.T).reshape(dimensions, dimensions) * count ** (-2 / (dimensions + 4))
    if np.linalg.matrix_rank(covariance) < dimensions:
        raise ValueError(f"{count} points that are equal, or all on one line, have no density")
    bandwidths = np.sqrt(np.diag(covariance))
    covered = points if around is None else np.asarray(around, np.float64).reshape(-1, dimensions)
    low, high = covered.min(0) - REACH * bandwidths, covered.max(0) + REACH * bandwidths
    axes = [np.linspace(start, end, steps) for start, end in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimensions)
    # Distances after a change of coordinates in which the kernel is a standard normal one.
    whiten = np.linalg.inv(np.linalg.cholesky(covariance)).T
    grid, points = grid @ whiten, points @ whiten
    sums = np.zeros(len(grid))
    for point in points:
        sums += np.exp(-0.5 * ((grid - point) ** 2).sum(1))
    height = count * np.sqrt((2 * np.pi) ** dimensions * np.linalg.det(covariance))
    return Density(axes, (sums / height).reshape([steps] * dimensions))
