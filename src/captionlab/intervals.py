"""How far a value could have come out otherwise: intervals over images, seeds and splits, and tests between captioners.

Efron and Tibshirani 1993, chapters 13 (percentile interval) and 16 (tests); Koehn 2004 (bootstrap of corpus BLEU);
Clopper and Pearson 1934, for images with several captions as Korn and Graubard 1998 have it (shares); McNemar 1947, in
its exact form; others where they are used.
Every interval holds its value, and lies within the bounds of what is measured. The interval of a share never has a
width of 0: that so many images were all alike does not say that every image is. What is no share has the width that its
resamples have, which is 0 where nothing varies.
"""

import math
from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000
# Numbers drawn at a time; bounds memory to about 100 MB.
DRAWS = 4_000_000
# How far a value may be from another to be called similar: as for verdicts on published values.
SIMILAR = 0.05
# How far two means may be apart to be called alike, in standard deviations: a small effect (Cohen 1988, section 2.2).
SMALL_EFFECT = 0.2
# Share of errors at each end of an interval, and the distance of the standard normal distribution that leaves it out.
TAIL = 0.025
NORMAL = 1.959963984540054
# Narrower than this, an interval says that nothing varied but the last bits of numbers.
NOTHING = 1e-9

Ends = tuple[float, float]
# Bounds of what is measured: of what is printed in per cent, of what is not negative, and of what may be any number.
PER_CENT: Ends = (0.0, 100.0)
FROM_0: Ends = (0.0, math.inf)
ANY: Ends = (-math.inf, math.inf)


def difference_bounds(bounds: Ends) -> Ends:
    """Return the bounds of a difference of two values that lie within these bounds."""
    return bounds[0] - bounds[1], bounds[1] - bounds[0]


def resampled_sums(values: np.ndarray, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """Sums (resamples, m) of values (n, m) over bootstrap samples of the n rows.

    The samples depend on n and the seed alone: two captioners on the same images, in the same order, are resampled
    alike, which is what makes the differences of their results paired. ValueError when a value is not finite.
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
    """Resampled values (resamples, m) of statistics (m,) that are no sums, from those without each of n rows (n, m).

    Each is the statistic plus the mean, over a sample of `resampled_sums`, of how far the jackknife's pseudo-values of
    its rows are from their own mean (Tukey 1958; Efron and Tibshirani 1993, chapter 11). For what bootstrap samples
    bias, as they have 63 of 100 rows only: the number of different things in all rows, say.
    """
    rows = len(without)
    return values + resampled_sums((rows - 1) * (without.mean(axis=0) - without), seed) / rows


def percentile_interval(resampled: np.ndarray, level: float = 0.95) -> Ends:
    """The interval that holds the middle `level` of resampled values."""
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def unseen(units: float) -> float:
    """The share that something may have which none of so many independent units has: the end of its interval."""
    return 1.0 - TAIL ** (1.0 / units)


def bootstrap_interval(value: float, resampled: np.ndarray, bounds: Ends) -> Ends:
    """Return the percentile interval of resampled values, within `bounds`.

    What is no mean may be smaller or larger in resamples than in the sample; the interval reaches to the `value`.
    """
    low, high = percentile_interval(resampled)
    return min(max(low, bounds[0]), value), max(min(high, bounds[1]), value)


def bootstrap_share_interval(value: float, resampled: np.ndarray, units: int, bounds: Ends) -> Ends:
    """Return the bootstrap interval of a share, or of what is made of shares: a difference, a quotient.

    Where all resamples are the same, so are the independent units. There may be others, as many as `unseen` says, which
    have one of the `bounds`.
    """
    low, high = bootstrap_interval(value, resampled, bounds)
    if high - low > NOTHING:
        return low, high
    share = unseen(units)
    return value - share * max(0.0, value - bounds[0]), value + share * max(0.0, bounds[1] - value)


def symmetric_interval(value: float, resampled: np.ndarray, bounds: Ends) -> Ends:
    """The interval as far on both sides of a value as 95 of 100 resampled values are from it, within `bounds`.

    Hall 1988, "On symmetric bootstrap confidence intervals". For what is biased, as overlaps of rankings are: resamples
    are as much smaller than the value as it is smaller than the truth, so that percentiles are too low by twice that.
    """
    distance = float(np.quantile(np.abs(resampled - value), 1 - 2 * TAIL))
    return max(bounds[0], value - distance), min(bounds[1], value + distance)


def share_interval(share: float, variance: float, images: float, units: float) -> Ends:
    """The interval of a share, 0 to 1, of `units` on so many images, of which each may have several.

    That of Clopper and Pearson for as many independent units as have a share of this `variance` (that of resamples of
    the images), at least the images and at most the units; where all units are alike, the images.
    """
    from scipy.special import betaincinv

    all_alike = variance <= 0 or share in (0, 1)
    number = float(images if all_alike else np.clip(share * (1 - share) / variance, images, units))
    hits = share * number
    low = float(betaincinv(hits, number - hits + 1, TAIL)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, number - hits, 1 - TAIL)) if hits < number else 1.0
    return low, high


def paired_share_interval(differences: np.ndarray) -> Ends:
    """The interval, from -1 to 1, of a difference of two shares of the same images, from that on each image (n,).

    An image with one caption has -1, 0 or 1; with more samples than others, more: the mean is that of the shares.
    Bonett and Price 2012: Wald's, with one image added on which only the first hits, and one on which only the second
    does. It has a width where every image agrees. An image with several captions counts once, with their mean.
    """
    return _bonett_price(float(differences.sum()), float((differences**2).sum()), len(differences))


def _bonett_price(total: float, squares: float, units: float) -> Ends:
    number = units + 2
    middle, variance = total / number, (squares + 2) / number - (total / number) ** 2
    distance = NORMAL * (variance / number) ** 0.5
    return max(-1.0, middle - distance), min(1.0, middle + distance)


def effective_units(counts: Sequence[float]) -> float:
    """Independent units that a mean over groups is worth, each of so many units, where every group counts alike.

    Kish 1965, section 11.7: the squared sum of weights by the sum of their squares, and a unit of a group of n weighs
    1 / n. As many as there are where all groups are equal, and fewer the rarer some group is.
    """
    return len(counts) ** 2 / sum(1 / count for count in counts)


def f1_interval(f1: float, units: float) -> Ends:
    """The interval of an F1, or of a mean of several, of so many independent units.

    The F1 of a class is 2 J / (1 + J) of J = hits / (hits + misses + false alarms): a share of units that are of the
    class or taken for it, so that the interval of Clopper and Pearson for J gives one for F1; `units` are those of the
    class, which are fewer. In a mean over classes each mistake counts twice, as a miss and as a false alarm, and the
    mean varies as the share of right answers does. The wider of both at either end.
    """
    as_share = share_interval(f1, 0.0, units, units)
    as_class = [2 * end / (1 + end) for end in share_interval(f1 / (2 - f1), 0.0, units, units)]
    return min(as_share[0], as_class[0]), max(as_share[1], as_class[1])


def independent_difference(
    first: tuple[float, float, float], second: tuple[float, float, float]
) -> tuple[float, float, float]:
    """The first value less the second, of other images, and its ends: those of both joined (Zou and Donner 2008)."""
    value = first[0] - second[0]
    below = math.hypot(first[0] - first[1], second[2] - second[0])
    above = math.hypot(first[2] - first[0], second[0] - second[1])
    return value, value - below, value + above


def least_paired_interval(difference: float, units: float) -> Ends:
    """The narrowest `paired_share_interval` of a difference, from -1 to 1, of two shares of so many units.

    It is not known on which units the two disagree: on the fewest that make such a difference, all in one direction.
    """
    return _bonett_price(difference * units, abs(difference) * units, units)


def student_interval(values: np.ndarray, bounds: Ends) -> tuple[float, float, float]:
    """The mean of 2 or more independent values and its interval by Student's t, within `bounds`; ValueError for 1."""
    mean, distance = float(np.mean(values)), _student_distance(values, 1 / len(values))
    return mean, max(bounds[0], mean - distance), min(bounds[1], mean + distance)


def splits_interval(values: np.ndarray, test_share: float, of_one: Ends, ends: Ends) -> tuple[float, float, float]:
    """The mean of a value over random splits, of which a share is for testing, and the ends of its interval.

    Splits share most of their images, so the variance of the mean has the quotient of test and training images added to
    1 / n (Nadeau and Bengio 2003, section 5.1, the corrected resampled t-test). A few splits that came out nearly equal
    say little of other images, so the interval is at least `of_one`: of the mean, found on the images of one test.
    """
    mean = float(np.mean(values))
    distance = _student_distance(values, 1 / len(values) + test_share / (1 - test_share))
    low, high = min(mean - distance, of_one[0]), max(mean + distance, of_one[1])
    return mean, max(ends[0], low), min(ends[1], high)


def _student_distance(values: np.ndarray, per: float) -> float:
    """How far an interval by Student's t reaches where the mean's variance is `per` of that of a value."""
    if len(values) < 2:
        raise ValueError(f"an interval by Student's t needs at least 2 values, there are {len(values)}")
    from scipy.special import stdtrit

    return float(stdtrit(len(values) - 1, 1 - TAIL) * np.std(values, ddof=1) * np.sqrt(per))


def seeds_interval(values: np.ndarray, images: Ends, bounds: Ends) -> tuple[float, float, float]:
    """The mean of a value over trainings that differ by their seed, values (S,), and the ends of its interval.

    The interval lies within `bounds`.

    The interval of their mean over `images` and that over seeds, by Student's t with S - 1 degrees of freedom, joined
    by squares as independent sources. (A bootstrap over three seeds finds a third of the variance too little, and knows
    nothing of the tails.) With one training only images count.
    """
    mean, trainings = float(np.mean(values)), len(values)
    distance = _student_distance(values, 1 / trainings) if trainings > 1 else 0.0
    low, high = images
    below, above = float(np.hypot(mean - low, distance)), float(np.hypot(high - mean, distance))
    return mean, min(max(mean - below, bounds[0]), mean), max(min(mean + above, bounds[1]), mean)


def geometric_interval(values: np.ndarray, resampled: np.ndarray, bounds: Ends) -> tuple[float, float, float]:
    """The geometric mean of a value above 0 over trainings, and the ends of its interval: seeds_interval of logarithms.

    values (S,); resampled (S, resamples), each training's values on the same resamples of the images. The interval lies
    within `bounds`. For what is itself the exponential of a mean, as a perplexity is.
    """
    logs = np.log(values)
    images = bootstrap_interval(float(logs.mean()), np.log(resampled).mean(axis=0), ANY)
    mean, low, high = (float(np.exp(end)) for end in seeds_interval(logs, images, ANY))
    return mean, min(max(low, bounds[0]), mean), max(min(high, bounds[1]), mean)


def within(difference: float, low: float, high: float, margin: float) -> tuple[float, float, float]:
    """The nearness, with its interval: how far a difference (`low` to `high`) stays within a margin on either side.

    It is above 0 where the difference does, and at most the margin, where there is none.
    """
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return margin - abs(difference), margin - max(abs(low), abs(high)), margin - nearest


def bootstrap_p_value(differences: np.ndarray) -> float:
    """Two-sided p-value of paired resampled differences: twice the share of them on the far side of 0.

    One is added to counts and number, so that p is never 0; it is small when the percentile interval leaves 0 out.
    """
    resamples = len(differences)
    tail = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (tail + 1) / (resamples + 1))


def mcnemar_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """Exact two-sided p-value for two rows of hits (n,), true or false, on the same images.

    Only images where exactly one of the two hits count; under the null hypothesis each is a fair coin.
    """
    only_first = int((first & ~second).sum())
    only_second = int((second & ~first).sum())
    coins = only_first + only_second
    tail = sum(math.comb(coins, heads) for heads in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**coins)
