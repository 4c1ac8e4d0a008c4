"""Verdicts on claims from intervals: held, refuted, mixed, cannot tell, not tested, and how often by chance."""

import numpy as np
import pytest
from scipy import stats

from captionlab.reporting.claims.claim_verdicts import Interval, verdict, widening
from captionlab.statistics.intervals import within


def interval(sign, half=0.01):
    """Far from 0, or around it."""
    return Interval(float(sign), sign - half, sign + half, 1) if sign else Interval(0.0, -half, half, 1)


@pytest.mark.parametrize(
    ("signs", "share", "expected"),
    [
        ([1, 1], 1.0, "holds"),
        ([1, 0], 1.0, "cannot tell"),
        ([1] * 9 + [0], 1.0, "cannot tell"),
        ([1] * 9 + [-1], 1.0, "mixed"),
        ([1, 0, -1], 1.0, "mixed"),
        ([1, 0], 0.5, "holds"),
        ([1, 1, -1], 0.66, "holds"),
        ([1, -1, -1], 0.5, "mixed"),
        ([0, -1], 0.5, "does not hold"),
        ([0, 0], 0.5, "cannot tell"),
        ([], 0.5, "not tested in this run"),
        ([1] * 3 + [0] * 27, 0.1, "holds"),
        ([1] * 2 + [0] * 28, 0.1, "cannot tell"),
    ],
)
def test_verdict_on_signs(signs, share, expected):
    assert verdict([interval(sign) for sign in signs], share) == expected


def test_an_interval_that_ends_at_0_cannot_tell():
    assert verdict([Interval(1.0, 0.0, 2.0, 1)], 1.0) == "cannot tell"


@pytest.mark.parametrize("chances", [1, 4, 21])
def test_the_smallest_difference_is_shown_in_four_of_five_runs(chances):
    smallest = Interval(0.0, -1.959964, 1.959964, 1).smallest(chances)
    values = np.random.default_rng(1).normal(smallest, 1.0, 4000)
    shown = [Interval(value, value - 1.959964, value + 1.959964, 1).sign(chances) for value in values]
    assert np.mean(np.array(shown) > 0) == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize("difference", [0.0, 0.4, 2.5])
def test_an_interval_that_is_folded_at_a_margin_has_its_whole_half_width(difference):
    """1.43 = (1.96 + 0.8416) / 1.96 times the half-width 1 of the difference, wherever that lies."""
    near = within(difference, difference - 1.0, difference + 1.0, 5.0)
    assert Interval(*near, 1).smallest() == pytest.approx(2.801585 / 1.959964)


@pytest.mark.parametrize("chances", [1, 4])
@pytest.mark.parametrize("margin", [4.8, 6.0, 100.0])
def test_the_smallest_nearness_is_shown_in_four_of_five_runs(chances, margin):
    """Differences of standard deviation 1, which lie so far from 0 that this nearness is left, on either side."""
    half = 1.959964
    smallest = Interval(0.0, -half, half, 1, margin).smallest(chances)
    assert 0 < smallest <= margin
    for side in (1, -1):
        values = np.random.default_rng(1).normal(side * (margin - smallest), 1.0, 8000)
        found = [Interval(*within(v, v - half, v + half, margin), 1, margin) for v in values]
        assert np.mean([one.sign(chances) > 0 for one in found]) == pytest.approx(0.8, abs=0.015)


def test_a_margin_that_so_few_cannot_tell_shows_nothing():
    """1.96 + 1.2816 standard deviations are the least: of 0 difference each side is then missed in one of ten runs."""
    half = 1.959964
    least = Interval(0.0, -half, half, 1, 1.0).least_margin()
    assert least == pytest.approx(1.959964 + 1.281552)
    assert Interval(0.0, -half, half, 1, 0.999 * least).smallest() is None
    assert Interval(0.0, -half, half, 1, 1.001 * least).smallest() == pytest.approx(least, rel=0.05)
    values = np.random.default_rng(2).normal(0.0, 1.0, 8000)
    shown = [Interval(*within(v, v - half, v + half, least), 1, least).sign() > 0 for v in values]
    assert np.mean(shown) == pytest.approx(0.8, abs=0.015)


def test_an_interval_that_is_cut_at_the_end_of_a_measure_has_a_width():
    assert Interval(-50.0, -50.0, -30.0, 1).smallest() == pytest.approx(10 * 2.801585 / 1.959964)


def test_where_all_are_asked_for_intervals_are_as_they_are():
    assert verdict([Interval(2.0, 0.01, 3.99, 3)] * 4, 1.0) == "holds"


@pytest.mark.parametrize("repetitions", [1, 2, 3, 9])
@pytest.mark.parametrize("chances", [1, 2, 20])
def test_widening_is_the_ratio_of_quantiles(repetitions, chances):
    distribution = stats.norm() if repetitions == 1 else stats.t(repetitions - 1)
    expected = distribution.ppf(1 - 0.025 / chances) / distribution.ppf(0.975)
    assert widening(chances, repetitions) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("trainings", [1, 3])
@pytest.mark.parametrize(("share", "real"), [(0.05, 0), (0.5, 9), (0.66, 0)])
def test_a_claim_on_some_of_20_seldom_holds_by_chance(trainings, share, real):
    """So many comparisons are real, one too few; the others have no effect, and the claim holds in 2.5 % at most."""
    generator, held, rounds = np.random.default_rng(1), 0, 1500
    for _ in range(rounds):
        if trainings == 1:
            values, halves = generator.normal(size=20), np.full(20, 1.959964)
        else:
            drawn = generator.normal(size=(20, trainings))
            values = drawn.mean(1)
            halves = stats.t(trainings - 1).ppf(0.975) * drawn.std(1, ddof=1) / np.sqrt(trainings)
        values[:real] += 1000.0
        found = [Interval(v, v - h, v + h, trainings) for v, h in zip(values, halves, strict=True)]
        held += verdict(found, share) == "holds"
    assert held / rounds < 0.025 + 3 * np.sqrt(0.025 * 0.975 / rounds)
    if real or share == 0.05:
        assert held > 0, "and no seldomer than it must"


def test_a_non_inferiority_is_missed_on_one_side():
    """Half-width 1.96: 1.96 + 0.8416 is shown in four of five runs, where the margin has as much."""
    enough, few = (Interval(5.0, 3.04, 6.96, 1, margin, one_sided=True) for margin in (2.81, 2.79))
    assert enough.smallest() == pytest.approx(2.8016, abs=1e-3)
    assert few.smallest() is None
    assert few.least_margin() == pytest.approx(2.8016, abs=1e-3)
    assert Interval(5.0, 3.04, 6.96, 1, 2.81).smallest() is None  # a nearness may be missed on two
