import numpy as np
import pytest
from scipy.stats import binomtest, ttest_1samp
from scipy.stats import t as student_t
from sklearn.metrics import f1_score

from captionlab.statistics import intervals
from captionlab.statistics.intervals import (
    ANY,
    FROM_0,
    PER_CENT,
    bootstrap_interval,
    bootstrap_p_value,
    bootstrap_share_interval,
    bootstrap_t_p_value,
    difference_bounds,
    effective_units,
    f1_interval,
    geometric_interval,
    independent_difference,
    jackknife_resampled,
    least_paired_interval,
    mcnemar_p_value,
    paired_share_interval,
    percentile_interval,
    resampled_sums,
    seeds_interval,
    share_interval,
    splits_interval,
    student_interval,
    symmetric_interval,
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


def test_the_jackknife_of_a_mean_resamples_it_as_a_bootstrap_does():
    rows = np.random.default_rng(2).normal(size=(9, 2))
    without = np.array([np.delete(rows, row, axis=0).mean(axis=0) for row in range(9)])
    drawn = np.random.default_rng([4, 9]).integers(0, 9, (intervals.RESAMPLES, 9))
    np.testing.assert_allclose(jackknife_resampled(rows.mean(axis=0), without, 4), rows[drawn].mean(axis=1), atol=1e-12)


def test_the_jackknife_of_one_row_does_not_vary():
    np.testing.assert_array_equal(jackknife_resampled(np.array([3.0]), np.array([[0.0]]), 0), 3.0)


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


def test_a_p_value_below_the_smallest_of_the_bootstrap_is_of_students_t():
    values = np.random.default_rng(2).normal(1.0, 1.0, 40)
    resampled = resampled_sums(values[:, None], seed=0)[:, 0] / len(values)
    mean = float(values.mean())
    assert bootstrap_p_value(resampled) == pytest.approx(2 / 2001)
    found = bootstrap_t_p_value(mean, resampled, len(values))
    assert found == pytest.approx(2 * student_t.sf(mean / resampled.std(), len(values) - 1))
    assert np.log10(found) == pytest.approx(np.log10(ttest_1samp(values, 0).pvalue), abs=0.5)
    assert found < 1e-5
    # With few units the tail is heavy, so the bootstrap's p-value stays.
    assert bootstrap_t_p_value(mean, resampled, 2) == bootstrap_p_value(resampled)
    nothing = values - mean + 0.1
    resampled = resampled_sums(nothing[:, None], seed=0)[:, 0] / len(values)
    assert bootstrap_t_p_value(0.1, resampled, len(values)) == bootstrap_p_value(resampled) > 0.05
    assert bootstrap_t_p_value(1.0, np.ones(1999), 40) == pytest.approx(2 / 2000)


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


def test_units_that_are_all_alike_leave_some_of_another_kind_unseen_of_a_share():
    """30 images have 4 each and another may have 0 to 100: an interval of 97.5 % for how many such there may be."""
    share = binomtest(0, 30).proportion_ci(method="exact").high
    assert unseen(30) == pytest.approx(share)
    same, some = np.full(100, 4.0), np.repeat([4.0, 5.0], [90, 10])
    assert bootstrap_share_interval(4.0, same, 30, PER_CENT) == pytest.approx((4 - 4 * share, 4 + 96 * share))
    assert bootstrap_share_interval(4.0, some, 30, PER_CENT) == bootstrap_interval(4.0, some, PER_CENT) == (4.0, 5.0)


def test_what_is_no_share_has_no_width_where_nothing_varies():
    same = np.full(100, 4.0)
    assert bootstrap_interval(4.0, same, PER_CENT) == (4.0, 4.0)
    assert symmetric_interval(4.0, same, PER_CENT) == (4.0, 4.0)
    assert student_interval(np.array([0.5, 0.5]), (0.0, 1.0)) == (0.5, 0.5, 0.5)
    assert geometric_interval(np.array([7.0]), np.full((1, 50), 7.0), FROM_0) == pytest.approx((7.0, 7.0, 7.0))


def test_no_interval_leaves_the_bounds_of_what_is_measured():
    """Two trainings 400 apart: Student's t with one degree of freedom reaches 2,541 to either side."""
    values = np.array([300.0, 700.0])
    reach = student_t.ppf(0.975, 1) * 200
    assert seeds_interval(values, (500.0, 500.0), ANY) == pytest.approx((500.0, 500.0 - reach, 500.0 + reach))
    assert seeds_interval(values, (450.0, 550.0), (0.0, 1000.0)) == (500.0, 0.0, 1000.0)
    assert geometric_interval(values, np.array([[300.0], [700.0]]), (5.0, 10_000.0))[1:] == (5.0, 10_000.0)
    resampled = np.linspace(-5.0, 120.0, 1001)
    assert bootstrap_interval(50.0, resampled, PER_CENT) == bootstrap_share_interval(50.0, resampled, 30, PER_CENT)
    assert bootstrap_interval(50.0, resampled, PER_CENT) == (0.0, 100.0)
    assert difference_bounds(PER_CENT) == (-100.0, 100.0)
    assert difference_bounds(FROM_0) == difference_bounds(ANY) == ANY


def test_a_value_that_no_resample_reaches_is_in_its_interval():
    resampled = np.linspace(0.7, 0.9, 1001)
    assert bootstrap_interval(1.0, resampled, (0.0, 1.0)) == pytest.approx((0.705, 1.0))
    assert bootstrap_interval(0.5, resampled, (0.0, 1.0)) == pytest.approx((0.5, 0.895))
    # Of 100 resamples 95 are at most 0.29 below 1, and at most 0.1 - 0.005 from 0.8 on either side.
    assert symmetric_interval(1.0, resampled, (0.0, 1.0)) == pytest.approx((0.71, 1.0))
    assert symmetric_interval(0.8, resampled, (0.0, 1.0)) == pytest.approx((0.705, 0.895))


def test_trainings_that_agree_still_have_the_interval_of_their_images():
    assert seeds_interval(np.array([1.0, 1.0, 1.0]), (0.9, 1.0), (0.0, 1.0)) == pytest.approx((1.0, 0.9, 1.0))


def test_students_interval_ends_where_its_values_do():
    assert student_interval(np.array([0.1, 0.9]), (-1.0, 1.0)) == pytest.approx((0.5, -1.0, 1.0))
    with pytest.raises(ValueError, match="at least 2 values"):
        student_interval(np.array([0.1]), (-1.0, 1.0))


# ------------------------------------------------------------------------------------------------------------ splits
def test_splits_that_share_images_have_the_corrected_interval():
    values = np.array([0.8, 0.9, 0.85, 0.7])
    error = (values.var(ddof=1) * (1 / 4 + 0.3 / 0.7)) ** 0.5
    expected = student_t.interval(0.95, 3, loc=values.mean(), scale=error)
    assert splits_interval(values, 0.3, (0.8, 0.82), (0.0, 2.0))[1:] == pytest.approx(expected)
    assert splits_interval(values, 0.3, (0.1, 0.9), (0.0, 1.0))[1:] == pytest.approx((0.1, 1.0))
    with pytest.raises(ValueError, match="at least 2 values"):
        splits_interval(values[:1], 0.3, (0.0, 1.0), (0.0, 1.0))


@pytest.mark.parametrize("shares", [(0.99, 0.99, 0.99), (0.9901, 0.99, 0.9899)])
def test_splits_that_are_nearly_equal_say_no_more_than_the_images_of_one(shares):
    """148.5 of 150: between the intervals of 148 and of 149."""
    ends = share_interval(0.99, 0.0, 150, 150)
    _, low, high = splits_interval(np.array(shares), 0.5, ends, (0.0, 1.0))
    assert binomtest(148, 150).proportion_ci(method="exact").low < low < 0.9634
    assert 0.998 < high < binomtest(149, 150).proportion_ci(method="exact").high


def _splits(of_images, generator, splits=3):
    """Means over random halves of images."""
    half = len(of_images) // 2
    return np.array([of_images[generator.permutation(len(of_images))[:half]].mean() for _ in range(splits)])


def _student(values):
    """The ends of the corrected interval of splits in halves, written out."""
    error = (values.var(ddof=1) * (1 / len(values) + 1)) ** 0.5
    distance = student_t.ppf(0.975, len(values) - 1) * error
    return values.mean() - distance, values.mean() + distance


@pytest.mark.parametrize(("right", "alone"), [(0.8, 0.93), (0.99, 0.83)])
def test_splits_cover_what_other_images_would_show(right, alone):
    """How often a rule is right on half of 300 images, in three random halves: 95 intervals of 100 hold the truth.

    Student's t alone falls far short of it for shares near 1, and without its correction elsewhere too.
    """
    generator = np.random.default_rng(0)
    covered = {"splits": 0, "student alone": 0, "as if independent": 0}
    for _ in range(400):
        shares = _splits(generator.random(300) < right, generator)
        of_one = share_interval(shares.mean(), 0.0, 150, 150)
        for name, (low, high) in {
            "splits": splits_interval(shares, 0.5, of_one, (0.0, 1.0))[1:],
            "student alone": _student(shares),
            "as if independent": student_t.interval(0.95, 2, shares.mean(), max(1e-9, shares.std(ddof=1) / 3**0.5)),
        }.items():
            covered[name] += low <= right <= high
    assert covered["splits"] / 400 >= 0.95
    assert covered["student alone"] / 400 == pytest.approx(alone, abs=0.03)
    assert covered["as if independent"] / 400 < 0.93


@pytest.mark.parametrize(("first", "second"), [(0.01, 0.01), (0.03, 0.0), (0.3, 0.3)])
def test_differences_over_splits_cover_what_other_images_would_show(first, second):
    """Of 300 images, shares on which only the first of two rules is right, or only the second."""
    generator, covered = np.random.default_rng(0), 0
    for _ in range(400):
        apart = generator.choice([1.0, -1.0, 0.0], 300, p=[first, second, 1 - first - second])
        values = _splits(apart, generator)
        of_one = least_paired_interval(values.mean(), 150)
        _, low, high = splits_interval(values, 0.5, of_one, (-1.0, 1.0))
        covered += low <= first - second <= high
    assert covered / 400 >= 0.94


@pytest.mark.parametrize(("difference", "units"), [(0.0, 20), (0.3, 20), (-1.0, 20), (1.0, 1)])
def test_a_difference_of_unknown_images_has_the_interval_of_the_fewest(difference, units):
    of_images = np.array([np.sign(difference)] * round(abs(difference) * units))
    fewest = np.concatenate([of_images, np.zeros(units - len(of_images))])
    found = least_paired_interval(difference, units)
    assert found == pytest.approx(paired_share_interval(fewest))
    assert found[0] <= difference <= found[1]


def test_groups_of_unequal_size_are_worth_fewer_units():
    """The variance of the mean over groups of the means of independent units, against that of one mean over units."""
    assert effective_units([25, 25, 25, 25]) == pytest.approx(100)
    generator = np.random.default_rng(0)
    groups = [generator.normal(size=(20000, size)).mean(1) for size in (60, 30, 10)]
    assert 1 / np.mean(groups, axis=0).var() == pytest.approx(effective_units([60, 30, 10]), rel=0.05)


@pytest.mark.parametrize("right", [0.98, 0.85, 0.5])
def test_intervals_of_f1_cover_what_other_images_would_show(right):
    """Four classes of unequal size, each told with this probability and else taken for any other: 150 images."""
    share = np.array([0.5, 0.3, 0.15, 0.05])
    confusion = np.where(np.eye(4) > 0, right, (1 - right) / 3)
    joint = share[:, None] * confusion
    of_class = 2 * np.diag(joint) / (joint.sum(0) + joint.sum(1))
    truth = {"macro": of_class.mean(), "weighted": of_class @ share, "common": of_class[0], "rare": of_class[2:].mean()}
    truth["gap"] = truth["rare"] - of_class[:2].mean()
    generator, covered = np.random.default_rng(0), dict.fromkeys(truth, 0)
    for _ in range(300):
        drawn = generator.choice(16, 150, p=joint.ravel() / joint.sum())
        wanted, found = drawn // 4, drawn % 4
        counts = np.maximum(np.bincount(wanted, minlength=4), 1)
        f1 = f1_score(wanted, found, average=None, labels=range(4), zero_division=0.0)
        for name, value, units in (
            ("macro", f1.mean(), effective_units(counts)), ("weighted", f1 @ counts / counts.sum(), 150),
            ("common", f1[0], counts[0]), ("rare", f1[2:].mean(), effective_units(counts[2:])),
        ):  # fmt: skip
            low, high = f1_interval(value, units)
            assert 0 <= low <= value <= high <= 1
            covered[name] += low <= truth[name] <= high
        sides = ((f1[part].mean(), effective_units(counts[part])) for part in (slice(2, 4), slice(2)))
        rare, others = ((value, *f1_interval(value, units)) for value, units in sides)
        value, low, high = independent_difference(rare, others)
        assert low <= value <= high
        covered["gap"] += low <= truth["gap"] <= high
    assert min(covered.values()) / 300 >= 0.95


def test_a_difference_of_other_images_joins_distances_by_squares():
    assert independent_difference((0.5, 0.2, 0.58), (0.3, 0.24, 0.7)) == pytest.approx((0.2, -0.3, 0.3))
