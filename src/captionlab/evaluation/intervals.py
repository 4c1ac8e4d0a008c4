"""How far a value could have come out otherwise: bootstrap over images, and tests between two captioners.

Efron and Tibshirani 1993, chapters 13 (percentile interval) and 16 (tests); Koehn 2004 (bootstrap of corpus BLEU);
McNemar 1947, in its exact form; Zou and Donner 2008 (two sources of chance in one interval).
"""

import numpy as np

RESAMPLES = 2000
# Numbers drawn at a time; bounds memory to about 100 MB.
DRAWS = 4_000_000
# How far a value may be from another to be called similar: as for verdicts on published values.
SIMILAR = 0.05


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


def percentile_interval(resampled: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The interval that holds the middle `level` of resampled values."""
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def seeds_interval(values: np.ndarray, resampled: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """The mean of a value over trainings that differ by their seed, and the ends of its interval.

    values (S,), one for each training; resampled (S, resamples), each training's values on the same resamples of the
    images. What other images would have changed is read off the resampled means; what other seeds would have, by
    Student's t with S - 1 degrees of freedom from how far the trainings are apart. The two distances are joined by
    squares, as for independent sources. A bootstrap over seeds would not do: with three of them it finds a third of
    the variance too little, and knows nothing of the tails. With one training only images count.
    """
    mean, trainings = float(np.mean(values)), len(values)
    low, high = percentile_interval(np.mean(resampled, axis=0), level)
    distance = 0.0
    if trainings > 1:
        from scipy.special import stdtrit

        distance = float(stdtrit(trainings - 1, (1 + level) / 2) * np.std(values, ddof=1) / np.sqrt(trainings))
    return mean, mean - float(np.hypot(mean - low, distance)), mean + float(np.hypot(high - mean, distance))


def geometric_interval(values: np.ndarray, resampled: np.ndarray) -> tuple[float, float, float]:
    """The geometric mean of a value above 0 over trainings, and the ends of its interval: seeds_interval of logarithms.

    For what is itself the exponential of a mean, as a perplexity is: no interval then reaches below 0.
    """
    mean, low, high = (float(np.exp(end)) for end in seeds_interval(np.log(values), np.log(resampled)))
    return mean, low, high


def nearness(difference: float, low: float, high: float, reference: float) -> tuple[float, float, float]:
    """How far a difference stays within SIMILAR of a reference, with its interval: above 0 where the two are similar.

    The difference has its 95 % interval from `low` to `high`.
    """
    margin = SIMILAR * abs(reference)
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
    ways, tail = 1, 0
    for heads in range(min(only_first, only_second) + 1):
        tail += ways
        ways = ways * (coins - heads) // (heads + 1)
    return min(1.0, 2 * tail / 2**coins)
