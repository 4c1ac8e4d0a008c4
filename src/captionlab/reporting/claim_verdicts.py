"""The verdict on a claim, from the intervals of the comparisons that it is about."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from captionlab.reporting.verdicts import POWERFUL

ClaimVerdict = Literal["holds", "mixed", "does not hold", "cannot tell", "not tested in this run"]
VERDICTS: Mapping[ClaimVerdict, str] = {
    "holds": (
        "at least the share that the claim asks for has its 95 % interval on the claimed side of 0; where that is a "
        "part of them, with intervals so much wider that the choice of the part makes no errors likelier"
    ),
    "mixed": "fewer do than the claim asks for, and some lie on the other side",
    "does not hold": "none does, and some lie on the other side",
    "cannot tell": (
        "none lies on the other side, and too few on the claimed one, or too narrowly; the others include 0, too small "
        "to tell, and what they could have shown stands beside them"
    ),
    "not tested in this run": "the run has none of the comparisons",
}
# Share of errors at each end of an interval.
TAIL = 0.025
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Interval:
    """A difference with its 95 % interval, turned so that above 0 is as claimed."""

    value: float
    low: float
    high: float
    repetitions: int  # trainings, or splits, that the difference is a mean of
    margin: float | None = None  # of a nearness or a non-inferiority what it is where nothing differs
    one_sided: bool = False  # a non-inferiority: missed on one side of the margin only; what is better exceeds it

    def sign(self, chances: int = 1) -> int:
        """1 or -1 when the whole interval, made to err `chances` times less often, is above or below 0, else 0."""
        factor = widening(chances, self.repetitions)
        low, high = (self.value + factor * (end - self.value) for end in (self.low, self.high))
        return int(low > 0) - int(high < 0)

    def smallest(self, chances: int = 1) -> float | None:
        """The smallest true difference that `sign` would have shown in four of five runs (`POWERFUL`).

        By normal theory, with several repetitions too: Student's t needs a little more. Of a nearness as `nearest` has
        it. None where a margin is smaller than `least_margin`; 0 where the interval has no width.
        """
        reach, deviation = self._spread(chances)
        if self.margin is None or self.one_sided:
            smallest = reach + _NORMAL.inv_cdf(POWERFUL) * deviation
            return None if self.margin is not None and smallest > self.margin else smallest
        return nearest(self.margin / deviation, reach / deviation, deviation) if deviation else 0.0

    def least_margin(self, chances: int = 1) -> float:
        """The smallest margin within which a difference of 0 would have been shown to be in four of five runs.

        A nearness may be missed on either side, so its margin is that of two one-sided tests (Schuirmann 1987), each of
        half of the misses; a non-inferiority's is that of one.
        """
        reach, deviation = self._spread(chances)
        return reach + _NORMAL.inv_cdf(POWERFUL if self.one_sided else (1 + POWERFUL) / 2) * deviation

    def _spread(self, chances: int) -> tuple[float, float]:
        """How far the ends that `sign` looks at are from the value, and its standard deviation.

        The lower end decides what is as claimed; the upper one is nearer where an interval is folded at a margin (a
        nearness), and farther only where the lower one is cut at the end of a measure.
        """
        half = max(self.value - self.low, (self.high - self.low) / 2)
        return widening(chances, self.repetitions) * half, half / _NORMAL.inv_cdf(1 - TAIL)


def nearest(margin: float, reach: float, deviation: float) -> float | None:
    """The smallest true nearness, at most the margin, that is shown in four of five runs; None where none is.

    `margin` and `reach` are in standard deviations of the difference. A difference of margin - nearness is shown to be
    within the margin when it is measured within margin - reach, on both sides (two one-sided tests); the chance of that
    rises with the nearness up to where there is no difference.
    """

    def power(near: float) -> float:
        return _NORMAL.cdf(near - reach) - _NORMAL.cdf(near + reach - 2 * margin)

    if reach >= margin or power(margin) < POWERFUL:
        return None
    low, high = 0.0, margin
    for _ in range(60):  # bisection, to the last bit
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWERFUL else (middle, high)
    return high * deviation


def widening(chances: int, repetitions: int) -> float:
    """How many times as wide as at 95 % an interval is that errs `chances` times less often (Bonferroni).

    As of a normal distribution, or with several repetitions of Student's t: that is exact where other repetitions are
    all that the interval is about, and too wide where other images count too.
    """
    if chances == 1:
        return 1.0
    if repetitions == 1:
        return _NORMAL.inv_cdf(TAIL / chances) / _NORMAL.inv_cdf(TAIL)
    from scipy.special import stdtrit

    return float(stdtrit(repetitions - 1, TAIL / chances) / stdtrit(repetitions - 1, TAIL))


def choices(comparisons: int, share: float) -> int:
    """How many times less often each interval must err where at least `share` of them are to be as claimed."""
    wanted = math.ceil(round(share * comparisons, 9))  # 0.1 * 30 is 3.0000000000000004 in binary
    return comparisons - wanted + 1


def verdict(intervals: Sequence[Interval], share: float) -> ClaimVerdict:
    """The verdict on comparisons of which at least `share` are to be as claimed. See VERDICTS.

    That k of m comparisons are as claimed is not shown by k intervals at 95 %: with no effect at all one in 40 lies on
    the claimed side. Each of the k errs m - k + 1 times less often (Benjamini and Heller 2008, partial conjunction by
    Bonferroni), which is as ever where all are asked for, and Bonferroni's correction where one is.
    """
    if not intervals:
        return "not tested in this run"
    chances = choices(len(intervals), share)
    if sum(interval.sign(chances) > 0 for interval in intervals) >= len(intervals) - chances + 1:
        return "holds"
    signs = {interval.sign() for interval in intervals}
    if -1 not in signs:
        return "cannot tell"
    return "mixed" if 1 in signs else "does not hold"
