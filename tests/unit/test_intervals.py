import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import t as student_t

from captionlab.evaluation import intervals
from captionlab.evaluation.intervals import (
    bootstrap_interval,
    bootstrap_p_value,
    geometric_interval,
    mcnemar_p_value,
    paired_share_interval,
    percentile_interval,
    resampled_sums,
    seeds_interval,
    share_interval,
    splits_interval,
    student_interval,
    unseen,
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


# ------------------------------------------------------------------------------------------------- no width of 0
@pytest.mark.parametrize(("hits", "images"), [(0, 5), (5, 5), (1, 60), (59, 60), (31, 100), (1000, 1000)])
def test_the_interval_of_a_share_of_independent_images_is_that_of_clopper_and_pearson(hits, images):
    share = hits / images
    expected = binomtest(hits, images).proportion_ci(method="exact")
    found = share_interval(share, share * (1 - share) / images, images, images)
    assert found == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found[0] < found[1]


def test_captions_of_an_image_count_as_far_as_they_differ():
    """200 images with five captions each: all alike they are one sample, independent they are five."""
    generator = np.random.default_rng(3)

    def ends(hits):
        resampled = resampled_sums(hits.sum(1, keepdims=True), seed=1)[:, 0] / hits.size
        return share_interval(hits.mean(), resampled.var(), *hits.shape[:1], hits.size)

    alike, apart = np.repeat(generator.random((200, 1)) < 0.9, 5, 1), generator.random((200, 5)) < 0.9
    for hits, units in ((alike, 200), (apart, 1000)):
        low, high = ends(hits.astype(float))
        expected = binomtest(round(hits.mean() * units), units).proportion_ci(method="exact")
        assert high - low == pytest.approx(expected.high - expected.low, rel=0.1)
    # Where no image differs from another, nothing says that its captions are independent.
    assert ends(np.ones((200, 5)))[0] == pytest.approx(0.025 ** (1 / 200))


@pytest.mark.parametrize(("first", "second", "images"), [(0, 0, 20), (3, 0, 20), (0, 20, 20), (9, 14, 500)])
def test_a_difference_of_shares_has_bonett_and_prices_interval(first, second, images):
    """From the counts of the four cells, as their paper has it."""
    differences = np.array([1.0] * first + [-1.0] * second + [0.0] * (images - first - second))
    p, q = (first + 1) / (images + 2), (second + 1) / (images + 2)
    distance = 1.959964 * ((p + q - (p - q) ** 2) / (images + 2)) ** 0.5
    low, high = paired_share_interval(differences)
    assert (low, high) == pytest.approx((max(-1, p - q - distance), min(1, p - q + distance)), abs=1e-6)
    assert low < high
    assert low <= differences.mean() <= high


def test_units_that_are_all_alike_leave_some_of_another_kind_unseen():
    """30 images have 4 each and another may have 0 to 100: an interval of 97.5 % for how many such there may be."""
    share = binomtest(0, 30).proportion_ci(method="exact").high
    assert unseen(30) == pytest.approx(share)
    same = np.full(100, 4.0)
    assert bootstrap_interval(same, 30, (0.0, 100.0)) == pytest.approx((4 - 4 * share, 4 + 96 * share))
    assert bootstrap_interval(np.repeat([4.0, 5.0], [90, 10]), 30, (0.0, 100.0)) == (4.0, 5.0)
    assert student_interval(np.array([0.5, 0.5]), 0.5, 30, (0.0, 1.0)) == pytest.approx(
        (0.5, 0.5 - 0.5 * share, 0.5 + 0.5 * share)
    )


def test_trainings_that_agree_still_have_the_interval_of_their_images():
    assert seeds_interval(np.array([1.0, 1.0, 1.0]), (0.9, 1.0)) == pytest.approx((1.0, 0.9, 1.0))
    mean, low, high = geometric_interval(np.array([7.0]), np.full((1, 50), 7.0), 100)
    assert mean == pytest.approx(7.0)
    assert low < 7.0 < high


def test_splits_that_share_images_have_the_corrected_interval():
    values = np.array([0.8, 0.9, 0.85, 0.7])
    error = (values.var(ddof=1) * (1 / 4 + 0.3 / 0.7)) ** 0.5
    expected = student_t.interval(0.95, 3, loc=values.mean(), scale=error)
    assert splits_interval(values, 0.3, 100, (0.0, 1.0))[1:] == pytest.approx(expected)
    with pytest.raises(ValueError, match="at least 2 values"):
        splits_interval(values[:1], 0.3, 100, (0.0, 1.0))


def test_splits_cover_what_other_images_would_show():
    """How often a rule is right on half of 200 images, in three random halves: 95 intervals of 100 hold the truth."""
    generator = np.random.default_rng(0)
    covered = {"corrected": 0, "as if independent": 0}
    for _ in range(400):
        right = generator.random(200) < 0.8
        shares = np.array([right[generator.permutation(200)[:100]].mean() for _ in range(3)])
        for name, (_, low, high) in {
            "corrected": splits_interval(shares, 0.5, 100, (0.0, 1.0)),
            "as if independent": student_interval(shares, 1 / 3, 100, (0.0, 1.0)),
        }.items():
            covered[name] += low <= 0.8 <= high
    assert covered["corrected"] / 400 >= 0.93
    assert covered["as if independent"] / 400 < 0.93
