"""95 % intervals of means and shares, as the workflow computes them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from captionlab.statistics.intervals import ANY, bootstrap_interval, resampled_sums, share_interval


class Interval(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    """mean of the values, or share of True"""
    low: float
    """lower end of the interval"""
    high: float
    """upper end of the interval"""
    n: int
    """number of values, or of images if several values belong to an image"""


def intervals(values: ArrayLike, images: Sequence[object] | None = None, *, seed: int = 1) -> Interval:
    """Return the mean of `values` (n,) with its 95 % interval, or the share of True if they are booleans.

    The interval of a mean is the percentile interval of 2000 bootstrap samples, which are drawn with `seed`. The
    interval of a share is Clopper and Pearson's, and is never of width 0. If several values belong to an image, give
    the image of each value in `images` (n,): values of an image are not independent, so images are resampled. Raises
    ValueError if there are no values, or if a value is not finite.
    """
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"values have the shape {array.shape}; an interval needs a list of at least one number")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"values are {array.dtype} and must be numbers or booleans; leave out missing values")
    keys = np.arange(len(array)).astype(str) if images is None else np.array([str(image) for image in images])
    if len(keys) != len(array):
        raise ValueError(f"there are {len(array)} values and {len(keys)} images; give the image of each value")
    names, index = np.unique(keys, return_inverse=True) if images is not None else (keys, np.arange(len(array)))
    sums = np.zeros((len(names), 2))
    np.add.at(sums, index, np.stack([array.astype(np.float64), np.ones(len(array))], axis=1))
    resampled = resampled_sums(sums, seed)
    means = resampled[:, 0] / resampled[:, 1]
    value = float(sums[:, 0].sum() / len(array))
    if array.dtype == bool:
        ends = share_interval(value, float(np.var(means)), len(names), len(array))
    else:
        ends = bootstrap_interval(value, means, ANY)
    return Interval(value, *ends, len(names))
