import numpy as np
import pytest
from scipy.stats import binomtest

from captionlab.evaluation import intervals
from captionlab.evaluation.intervals import (
    bootstrap_p_value,
    mcnemar_p_value,
    percentile_interval,
    resampled_sums,
)


def test_resampled_sums_equal_a_loop_over_the_same_draws():
    values = np.random.default_rng(1).normal(size=(7, 3))
    drawn = np.random.default_rng([5, 7]).integers(0, 7, (50, 7))
    expected = [sum(values[image] for image in sample) for sample in drawn]
    np.testing.assert_allclose(resampled_sums(values, seed=5, resamples=50), expected, rtol=1e-12)


def test_the_resamples_do_not_depend_on_how_many_are_made_at_a_time(monkeypatch):
    values = np.random.default_rng(1).integers(0, 9, size=(11, 2))
    whole = resampled_sums(values, seed=0, resamples=40)
    monkeypatch.setattr(intervals, "DRAWS", 30)
    np.testing.assert_array_equal(whole, resampled_sums(values, seed=0, resamples=40))


def test_the_same_images_are_drawn_whatever_the_values():
    both = resampled_sums(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), seed=3)
    np.testing.assert_allclose(both[:, 1], 10 * both[:, 0])
    assert not np.array_equal(both, resampled_sums(np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]]), seed=4))


def test_the_interval_of_a_mean_has_the_width_that_theory_gives():
    values = np.random.default_rng(0).normal(size=(2000, 1))
    low, high = percentile_interval(resampled_sums(values, seed=0)[:, 0] / 2000)
    assert high - low == pytest.approx(2 * 1.96 * values.std() / 2000**0.5, rel=0.06)
    assert low < values.mean() < high


def test_the_interval_is_of_percentiles():
    assert percentile_interval(np.arange(1001.0), level=0.9) == pytest.approx((50, 950))


def test_a_value_that_is_not_finite_is_an_error():
    with pytest.raises(ValueError, match="row 2 of the values"):
        resampled_sums(np.array([[1.0], [2.0], [np.nan]]), seed=0)


def test_bootstrap_p_value_counts_the_far_side():
    differences = np.array([-1.0] * 3 + [2.0] * 96)
    assert bootstrap_p_value(differences) == pytest.approx(2 * 4 / 100)
    assert bootstrap_p_value(-differences) == pytest.approx(2 * 4 / 100)
    assert bootstrap_p_value(np.ones(1999)) == pytest.approx(2 / 2000)
    assert bootstrap_p_value(np.zeros(99)) == 1.0


def test_bootstrap_p_values_are_uniform_when_nothing_differs():
    generator = np.random.default_rng(0)
    p_values = []
    for _ in range(200):
        differences = generator.normal(size=(80, 1))
        p_values.append(bootstrap_p_value(resampled_sums(differences, seed=0, resamples=400)[:, 0]))
    assert np.mean(np.array(p_values) < 0.1) == pytest.approx(0.1, abs=0.06)
    assert np.mean(np.array(p_values) < 0.5) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(("first", "second"), [(0, 0), (3, 0), (2, 9), (40, 41), (600, 480)])
def test_mcnemar_equals_the_binomial_test(first, second):
    a = np.array([True] * first + [False] * second + [True, False] * 5)
    b = np.array([False] * first + [True] * second + [True, False] * 5)
    expected = binomtest(first, first + second).pvalue if first + second else 1.0
    assert mcnemar_p_value(a, b) == pytest.approx(expected, rel=1e-9)
