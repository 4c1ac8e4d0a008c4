"""The verdict on a claim, from the intervals of the comparisons that it is about."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

ClaimVerdict = Literal["holds", "mixed", "does not hold", "undecided", "not tested in this run"]
VERDICTS: Mapping[ClaimVerdict, str] = {
    "holds": (
        "at least the share that the claim asks for has its 95 % interval on the claimed side of 0; where that is a "
        "part of them, with intervals so much wider that the choice of the part makes no errors likelier"
    ),
    "mixed": "some comparisons do, but fewer or less clearly than the claim asks for",
    "does not hold": "none does, and some lie on the other side",
    "undecided": "every interval includes 0: the run cannot tell",
    "not tested in this run": "the run has none of the comparisons",
}
# Share of errors at each end of an interval.
TAIL = 0.025


@dataclass(frozen=True)
class Interval:
    """A difference with its 95 % interval, turned so that above 0 is as claimed."""

    value: float
    low: float
    high: float
    repetitions: int
    """trainings, or splits, that the difference is a mean of"""

    def sign(self, chances: int = 1) -> int:
        """1 or -1 when the whole interval lies above or below 0, else 0.

        With `chances`, of an interval that errs so many times less often (Bonferroni).
        """
        factor = widening(chances, self.repetitions)
        low, high = (self.value + factor * (end - self.value) for end in (self.low, self.high))
        return int(low > 0) - int(high < 0)


def widening(chances: int, repetitions: int) -> float:
    """How many times as wide as at 95 % an interval is that errs `chances` times less often.

    As of a normal distribution, or with several repetitions of Student's t: that is exact where other repetitions are
    all that the interval is about, and too wide where other images count too.
    """
    if chances == 1:
        return 1.0
    if repetitions == 1:
        normal = NormalDist()
        return normal.inv_cdf(TAIL / chances) / normal.inv_cdf(TAIL)
    from scipy.special import stdtrit

    return float(stdtrit(repetitions - 1, TAIL / chances) / stdtrit(repetitions - 1, TAIL))


def verdict(intervals: Sequence[Interval], share: float) -> ClaimVerdict:
    """The verdict on comparisons of which at least `share` are to be as claimed. See VERDICTS.

    That k of m comparisons are as claimed is not shown by k intervals at 95 %: with no effect at all one in 40 lies on
    the claimed side. Each of the k errs m - k + 1 times less often (Benjamini and Heller 2008, partial conjunction by
    Bonferroni), which is as ever where all are asked for, and Bonferroni's correction where one is.
    """
    if not intervals:
        return "not tested in this run"
    wanted = math.ceil(round(share * len(intervals), 9))  # 0.1 * 30 is 3.0000000000000004 in binary
    chances = len(intervals) - wanted + 1
    if sum(interval.sign(chances) > 0 for interval in intervals) >= wanted:
        return "holds"
    signs = [interval.sign() for interval in intervals]
    if any(sign > 0 for sign in signs):
        return "mixed"
    return "does not hold" if any(sign < 0 for sign in signs) else "undecided"
