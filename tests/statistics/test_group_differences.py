"""Differences of two groups of different images, held against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from captionlab.statistics.groups import GroupValue, fisher_p_value, share_difference, welch_difference
from captionlab.statistics.intervals import ANY


def mean_of(values):
    """A mean, with the mean without each value."""
    values = np.asarray(values, dtype=float)
    return GroupValue(float(values.mean()), (values.sum() - values) / (len(values) - 1))


@pytest.mark.parametrize("seed", range(5))
def test_the_difference_of_two_means_is_scipys_welch(seed):
    generator = np.random.default_rng(seed)
    first, second = generator.normal(0, 1, 12), generator.normal(1, 3, 200)
    found, expected = (
        welch_difference(mean_of(first), mean_of(second), ANY),
        stats.ttest_ind(first, second, equal_var=False),
    )
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.ends == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert found.test == "Welch"


def test_a_group_without_spread_is_given_the_spread_of_both():
    first, second = [1.0] * 10, [0.0, 1.0] * 50
    found, expected = welch_difference(mean_of(first), mean_of(second), (-1, 1)), stats.ttest_ind(first, second)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.test == "Student"


def test_no_spread_at_all_says_nothing_of_a_difference():
    assert welch_difference(mean_of([1] * 10), mean_of([0] * 20), ANY) is None
    assert welch_difference(mean_of([1] * 10), mean_of([1] * 20), ANY).p_value == 1
    assert welch_difference(GroupValue(1.0, np.array([1.0, math.nan])), mean_of([0, 1, 2]), ANY) is None


def test_the_interval_stays_within_the_bounds():
    assert welch_difference(mean_of([0, 1] * 5), mean_of([1, 0] * 5), (-0.1, 0.2)).ends == (-0.1, 0.2)


@pytest.mark.parametrize("hits", [(0, 0), (10, 90), (10, 50), (0, 50), (3, 77), (7, 60)])
def test_fishers_test_is_scipys(hits):
    images = (10, 90)
    table = [[hit, count - hit] for hit, count in zip(hits, images, strict=True)]
    assert fisher_p_value(hits, images) == pytest.approx(stats.fisher_exact(table).pvalue)


def test_an_interval_of_two_shares_holds_their_difference():
    found = share_difference((10, 50), (10, 100))
    assert found.value == pytest.approx(0.5)
    assert -1 <= found.ends[0] < 0.5 <= found.ends[1] <= 1
    assert found.ends[0] > 0  # as certain as the p-value says
    assert found.p_value < 0.05


def test_false_alarms_are_as_many_as_they_may_be():
    """Of two groups of the same kind, of which one is small and skewed, at most about 5 % differ."""
    generator = np.random.default_rng(0)
    p_values = []
    for _ in range(2000):
        first, second = generator.gamma(2, 1, 15), generator.gamma(2, 1, 300)
        p_values.append(welch_difference(mean_of(first), mean_of(second), ANY).p_value)
    assert np.mean(np.array(p_values) < 0.05) < 0.08
