"""Agreement of metrics with people, against scipy and against naive loops over pairs and over resamples."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr

from captionlab.judgements.coefficients import (
    ACCURACY,
    PEARSON,
    SAME_RATINGS,
    SAME_SCORES,
    TAU_B,
    TAU_C,
    preference_agreements,
    rating_agreements,
)
from captionlab.judgements.correlation import ONE_IMAGE, Scores, agreement_rows
from captionlab.judgements.schemas import CORRELATIONS, DIFFERENCES
from captionlab.statistics.intervals import RESAMPLES
from captionlab.storage.tables import conform

SEED = 3


def naive_taus(x, y):
    """Tau-b and tau-c of n values each, pair by pair."""
    excess = tied_x = tied_y = 0
    for (a, b), (c, d) in combinations(zip(x, y, strict=True), 2):
        excess += int(np.sign(a - c) * np.sign(b - d))
        tied_x += a == c
        tied_y += b == d
    pairs, levels = math.comb(len(x), 2), min(len(set(x)), len(set(y)))
    tau_b = excess / math.sqrt((pairs - tied_x) * (pairs - tied_y))
    return tau_b, 2 * excess / (len(x) ** 2 * (levels - 1) / levels)


def drawn_images(images):
    """The images of each bootstrap sample: those that the seed and their number give."""
    return np.random.default_rng([SEED, images]).integers(0, images, (RESAMPLES, images))


def made_up(images=12, captions=4, judges=3, seed=0):
    """Images, scores with ties, and ratings 1 to 4: a row for each judge."""
    generator = np.random.default_rng(seed)
    scores = np.repeat(generator.integers(0, 9, images * captions) / 4, judges)
    ratings = np.clip(np.round(scores + generator.normal(1.5, 1.2, len(scores))), 1, 4)
    return np.repeat([f"image{n:02d}" for n in range(images)], captions * judges), scores, ratings


def test_coefficients_are_those_of_scipy_and_of_a_count_of_pairs():
    images, scores, ratings = made_up()
    found = {one.coefficient: one for one in rating_agreements(images, scores, ratings, SEED)}
    assert found[TAU_B].value == pytest.approx(kendalltau(scores, ratings, variant="b")[0], abs=1e-12)
    assert found[TAU_C].value == pytest.approx(kendalltau(scores, ratings, variant="c")[0], abs=1e-12)
    assert (found[TAU_B].value, found[TAU_C].value) == pytest.approx(naive_taus(scores, ratings), abs=1e-12)
    assert found[PEARSON].value == pytest.approx(pearsonr(scores, ratings)[0], abs=1e-12)
    assert {(one.images, one.n) for one in found.values()} == {(12, 144)}


def test_resamples_are_those_of_a_loop_that_draws_images():
    images, scores, ratings = made_up(images=15, seed=1)
    found = {one.coefficient: one.resampled for one in rating_agreements(images, scores, ratings, SEED)}
    names = np.unique(images)
    for resample, drawn in list(enumerate(drawn_images(len(names))))[:40]:
        rows = np.concatenate([np.flatnonzero(images == names[image]) for image in drawn])
        x, y = scores[rows], ratings[rows]
        assert len(set(x)) >= 4
        assert len(set(y)) == 4
        assert found[TAU_B][resample] == pytest.approx(kendalltau(x, y, variant="b")[0], abs=1e-12)
        assert found[TAU_C][resample] == pytest.approx(kendalltau(x, y, variant="c")[0], abs=1e-12)
        assert found[PEARSON][resample] == pytest.approx(pearsonr(x, y)[0], abs=1e-12)


def test_the_order_of_judgements_does_not_matter():
    images, scores, ratings = made_up()
    order = np.random.default_rng(5).permutation(len(images))
    here = rating_agreements(images, scores, ratings, SEED)
    there = rating_agreements(images[order], scores[order], ratings[order], SEED)
    for one, other in zip(here, there, strict=True):
        np.testing.assert_allclose(one.resampled, other.resampled, atol=1e-12)


def test_accuracy_is_a_count_of_pairs_in_which_a_draw_is_half():
    votes = np.array([30, -4, 0, 2, 6, -8])
    margins = np.array([0.1, -0.2, 0.3, 0.0, -0.5, 0.7])
    categories = ["HC", "HC", "HI", "HI", "MM", "MM"]
    # right, right, people draw, metric draws, wrong, wrong
    credit = [1, 1, 0.5, 0.5, 0, 0]
    found = preference_agreements(list("aabbcc"), votes, margins, categories, SEED)
    assert [(one.category, one.value, one.images, one.n) for one in found] == [
        (None, sum(credit) / 6, 3, 6), ("HC", 1.0, 1, 2), ("HI", 0.5, 1, 2), ("MM", 0.0, 1, 2),
    ]  # fmt: skip
    shares = {"a": 1.0, "b": 0.5, "c": 0.0}
    expected = [np.mean([shares["abc"[image]] for image in drawn]) for drawn in drawn_images(3)]
    np.testing.assert_allclose(found[0].resampled, expected)


def test_accuracy_weighs_images_by_their_pairs():
    (found,) = preference_agreements(list("abb"), np.array([1, 1, 1]), np.array([1, -1, -1]), [None] * 3, SEED)
    assert found.value == pytest.approx(1 / 3)
    right, pairs = {0: 1, 1: 0}, {0: 1, 1: 2}
    for resample, drawn in list(enumerate(drawn_images(2)))[:20]:
        expected = sum(right[image] for image in drawn) / sum(pairs[image] for image in drawn)
        assert found.resampled[resample] == pytest.approx(expected)
    assert found.shares.mean() == pytest.approx(found.value)


# ------------------------------------------------------------------------------------------------------- tables
def rated(images=30, seed=0):
    """Rows of RATINGS, four captions of each image by three judges, and the quality of each caption."""
    generator = np.random.default_rng(seed)
    quality = {(f"image{n}", index): float(generator.normal()) for n in range(images) for index in range(4)}
    return quality, [
        {"image_id": image, "caption_index": index, "judge": judge,
         "rating": float(np.clip(round(2.5 + worth + generator.normal()), 1, 4))}
        for (image, index), worth in quality.items() for judge in "abc"
    ]  # fmt: skip


def noisy(quality, noise, name, scorer=None, seed=9):
    generator = np.random.default_rng(seed)
    return Scores(name, scorer, {key: worth + noise * generator.normal() for key, worth in quality.items()})


def preferences_of(quality, category=None):
    images = list(dict.fromkeys(image for image, _ in quality))
    return [
        {"image_id": image, "caption_index": 0, "other_index": other, "category": category,
         "votes": 10 + round(5 * quality[image, 0]), "other_votes": 10 + round(5 * quality[image, other])}
        for image in images for other in (1, 2)
    ]  # fmt: skip


def by_coefficient(rows, metric, category=None):
    wanted = (row for row in rows if row["metric"] == metric and row["category"] == category)
    return {row["coefficient"]: row for row in wanted}


def test_each_of_three_judges_is_an_observation():
    """As flickr8k_example in the repository of CLIPScore has it: a row for each judgement, no means over judges."""
    quality, ratings = rated()
    metric = noisy(quality, 0.5, "CIDEr")
    values, _ = agreement_rows([metric], ratings, [], SEED)
    scores, judged = [], []
    for key in quality:
        for row in ratings:
            if (row["image_id"], row["caption_index"]) == key:
                scores.append(metric.values[key])
                judged.append(row["rating"])
    assert len(scores) == 360
    found = by_coefficient(values, "CIDEr")
    assert found[TAU_C]["value"] == pytest.approx(kendalltau(scores, judged, variant="c")[0], abs=1e-12)
    assert (found[TAU_C]["n"], found[TAU_C]["images"]) == (360, 30)
    of_means = kendalltau(scores[::3], np.reshape(judged, (-1, 3)).mean(axis=1), variant="c")[0]
    assert found[TAU_C]["value"] != pytest.approx(of_means, abs=1e-3)


def test_two_metrics_are_compared_on_the_same_resamples():
    quality, ratings = rated()
    good, bad = noisy(quality, 0.2, "CLIPScore", "clip"), noisy(quality, 3.0, "CIDEr")
    preferences = preferences_of(quality)
    values, differences = agreement_rows([good, bad], ratings, preferences, SEED)
    conform(values, CORRELATIONS, "correlations")
    conform(differences, DIFFERENCES, "differences")
    assert [row["coefficient"] for row in differences] == [TAU_B, TAU_C, PEARSON, ACCURACY]
    ours, theirs = by_coefficient(values, "CLIPScore"), by_coefficient(values, "CIDEr")
    for row in differences:
        name = row["coefficient"]
        assert (row["against"], row["scorer"], row["against_scorer"]) == ("CIDEr", "clip", None)
        assert row["difference"] == pytest.approx(ours[name]["value"] - theirs[name]["value"], abs=1e-12)
        assert 0 < row["ci_low"] < row["difference"] < row["ci_high"]
        assert row["p_value"] < 0.05
    x, y = (
        {one.coefficient: one.resampled for one in rating_agreements(
            [r["image_id"] for r in ratings],
            np.array([m.values[r["image_id"], r["caption_index"]] for r in ratings]),
            np.array([r["rating"] for r in ratings]), SEED,
        )}[TAU_B]
        for m in (good, bad)
    )  # fmt: skip
    low, high = np.quantile(x - y, [0.025, 0.975])
    assert (differences[0]["ci_low"], differences[0]["ci_high"]) == pytest.approx((low, high))


@pytest.mark.parametrize("scale", [1.0, 100 / 3])
def test_a_metric_does_not_differ_from_itself_whatever_its_unit(scale):
    quality, ratings = rated()
    first, second = noisy(quality, 1.0, "CIDEr"), noisy(quality, 1.0, "CIDEr-D")
    second = Scores("CIDEr-D", None, {key: scale * value for key, value in second.values.items()})
    _, differences = agreement_rows([first, second], ratings, preferences_of(quality), SEED)
    for row in differences:
        assert row["difference"] == pytest.approx(0, abs=1e-12)
        assert row["ci_low"] <= 0 <= row["ci_high"]
        assert row["p_value"] == 1


def test_a_constant_metric_has_no_correlation_and_is_half_right():
    quality, ratings = rated()
    metrics = [Scores("constant", None, dict.fromkeys(quality, 0.5)), noisy(quality, 1.0, "CIDEr")]
    values, differences = agreement_rows(metrics, ratings, preferences_of(quality), SEED)
    found = by_coefficient(values, "constant")
    for name in (TAU_B, TAU_C, PEARSON):
        assert (found[name]["value"], found[name]["ci_low"], found[name]["note"]) == (None, None, SAME_SCORES)
    assert found[ACCURACY]["value"] == 0.5
    assert found[ACCURACY]["ci_low"] < 0.5 < found[ACCURACY]["ci_high"]
    assert [row["coefficient"] for row in differences] == [ACCURACY]
    same = [{**row, "rating": 2.0} for row in ratings]
    values, _ = agreement_rows(metrics[1:], same, [], SEED)
    assert {row["note"] for row in values} == {SAME_RATINGS}


def test_one_image_has_no_interval():
    quality, ratings = rated(images=1)
    values, differences = agreement_rows([noisy(quality, 1, "a"), noisy(quality, 2, "b")], ratings, [], SEED)
    scores = [noisy(quality, 1, "a").values[row["image_id"], row["caption_index"]] for row in ratings]
    expected = kendalltau(scores, [row["rating"] for row in ratings])[0]
    assert by_coefficient(values, "a")[TAU_B]["value"] == pytest.approx(expected, abs=1e-12)
    assert {(row["ci_low"], row["ci_high"], row["note"]) for row in values} == {(None, None, ONE_IMAGE)}
    assert {(row["ci_low"], row["p_value"]) for row in differences} == {(None, None)}


def test_captions_without_a_score_are_counted_and_left_out_of_what_is_compared():
    quality, ratings = rated()
    whole, holed = noisy(quality, 0.5, "CIDEr"), noisy(quality, 2.0, "CHAIRi")
    without = {("image3", 0), ("image3", 1), ("image7", 2)}
    holed = Scores("CHAIRi", None, {key: value for key, value in holed.values.items() if key not in without})
    holed.values["image9", 3] = math.nan
    values, differences = agreement_rows([whole, holed], ratings, [], SEED)
    assert {row["n"] for row in values if row["metric"] == "CIDEr"} == {360}
    assert {(row["n"], row["note"]) for row in values if row["metric"] == "CHAIRi"} == {
        (348, "4 of 120 captions have no score and are left out")
    }
    both = [row for row in ratings if (row["image_id"], row["caption_index"]) not in {*without, ("image9", 3)}]
    taus = [
        kendalltau([m.values[r["image_id"], r["caption_index"]] for r in both], [r["rating"] for r in both])[0]
        for m in (whole, holed)
    ]
    assert differences[0]["difference"] == pytest.approx(taus[0] - taus[1], abs=1e-12)
    assert {row["n"] for row in differences} == {348}


def test_a_metric_that_scored_nothing_says_so():
    quality, ratings = rated(images=3)
    values, differences = agreement_rows(
        [Scores("SPICE", None, {}), noisy(quality, 1, "CIDEr")], ratings, preferences_of(quality), SEED
    )
    notes = {row["note"] for row in values if row["metric"] == "SPICE"}
    assert notes == {
        "12 of 12 captions have no score and are left out; no judged caption has a score",
        "9 of 9 captions have no score and are left out; no judged caption has a score",
    }
    assert differences == []
    conform(values, CORRELATIONS, "correlations")


def test_two_metrics_of_one_name(answers):
    values = {("image", 0): 1.0, ("image", 1): 2.0}
    ratings = [{"image_id": "image", "caption_index": index, "judge": "a", "rating": 1.0 + index} for index in (0, 1)]
    metrics = [Scores("CIDEr", None, values, "nlg"), Scores("CIDEr", None, {}, "command-cider")]
    with pytest.raises(ValueError, match="both have a metric") as raised:
        agreement_rows(metrics, ratings, [], SEED)
    answers.hold("metrics: a command that is called CIDEr, with judgements", raised.value, "command-cider")
    by_two = [Scores("score", "clip", values, "alignment"), Scores("score", "uniter", values, "alignment")]
    assert {row["scorer"] for row in agreement_rows(by_two, ratings, [], SEED)[0]} == {"clip", "uniter"}
