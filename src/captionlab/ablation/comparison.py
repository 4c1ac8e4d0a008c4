"""Comparison of captions with and without diagnostic objects (Cafagna et al. 2022, §6.2, Figures 6, 7 and 12)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from captionlab.statistics.intervals import Ends, bootstrap_interval, resampled_sums, share_interval


@dataclass(frozen=True)
class Mean:
    """Mean over samples, with its 95 % interval and the standard deviation of the samples."""

    value: float
    ci_low: float
    ci_high: float
    deviation: float
    n: int


def mean_over_images(values: Sequence[float], images: Sequence[str], seed: int, bounds: Ends | None = None) -> Mean:
    """Return the mean of a value per sample, with its 95 % interval over images.

    If `bounds` is None, the mean is treated as a share, 0 to 1. Raises ValueError if there are no values.
    """
    if not values:
        raise ValueError("there is no sample to average over")
    rows = {image: row for row, image in enumerate(dict.fromkeys(images))}
    sums = np.zeros((len(rows), 2))
    for value, image in zip(values, images, strict=True):
        sums[rows[image]] += value, 1
    mean, means = float(np.mean(values)), np.divide(*resampled_sums(sums, seed).T)
    if bounds is None:
        low, high = share_interval(mean, float(np.var(means)), len(rows), len(values))
    else:
        low, high = bootstrap_interval(mean, means, bounds)
    return Mean(mean, low, high, float(np.std(values)), len(values))


def changed(before: str, after: str) -> bool:
    """Return whether two captions differ, white space and case aside."""
    return before.casefold().split() != after.casefold().split()


def z_test(first: Sequence[float], second: Sequence[float]) -> tuple[float, float]:
    """Return z, the difference of two means in standard errors, and its two-sided p-value.

    Raises ValueError for samples of less than 2 values, or of values that do not differ.
    """
    if min(len(first), len(second)) < 2:
        raise ValueError(f"a z-test needs at least 2 values in each sample, there are {len(first)} and {len(second)}")
    error = math.sqrt(sum(float(np.var(values, ddof=1)) / len(values) for values in (first, second)))
    if not error:
        raise ValueError("a z-test needs values that differ")
    z = float(np.mean(first) - np.mean(second)) / error
    return z, math.erfc(abs(z) / math.sqrt(2))


@dataclass(frozen=True)
class Pair:
    """Caption of an image before and after objects were removed from the image."""

    image: str
    split: str
    objects: int
    changed: bool
    before: float  # confidence of the whole image's caption
    after: float  # confidence of the ablated image's caption


def pairs(rows: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """Pair each ablated sample of a table ABLATED with its whole image.

    Raises ValueError if the caption of a whole image is missing.
    """
    whole = {row["image_id"]: row for row in rows if not row["objects"]}
    found = []
    for row in (row for row in rows if row["objects"]):
        if (before := whole.get(row["image_id"])) is None:
            raise ValueError(f"there is no caption of the whole image {row['image_id']!r}; caption it as well")
        differs, numbers = changed(before["caption"], row["caption"]), (before["confidence"], row["confidence"])
        found.append(Pair(row["image_id"], row["split"], row["objects"], differs, *numbers))
    return found


def effects(found: Sequence[Pair], seed: int) -> list[dict[str, Any]]:
    """Return the share of captions that change, and the mean confidence and shift of unchanged captions.

    There is a row for each split, number of removed objects and statistic. The number 0 stands for all numbers
    together. The shift is the confidence before minus the confidence after the removal. It is negative if the captioner
    is more confident when it sees less. `value` is None if there are no samples.
    """
    rows = []
    for split in sorted({pair.split for pair in found}):
        of_split = [pair for pair in found if pair.split == split]
        for objects in (0, *sorted({pair.objects for pair in of_split})):
            chosen = [pair for pair in of_split if objects in (0, pair.objects)]
            same = [pair for pair in chosen if not pair.changed]
            numbers = {
                "changed": (chosen, [float(pair.changed) for pair in chosen], None),
                "confidence": (same, [pair.after for pair in same], (0.0, 1.0)),
                "shift": (same, [pair.before - pair.after for pair in same], (-1.0, 1.0)),
            }
            for statistic, (of, values, bounds) in numbers.items():
                empty: dict[str, Any] = {"value": None, "ci_low": None, "ci_high": None, "deviation": None, "n": 0}
                mean = asdict(mean_over_images(values, [pair.image for pair in of], seed, bounds)) if values else empty
                rows.append({"split": split, "objects": objects, "statistic": statistic, **mean})
    return rows


def compare_splits(found: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return the z-test of the confidence shifts of unchanged captions for each two splits.

    z and p-value are None if there are too few such captions.
    """
    # An image counts once, with its mean shift, because its captions without 1, 2 and 3 objects are not independent.
    by_image: dict[str, dict[str, list[float]]] = {}
    for pair in found:
        of_split = by_image.setdefault(pair.split, {})
        if not pair.changed:
            of_split.setdefault(pair.image, []).append(pair.before - pair.after)
    shifts = {split: [float(np.mean(of)) for of in images.values()] for split, images in by_image.items()}
    rows = []
    for split, against in combinations(sorted(shifts), 2):
        try:
            z, p_value = z_test(shifts[split], shifts[against])
        except ValueError:
            z, p_value = None, None  # too few unchanged captions, or no variance
        rows.append({"split": split, "against": against, "z": z, "p_value": p_value})
    return rows
