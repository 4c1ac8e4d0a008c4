"""How alike two rankings are: rank-biased overlap, intersection over union, and the correlation of two measures.

Webber et al. 2010, as github.com/changyaochen/rbo computes it, which Cafagna et al. 2022 used.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], depth: int | None = None) -> float:
    """Overlap, 0 to 1, of two rankings without repetitions, down to `depth` or to the end of the shorter one.

    As in the paper the persistence p is 1, so it is the mean over depths of the agreement: the share of the items down
    to there that both have (by formula 1 of the paper it would be 0). Two empty rankings have 1. ValueError for a
    ranking that has an item twice.
    """
    for ranking in (first, second):
        if len({*ranking}) < len(ranking):
            raise ValueError(f"the ranking {', '.join(ranking)} has an item twice")
    if not first or not second:
        return float(not first and not second)
    deepest = min(len(first), len(second), depth or len(first))
    return fmean(len({*first[:d]} & {*second[:d]}) / d for d in range(1, deepest + 1))


def intersection_over_union(first: Sequence[str], second: Sequence[str], depth: int | None = None) -> float:
    """Items among the first `depth` of both rankings, divided by those of either; two empty rankings have 1."""
    top, other = {*first[:depth]}, {*second[:depth]}
    return len(top & other) / len(top | other) if top or other else 1.0


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation, its degrees of freedom, and the two-sided p-value of none; None where one is constant."""

    r: float | None
    degrees: int
    p_value: float | None


def correlation(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Pearson's correlation of two lists of the same length; ValueError for less than three pairs."""
    degrees = len(first) - 2
    if degrees < 1:
        raise ValueError(f"a correlation needs at least 3 pairs, there are {len(first)}")
    means = fmean(first), fmean(second)
    pairs = [(x - means[0], y - means[1]) for x, y in zip(first, second, strict=True)]
    spread = math.sqrt(sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs))
    if not spread:
        return Correlation(None, degrees, None)
    r = max(-1.0, min(1.0, sum(x * y for x, y in pairs) / spread))
    t = math.inf if abs(r) == 1 else abs(r) * math.sqrt(degrees / (1 - r * r))
    return Correlation(r, degrees, t_tails(t, degrees))


def t_tails(t: float, degrees: int) -> float:
    """Probability of a value of Student's t further from 0 than `t` (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = degrees % 2
    term, total = 1.0, 0.0
    for place in range(odd, degrees - 1, 2):
        total += term
        term *= square * (place + 1) / (place + 2)
    inside = (2 / math.pi) * (angle + sine * math.cos(angle) * total) if odd else sine * total
    return max(0.0, 1 - inside)
