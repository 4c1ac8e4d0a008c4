"""Intervals of values over images, seeds and splits, and significance tests between captioners.

Efron and Tibshirani 1993, chapters 13 (percentile interval) and 16 (tests); Koehn 2004 (bootstrap of corpus BLEU);
Clopper and Pearson 1934, with Korn and Graubard 1998 for images with several captions (shares); McNemar 1947, exact
form. Other sources are named where they are used.

Every interval contains its value and lies within the bounds of the measure. The interval of a share never has width 0:
if all observed images agree, others may not. The interval of any other measure is as wide as its resamples, so its
width is 0 if nothing varies.
"""

import math
from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000
# Random numbers drawn at a time; bounds memory to about 100 MB.
DRAWS = 4_000_000
# Largest relative difference of two values that are called similar, as in the verdicts on published values.
SIMILAR = 0.05
# Largest difference of means that are called alike, in standard deviations: a small effect (Cohen 1988, section 2.2).
SMALL_EFFECT = 0.2
# Error probability at each end of a 95 % interval, and the corresponding quantile of the standard normal distribution.
TAIL = 0.025
NORMAL = 1.959963984540054
# An interval narrower than this shows rounding errors only.
NOTHING = 1e-9

Ends = tuple[float, float]
# Bounds of measures in per cent, of non-negative measures, and of measures that may be any number.
PER_CENT: Ends = (0.0, 100.0)
FROM_0: Ends = (0.0, math.inf)
ANY: Ends = (-math.inf, math.inf)


def difference_bounds(bounds: Ends) -> Ends:
    """Return the bounds of a difference of two values that lie within these bounds."""
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def resampled_sums(values: np.ndarray, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Return sums (resamples, m) of values (n, m) over bootstrap samples of the n rows.

    The samples depend on n and the seed alone. Two captioners on the same images, in the same order, are resampled
    alike, so the differences of their results are paired. Raises ValueError if a value is not finite.
    """
    values = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(values).all(axis=1)
    if not finite.all():
        raise ValueError(f"row {int(finite.argmin())} of the values to resample is not finite")
    rows = len(values)
    generator = np.random.default_rng([seed, rows])
    chunk = max(1, DRAWS // rows)
    sums = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, chunk):
        count = min(chunk, resamples - start)
        drawn = generator.integers(0, rows, (count, rows)) + rows * np.arange(count)[:, None]
        weights = np.bincount(drawn.ravel(), minlength=count * rows).reshape(count, rows)
        sums[start : start + count] = weights.astype(np.float64) @ values
    return sums


def jackknife_resampled(values: np.ndarray, without: np.ndarray, seed: int) -> np.ndarray:
    """Return resampled values (resamples, m) of statistics (m,), from the statistics without each of n rows (n, m).

    A resampled value is the statistic plus the mean deviation of the jackknife's pseudo-values from their mean, over a
    sample of `resampled_sums` (Tukey 1958; Efron and Tibshirani 1993, chapter 11). Use it for statistics that bootstrap
    samples bias, as the number of different items: a bootstrap sample has only 63 of 100 rows.
    """
    rows = len(without)
    return values + resampled_sums((rows - 1) * (without.mean(axis=0) - without), seed) / rows


def percentile_interval(resampled: np.ndarray, level: float = 0.95) -> Ends:
    """Return the interval that holds the middle `level` of resampled values."""
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def unseen(units: float) -> float:
    """Return the upper end of the interval of a share, if none of `units` independent units has the property."""
    return 1.0 - TAIL ** (1.0 / units)


def bootstrap_interval(value: float, resampled: np.ndarray, bounds: Ends) -> Ends:
    """Return the percentile interval of resampled values, within `bounds`, extended to contain the `value`.

    A statistic that is no mean can be biased in resamples, so that the percentiles miss the value.
    """
    low, high = percentile_interval(resampled)
    return min(max(low, bounds[0]), value), max(min(high, bounds[1]), value)


def bootstrap_share_interval(value: float, resampled: np.ndarray, units: int, bounds: Ends) -> Ends:
    """Return the bootstrap interval of a share, or of a difference or quotient of shares, within `bounds`.

    If all resamples are equal, all `units` independent units are alike. Then a share `unseen(units)` of other units may
    lie at one of the `bounds`, which gives the interval its width.
    """
    low, high = bootstrap_interval(value, resampled, bounds)
    if high - low > NOTHING:
        return low, high
    share = unseen(units)
    return value - share * max(0.0, value - bounds[0]), value + share * max(0.0, bounds[1] - value)


def symmetric_interval(value: float, resampled: np.ndarray, bounds: Ends) -> Ends:
    """Return the interval, within `bounds`, that extends to both sides of a value as far as 95 % of its resamples.

    Hall 1988, "On symmetric bootstrap confidence intervals". Use it for biased statistics such as overlaps of rankings:
    resamples are as much smaller than the value as the value is smaller than the truth, so percentiles are too low by
    twice the bias.
    """
    distance = float(np.quantile(np.abs(resampled - value), 1 - 2 * TAIL))
    return max(bounds[0], value - distance), min(bounds[1], value + distance)


def share_interval(share: float, variance: float, images: float, units: float) -> Ends:
    """Return the interval of a share, 0 to 1, of `units` units on `images` images; an image may have several units.

    The interval is Clopper and Pearson's for the number of independent units that gives a share this `variance`, the
    variance over resamples of the images. The number is at least `images` and at most `units`. If all units are alike,
    it is `images`.
    """
    from scipy.special import betaincinv

    all_alike = variance <= 0 or share in (0, 1)
    number = float(images if all_alike else np.clip(share * (1 - share) / variance, images, units))
    hits = share * number
    low = float(betaincinv(hits, number - hits + 1, TAIL)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, number - hits, 1 - TAIL)) if hits < number else 1.0
    return low, high


def paired_share_interval(differences: np.ndarray) -> Ends:
    """Return the interval, -1 to 1, of a difference of two shares, from their difference on each of the images (n,).

    With one caption per image, a difference is -1, 0 or 1. An image with more captions than others may have a larger
    difference, so that the mean over images is the difference of the shares.

    Bonett and Price 2012: Wald's interval with two images added, one on which only the first hits, and one on which
    only the second hits. So the interval has a width even if all images agree. An image with several captions counts as
    one image.
    """
    return _bonett_price(float(differences.sum()), float((differences**2).sum()), len(differences))


def _bonett_price(total: float, squares: float, units: float) -> Ends:
    number = units + 2
    middle, variance = total / number, (squares + 2) / number - (total / number) ** 2
    distance = NORMAL * (variance / number) ** 0.5
    return max(-1.0, middle - distance), min(1.0, middle + distance)


def effective_units(counts: Sequence[float]) -> float:
    """Return how many independent units a mean over groups is worth, from the number of units in each group.

    Every group has the same weight in the mean. Kish 1965, section 11.7: the squared sum of weights divided by the sum
    of squared weights, where a unit of a group of n weighs 1 / n. If all groups are equal, the result is the number of
    units. It is smaller if some groups are rare.
    """
    return len(counts) ** 2 / sum(1 / count for count in counts)


def f1_interval(f1: float, units: float) -> Ends:
    """Return the interval of an F1, or of a mean of several F1, from `units` independent units.

    The F1 of a class is 2 J / (1 + J) with J = hits / (hits + misses + false alarms). J is a share of the units that
    are in the class or are predicted to be, so Clopper and Pearson's interval of J gives an interval of F1. `units` are
    the units in the class, which are fewer. In a mean over classes each mistake counts twice, as a miss and as a false
    alarm, and the mean varies like the share of correct answers. The result is the wider of both intervals at each end.
    """
    as_share = share_interval(f1, 0.0, units, units)
    as_class = [2 * end / (1 + end) for end in share_interval(f1 / (2 - f1), 0.0, units, units)]
    return min(as_share[0], as_class[0]), max(as_share[1], as_class[1])


def independent_difference(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return the first value minus the second, on other images, and the ends of its interval (Zou and Donner 2008).

    Each argument is a value and the ends of its interval.
    """
    value = first[0] - second[0]
    below = math.hypot(first[0] - first[1], second[2] - second[0])
    above = math.hypot(first[2] - first[0], second[0] - second[1])
    return value, value - below, value + above


def least_paired_interval(difference: float, units: float) -> Ends:
    """Return the narrowest `paired_share_interval` of a difference, -1 to 1, of two shares of `units` units.

    If it is unknown on which units the shares disagree, the narrowest case is that they disagree on the fewest units
    that make this difference, all in one direction.
    """
    return _bonett_price(difference * units, abs(difference) * units, units)


def student_interval(values: np.ndarray, bounds: Ends) -> tuple[float, float, float]:
    """Return the mean of independent values and the ends of its interval by Student's t, within `bounds`.

    Raises ValueError for fewer than 2 values.
    """
    mean, distance = float(np.mean(values)), _student_distance(values, 1 / len(values))
    return mean, max(bounds[0], mean - distance), min(bounds[1], mean + distance)


def splits_interval(values: np.ndarray, test_share: float, of_one: Ends, ends: Ends) -> tuple[float, float, float]:
    """Return the mean of a value over random splits, `test_share` of each for testing, and the ends of its interval.

    Splits share most of their images, so the variance of the mean has the quotient of test and training images added to
    1 / n (Nadeau and Bengio 2003, section 5.1, the corrected resampled t-test). A few splits with nearly equal values
    say little about other images, so the interval covers `of_one`, the interval of the mean over the images of one test
    split. The interval lies within the bounds `ends`. Raises ValueError for fewer than 2 values.
    """
    mean = float(np.mean(values))
    distance = _student_distance(values, 1 / len(values) + test_share / (1 - test_share))
    low, high = min(mean - distance, of_one[0]), max(mean + distance, of_one[1])
    return mean, max(ends[0], low), min(ends[1], high)


def _student_distance(values: np.ndarray, per: float) -> float:
    """Return the half-width of Student's t interval of a mean with `per` times the variance of a value."""
    if len(values) < 2:
        raise ValueError(f"an interval by Student's t needs at least 2 values, there are {len(values)}")
    from scipy.special import stdtrit

    return float(stdtrit(len(values) - 1, 1 - TAIL) * np.std(values, ddof=1) * np.sqrt(per))


def seeds_interval(values: np.ndarray, images: Ends, bounds: Ends) -> tuple[float, float, float]:
    """Return the mean of a value over trainings that differ by their seed, values (S,), and the ends of its interval.

    The interval of the mean over `images` and the interval over seeds, by Student's t with S - 1 degrees of freedom,
    are joined by squares as independent sources. A bootstrap over three seeds would underestimate the variance by a
    third and miss the heavy tails. With one training only the images count. The interval lies within `bounds`.
    """
    mean, trainings = float(np.mean(values)), len(values)
    distance = _student_distance(values, 1 / trainings) if trainings > 1 else 0.0
    low, high = images
    below, above = float(np.hypot(mean - low, distance)), float(np.hypot(high - mean, distance))
    return mean, min(max(mean - below, bounds[0]), mean), max(min(mean + above, bounds[1]), mean)


def geometric_interval(values: np.ndarray, resampled: np.ndarray, bounds: Ends) -> tuple[float, float, float]:
    """Return the geometric mean of a positive value over trainings, and the ends of its interval, within `bounds`.

    values (S,); resampled (S, resamples): the values of each training on the same resamples of the images. The interval
    is `seeds_interval` of the logarithms. Use it for values that are exponentials of a mean, such as perplexity.
    """
    logs = np.log(values)
    images = bootstrap_interval(float(logs.mean()), np.log(resampled).mean(axis=0), ANY)
    mean, low, high = (float(np.exp(end)) for end in seeds_interval(logs, images, ANY))
    return mean, min(max(low, bounds[0]), mean), max(min(high, bounds[1]), mean)


def within(difference: float, low: float, high: float, margin: float) -> tuple[float, float, float]:
    """Return how far a difference, with its interval from `low` to `high`, stays within a margin on both sides of 0.

    The result is this nearness and the ends of its interval. It is positive if the difference is within the margin, and
    equals the margin if the difference is 0.
    """
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return margin - abs(difference), margin - max(abs(low), abs(high)), margin - nearest


def bootstrap_p_value(differences: np.ndarray) -> float:
    """Return the two-sided p-value of paired resampled differences: twice the share on the far side of 0.

    One is added to both counts, so p is never 0. It is small if the percentile interval excludes 0.
    """
    resamples = len(differences)
    tail = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (resamples + 1))


def bootstrap_t_p_value(difference: float, resampled: np.ndarray, units: int) -> float:
    """Return the two-sided p-value of a difference, from its paired resamples over `units` independent units.

    The result is `bootstrap_p_value`. If no resample lies on the far side of 0, the bootstrap only says that p is
    small, and corrections for many comparisons need to know how small. Then the result is the p-value of Student's t
    with units - 1 degrees of freedom and the standard deviation of the resamples (Efron and Tibshirani 1993, chapter
    12), if it is smaller.
    """
    p_value, deviation = bootstrap_p_value(resampled), float(np.std(resampled))
    if p_value > 2 / (len(resampled) + 1) or deviation <= NOTHING or units < 2:
        return p_value
    from scipy.special import stdtr

    return min(p_value, 2 * float(stdtr(units - 1, -abs(difference) / deviation)))


def mcnemar_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """Return the exact two-sided p-value for two rows of hits (n,), true or false, on the same images.

    Only images with exactly one hit count. Under the null hypothesis each of the two rows has the hit with equal
    probability.
    """
    only_first = int((first & ~second).sum())
    only_second = int((second & ~first).sum())
    coins = only_first + only_second
    tail = sum(math.comb(coins, heads) for heads in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**coins)
