"""Differences between any two captioners: pairs, seeds, tests of other libraries, corrections and coverage."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import permutation_test
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from captionlab.evaluation.summary import Job, Metric, caption_results, compared, comparison_columns, mean
from captionlab.statistics.intervals import FROM_0, PER_CENT

MEAN = {"CIDEr": Metric("cider", mean, (0.0, 1000.0))}


def results_of(captioner, values, metrics=MEAN, column="cider", evaluation="main", seed=3):
    """The results of a captioner from a value for each image."""
    images = [f"image{number:04}" for number in range(len(values))]
    table = pa.table({"corpus": ["toy"] * len(values), "image_id": images, column: np.asarray(values, float)})
    return list(caption_results(Job(captioner, evaluation, "greedy", {"toy": "test"}), table, seed, metrics))


def rows_of(results, pairs, parents=None, trainings=None):
    columns = comparison_columns(results, parents or {}, {}, trainings or {}, pairs)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def draws(seed, count=4, images=50):
    generator = np.random.default_rng(seed)
    return generator.gamma(1.0, 0.8, (count, images)) + 0.1 * np.arange(count)[:, None]


def test_pairs_of_an_evaluation():
    values = dict(zip("abcd", draws(0), strict=True))
    results = [result for name, of_one in values.items() for result in results_of(name, of_one)]
    results += results_of("a", values["a"], evaluation="other") + results_of("b", values["b"], evaluation="other")
    rows = rows_of(results, {"main": [["a", "b"], ["d", "a"]]})
    assert [(row["captioner"], row["against"], row["evaluation"]) for row in rows] == [
        ("a", "b", "main"),
        ("d", "a", "main"),
    ]
    assert rows[0]["difference"] == pytest.approx(100 * (values["a"] - values["b"]).mean())
    corrected = multipletests([row["p_value"] for row in rows], method="holm")[1]
    assert [row["p_holm"] for row in rows] == pytest.approx(list(corrected))


def test_a_parent_is_compared_once_and_counts():
    results = [result for name, of_one in zip("abc", draws(1), strict=False) for result in results_of(name, of_one)]
    rows = rows_of(results, {"main": [["a", "b"], ["b", "c"]]}, parents={"b": "a"})
    assert [(row["captioner"], row["against"]) for row in rows] == [("b", "a"), ("b", "c")]
    corrected = multipletests([row["p_value"] for row in rows], method="holm")[1]
    assert [row["p_holm"] for row in rows] == pytest.approx(list(corrected))


def test_other_metrics_are_other_families():
    metrics = {**MEAN, "again": Metric("cider", mean, FROM_0)}
    results = [
        result for name, of_one in zip("ab", draws(2), strict=False) for result in results_of(name, of_one, metrics)
    ]
    for row in rows_of(results, {"main": [["a", "b"]]}):
        assert row["p_holm"] == row["p_value"]


def test_seeds_are_compared_seed_by_seed():
    values = draws(4, count=6)
    names = ["a", "a-2", "a-3", "b", "b-2", "b-3"]
    results = [result for name, of_one in zip(names, values, strict=True) for result in results_of(name, of_one)]
    rows = rows_of(results, {"main": [["a", "b"]]}, trainings={"a": names[:3], "b": names[3:]})
    apart = 100 * (values[:3] - values[3:]).mean(axis=1)
    assert (rows[0]["captioner"], rows[0]["against"], rows[0]["seeds"]) == ("a", "b", 3)
    assert rows[0]["difference"] == pytest.approx(apart.mean())
    assert rows[0]["p_value"] is rows[0]["p_holm"] is None
    assert [(row["captioner"], row["against"]) for row in rows[1:]] == list(zip(names[:3], names[3:], strict=True))
    assert [row["difference"] for row in rows[1:]] == pytest.approx(list(apart))


def test_a_captioner_without_seeds_is_compared_with_each_training():
    values = draws(5, count=3)
    results = [r for name, one in zip(["people", "b", "b-2"], values, strict=True) for r in results_of(name, one)]
    rows = rows_of(results, {"main": [["people", "b"]]}, trainings={"b": ["b", "b-2"]})
    assert [(row["captioner"], row["against"], row["seeds"]) for row in rows] == [
        ("b", "people", 2),
        ("b", "people", 1),
        ("b-2", "people", 1),
    ]


@pytest.mark.parametrize("shift", [0.0, 0.25])
def test_the_p_value_is_near_that_of_a_permutation_test(shift):
    """scipy's test of the sign of each image's difference; the bootstrap tests the same mean by other resamples."""
    generator = np.random.default_rng(11)
    first, second = generator.gamma(1.0, 0.8, (2, 80))
    first = first + shift
    found = compared(results_of("a", first)[0], results_of("b", second)[0])
    expected = permutation_test(
        (first, second), lambda x, y, axis: (x - y).mean(axis=axis), permutation_type="samples", vectorized=True,
        n_resamples=20_000, random_state=1,
    ).pvalue  # fmt: skip
    assert found["p_value"] == pytest.approx(expected, abs=0.03)


def test_the_p_value_is_near_that_of_all_permutations():
    """All 2^12 signs of 12 differences, written out."""
    differences = np.random.default_rng(4).normal(0.3, 0.6, 12)
    signs = np.array([*product([-1, 1], repeat=12)])
    means = (signs * differences).mean(axis=1)
    expected = (np.abs(means) >= abs(differences.mean()) - 1e-12).mean()
    found = compared(results_of("a", 5 + differences)[0], results_of("b", np.full(12, 5.0))[0])
    # The bootstrap of 12 images is narrower than the truth by sqrt(11 / 12), so its p is smaller than the exact one.
    assert 0.2 * expected <= found["p_value"] <= expected + 0.02


def test_the_first_place_is_tested_as_statsmodels_does():
    generator = np.random.default_rng(8)
    first, second = (generator.random((2, 200)) < [[0.7], [0.55]]).astype(float)
    metrics = {"P@1": Metric("hit", mean, PER_CENT, share=True)}
    found = compared(*(results_of(name, hits, metrics, "hit")[0] for name, hits in (("a", first), ("b", second))))
    table = [[((first == a) & (second == b)).sum() for b in (1, 0)] for a in (1, 0)]
    assert found["test"] == "exact McNemar"
    assert found["p_value"] == pytest.approx(mcnemar(table, exact=True).pvalue)


@pytest.mark.parametrize(("images", "least"), [(30, 0.90), (200, 0.93)])
def test_intervals_of_differences_cover_the_truth(images, least):
    """Skewed scores that are alike on an image: 400 draws, Monte Carlo error 0.011 at 95 %."""
    generator, covered = np.random.default_rng(images), 0
    for draw in range(400):
        common = generator.gamma(1.0, 0.8, images)
        first, second = (common * generator.gamma(4.0, 0.25, images) for _ in range(2))
        found = compared(results_of("a", first + 0.1, seed=draw)[0], results_of("b", second, seed=draw)[0])
        covered += found["ci_low"] <= 10.0 <= found["ci_high"]
    assert least <= covered / 400 <= 0.98


def test_intervals_of_differences_of_shares_cover_the_truth():
    generator, covered = np.random.default_rng(2), 0
    metrics = {"P@1": Metric("hit", mean, PER_CENT, share=True)}
    for draw in range(400):
        ease = generator.beta(2, 1, 100)
        first, second = ((generator.random(100) < chance).astype(float) for chance in (ease, 0.8 * ease))
        pair = [results_of(name, hits, metrics, "hit", seed=draw)[0] for name, hits in (("a", first), ("b", second))]
        found = compared(*pair)
        covered += found["ci_low"] <= 100 * 0.2 * 2 / 3 <= found["ci_high"]
    assert 0.93 <= covered / 400 <= 1
