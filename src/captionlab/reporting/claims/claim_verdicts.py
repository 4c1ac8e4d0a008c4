"""Verdicts on claims, from the intervals of the comparisons that a claim is about."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from captionlab.reporting.tables.verdicts import POWERFUL

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
    """A difference with its 95 % interval, oriented so that values above 0 are as claimed."""

    value: float
    low: float
    high: float
    repetitions: int  # trainings or splits that the difference is averaged over
    margin: float | None = None  # value of a nearness or non-inferiority at no difference; else None
    # True for a non-inferiority: it can be missed on one side of the margin only, and a better value exceeds the
    # margin.
    one_sided: bool = False

    def sign(self, chances: int = 1) -> int:
        """Return 1 or -1 if the whole interval is above or below 0, else 0.

        The interval is first widened so that it errs `chances` times less often.
        """
        factor = widening(chances, self.repetitions)
        low, high = (self.value + factor * (end - self.value) for end in (self.low, self.high))
        return int(low > 0) - int(high < 0)

    def smallest(self, chances: int = 1) -> float | None:
        """Return the smallest true difference that `sign` would have shown in four of five runs (`POWERFUL`).

        The result follows normal theory, also with several repetitions, where Student's t would need slightly more. For
        a nearness it is computed by `nearest`. Returns None if the margin is smaller than `least_margin`. For a
        nearness, returns 0 if the interval has no width.
        """
        reach, deviation = self._spread(chances)
        if self.margin is None or self.one_sided:
            smallest = reach + _NORMAL.inv_cdf(POWERFUL) * deviation
            return None if self.margin is not None and smallest > self.margin else smallest
        return nearest(self.margin / deviation, reach / deviation, deviation) if deviation else 0.0

    def least_margin(self, chances: int = 1) -> float:
        """Return the smallest margin within which a true difference of 0 would have been shown in four of five runs.

        A nearness can be missed on either side, so its margin follows from two one-sided tests (Schuirmann 1987), each
        with half of the misses. The margin of a non-inferiority follows from one test.
        """
        reach, deviation = self._spread(chances)
        return reach + _NORMAL.inv_cdf(POWERFUL if self.one_sided else (1 + POWERFUL) / 2) * deviation

    def _spread(self, chances: int) -> tuple[float, float]:
        """Return the distance from the value to the ends that `sign` looks at, and the standard deviation of the value.

        The lower end decides whether a difference is as claimed. The upper end is nearer to the value if the interval
        is folded at a margin (a nearness). It is farther only if the lower end is cut at the end of a measure.
        """
        half = max(self.value - self.low, (self.high - self.low) / 2)
        return widening(chances, self.repetitions) * half, half / _NORMAL.inv_cdf(1 - TAIL)


def nearest(margin: float, reach: float, deviation: float) -> float | None:
    """Return the smallest true nearness, up to the margin, that is shown in four of five runs, or None.

    `margin` and `reach` are in standard deviations of the difference; `deviation` is the standard deviation and the
    result has its unit. A true difference of margin - nearness is shown to be within the margin if the measured
    difference is within margin - reach on both sides (two one-sided tests). The chance rises with the nearness, up to a
    difference of 0.
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
    """Return the factor by which an interval must be wider than at 95 % to err `chances` times less often (Bonferroni).

    The factor follows the normal distribution, or Student's t with several repetitions. Student's t is exact if the
    interval is about other repetitions only, and too wide if it is about other images too.
    """
    if chances == 1:
        return 1.0
    if repetitions == 1:
        return _NORMAL.inv_cdf(TAIL / chances) / _NORMAL.inv_cdf(TAIL)
    from scipy.special import stdtrit

    return float(stdtrit(repetitions - 1, TAIL / chances) / stdtrit(repetitions - 1, TAIL))


def choices(comparisons: int, share: float) -> int:
    """Return how many times less often each interval must err if at least `share` of comparisons must be as claimed."""
    wanted = math.ceil(round(share * comparisons, 9))  # 0.1 * 30 is 3.0000000000000004 in binary
    return comparisons - wanted + 1


def verdict(intervals: Sequence[Interval], share: float) -> ClaimVerdict:
    """Return the verdict on the intervals of a claim. See VERDICTS.

    At least `share` of the intervals must be as claimed. k intervals at 95 % do not show that k of m comparisons are as
    claimed: without any effect, one interval in 40 lies on the claimed side. Therefore each of the k intervals must err
    m - k + 1 times less often (Benjamini and Heller 2008, partial conjunction by Bonferroni). If all comparisons must
    be as claimed, nothing changes. If a single comparison must be as claimed, the result is Bonferroni's correction.
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
