"""Measures on foils against naive loops, scikit-learn and copies of images."""

import json
from itertools import product

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from captionlab.judgements.correlation import Scores
from captionlab.judgements.foil_measures import Scored, pair_measures, tied_measures
from captionlab.judgements.foils import NO_PROBABILITY, foil_rows

THRESHOLD = 50.0


def made_up(images=30, seed=0, pieces=("existence", "relations")):
    """Preferences of several pairs per image, and scores in per cent with many ties."""
    random = np.random.default_rng(seed)
    preferences, values = [], {}
    for image in range(images):
        for index in range(0, 2 * int(random.integers(1, 4)), 2):
            piece = pieces[int(random.integers(len(pieces)))]
            preferences.append(
                {"image_id": f"i{image}", "caption_index": index, "other_index": index + 1, "votes": 1,
                 "other_votes": 0, "category": piece, "tie": None}
            )  # fmt: skip
            for which, mean in ((index, 60), (index + 1, 45)):
                values[f"i{image}", which] = float(np.clip(round(random.normal(mean, 20), -1), 0, 100))
    return preferences, values


def rows_by(rows, *keys):
    return {tuple(row[key] for key in keys): row for row in rows}


def naive(pairs, threshold):
    """Every measure of pairs (caption, foil) by loops; the ROC curve by scikit-learn."""
    texts = [(score, is_caption) for pair in pairs for score, is_caption in zip(pair, (1, 0), strict=True)]
    captions, foils = ([score for score, label in texts if label == which] for which in (1, 0))
    p_c = sum(score > threshold for score in captions) / len(captions)
    p_f = sum(not score > threshold for score in foils) / len(foils)
    return {
        "acc_r": sum(caption > foil for caption, foil in pairs) / len(pairs),
        "p_c": p_c,
        "p_f": p_f,
        "acc": (p_c + p_f) / 2,
        "AUROC": roc_auc_score([label for _, label in texts], [score for score, _ in texts]),
    }


def scores_of(pairs, row):
    return pairs[row["image_id"], row["caption_index"]], pairs[row["image_id"], row["other_index"]]


def test_every_measure_against_loops_and_scikit_learn():
    preferences, values = made_up()
    found, _ = foil_rows([Scores("score", "uniter", values)], preferences, {"uniter": THRESHOLD}, seed=1)
    rows = rows_by(found, "category", "measure")
    by_piece = {}
    for piece in ("existence", "relations"):
        pairs = [scores_of(values, row) for row in preferences if row["category"] == piece]
        by_piece[piece] = naive(pairs, THRESHOLD)
        for measure, value in by_piece[piece].items():
            row = rows[piece, measure]
            assert row["value"] == pytest.approx(value, abs=1e-12), (piece, measure)
            assert row["n"] == len(pairs)
            assert row["images"] == len({r["image_id"] for r in preferences if r["category"] == piece})
            assert row["ci_low"] < row["value"] < row["ci_high"]
    for measure in by_piece["existence"]:
        mean = sum(of[measure] for of in by_piece.values()) / 2
        assert rows[None, measure]["value"] == pytest.approx(mean, abs=1e-12)
        assert rows[None, measure]["images"] == 30
        assert rows[None, measure]["n"] == len(preferences)
    assert len(rows) == 15


def test_weights_count_images_as_often_as_copies_do():
    random = np.random.default_rng(3)
    captions, foils = (random.integers(0, 6, 12).astype(float) for _ in range(2))
    unit = random.permutation(np.repeat(np.arange(6), 2))
    weights = random.integers(0, 4, (5, 6)).astype(float)
    scored = Scored(captions, foils, unit, np.full(12, -1))
    found = pair_measures(scored, weights, 2.5)
    for number, counts in enumerate(weights):
        copies = [place for place in range(12) for _ in range(int(counts[unit[place]]))]
        expected = naive([(captions[place], foils[place]) for place in copies], 2.5)
        for measure, value in expected.items():
            assert found[measure][number] == pytest.approx(value, abs=1e-12), measure


def test_one_pair_for_each_image_in_any_order():
    """Without several pairs per image the pairs need no sums, only the order of the images."""
    captions, foils = np.array([3.0, 1.0, 2.0]), np.array([0.0, 2.0, 2.0])
    scored = Scored(captions, foils, np.array([2, 0, 1]), np.full(3, -1))
    weights = np.array([[1.0, 1, 1], [2, 0, 1]])
    found = pair_measures(scored, weights, None)
    assert found.keys() == {"acc_r", "AUROC"}
    assert found["acc_r"].tolist() == [pytest.approx(1 / 3), pytest.approx(1 / 3)]
    copies = [(1.0, 2.0), (1.0, 2.0), (3.0, 0.0)]
    assert found["AUROC"][1] == pytest.approx(naive(copies, 0)["AUROC"])


def test_ties_are_wrong_in_pairs_and_count_half_under_the_curve():
    scored = Scored(np.array([1.0, 1.0]), np.array([1.0, 1.0]), np.array([0, 1]), np.full(2, -1))
    found = pair_measures(scored, np.ones((1, 2)), 1.0)
    assert {name: float(value[0]) for name, value in found.items()} == {
        "acc_r": 0.0, "p_c": 0.0, "p_f": 1.0, "acc": 0.5, "AUROC": 0.5,
    }  # fmt: skip


def test_winoground_against_its_definition_on_every_order_of_four_scores():
    """c0_i0 and c1_i1 are captions with their images; all orders of four scores, with ties."""
    cases = [*product((0.0, 1.0, 2.0), repeat=4)]
    captions = np.array([[c0_i0, c1_i1] for c0_i0, c1_i0, c0_i1, c1_i1 in cases]).ravel()
    foils = np.array([[c1_i0, c0_i1] for c0_i0, c1_i0, c0_i1, c1_i1 in cases]).ravel()
    tie = np.repeat(np.arange(len(cases)), 2)
    weights = np.eye(len(cases))
    found, number = tied_measures(Scored(captions, foils, tie, tie), weights)
    assert number == len(cases)
    for place, (c0_i0, c1_i0, c0_i1, c1_i1) in enumerate(cases):
        text = c0_i0 > c1_i0 and c1_i1 > c0_i1
        image = c0_i0 > c0_i1 and c1_i1 > c1_i0
        scores = [found[name][place] for name in ("text score", "image score", "group score")]
        assert scores == [text, image, text and image]


def tied(example, tag):
    keys = {"votes": 1, "other_votes": 0, "category": tag, "tie": str(example)}
    return [{"image_id": f"{example}-{side}", "caption_index": 0, "other_index": 1, **keys} for side in (0, 1)]


def test_scores_of_two_images_are_over_all_examples_and_by_category():
    preferences = [row for example, tag in enumerate(("Object", "Object", "Both")) for row in tied(example, tag)]
    right, text_only = [(2.0, 0.0), (2.0, 0.0)], [(5.0, 4.0), (1.0, 0.5)]
    values = {
        (f"{example}-{side}", index): score
        for example, sides in enumerate((right, text_only, right))
        for side, scores in enumerate(sides)
        for index, score in enumerate(scores)
    }
    del values["2-1", 1]  # the last example lacks a score
    rows = rows_by(foil_rows([Scores("score", "it", values)], preferences, {}, 1)[0], "category", "measure")
    assert rows["Object", "text score"]["value"] == 1
    assert rows["Object", "image score"]["value"] == rows["Object", "group score"]["value"] == 0.5
    assert rows[None, "group score"]["value"] == 0.5  # of two examples; the mean over categories would have three
    assert (rows[None, "group score"]["n"], rows[None, "group score"]["images"]) == (2, 2)
    assert ("Both", "text score") not in rows
    assert rows[None, "text score"]["note"] == "1 of 6 pairs have a text without a score and are left out"
    low, high = (rows[None, "text score"][end] for end in ("ci_low", "ci_high"))
    assert low < 0.5 < high == 1  # two examples say little


def test_scores_that_are_no_probabilities_have_no_threshold():
    preferences, values = made_up()
    found, _ = foil_rows([Scores("CLIPScore", "clip", values)], preferences, {"uniter": THRESHOLD}, 1)
    rows = rows_by(found, "category", "measure")
    for place in (None, "existence"):
        for measure in ("acc", "p_c", "p_f"):
            row = rows[place, measure]
            assert (row["value"], row["ci_low"], row["n"], row["note"]) == (None, None, 0, NO_PROBABILITY)
        assert rows[place, "acc_r"]["value"] is not None


def test_differences_are_paired_on_the_pairs_that_both_metrics_score():
    preferences, values = made_up(seed=4)
    other = {key: 100 - value for key, value in values.items()}
    left_out = preferences[0]
    del other[left_out["image_id"], left_out["other_index"]]
    metrics = [Scores("score", "a", values), Scores("score", "b", other)]
    _, found = foil_rows(metrics, preferences, {"a": THRESHOLD, "b": THRESHOLD}, 1)
    keys = ("scorer", "category", "measure", "against_scorer", "against_category")
    rows = rows_by(found, *keys)
    for piece in ("existence", "relations"):
        pairs = [row for row in preferences[1:] if row["category"] == piece]
        ours, theirs = (naive([scores_of(of, row) for row in pairs], THRESHOLD) for of in (values, other))
        for measure in ours:
            row = rows["a", piece, measure, "b", piece]
            assert row["difference"] == pytest.approx(ours[measure] - theirs[measure], abs=1e-12)
            assert row["ci_low"] <= row["difference"] <= row["ci_high"]
    of_a = {
        piece: naive([scores_of(values, row) for row in preferences if row["category"] == piece], THRESHOLD)
        for piece in ("existence", "relations")
    }
    for measure, value in of_a["existence"].items():
        first, second = dict.fromkeys(row["category"] for row in preferences)
        row = rows["a", first, measure, "a", second]
        sign = 1 if first == "existence" else -1
        assert row["difference"] == pytest.approx(sign * (value - of_a["relations"][measure]), abs=1e-12)


def test_intervals_cover_the_truth():
    """Of 200 samples of images, whose pairs depend on their image, most intervals of acc_r and AUROC hold the truth."""

    def sample(seed, images):
        random = np.random.default_rng(seed)
        effect = random.normal(0.5, 0.5, images)
        preferences, values = [], {}
        for image in range(images):
            for index in (0, 2):
                keys = {"votes": 1, "other_votes": 0, "category": "one", "tie": None}
                preferences.append({"image_id": image, "caption_index": index, "other_index": index + 1, **keys})
                values[image, index] = float(effect[image] + random.normal(0, 0.5))
                values[image, index + 1] = float(random.normal(0, 0.7))
        return preferences, values

    truth = rows_by(
        foil_rows([Scores("s", None, sample(1, 1500)[1])], sample(1, 1500)[0], {}, 1)[0], "category", "measure"
    )
    covered = {"acc_r": 0, "AUROC": 0}
    for seed in range(2, 102):
        preferences, values = sample(seed, 40)
        rows = rows_by(foil_rows([Scores("s", None, values)], preferences, {}, 1)[0], "category", "measure")
        for measure in covered:
            row, value = rows["one", measure], truth["one", measure]["value"]
            covered[measure] += row["ci_low"] <= value <= row["ci_high"]
    assert min(covered.values()) >= 88


def answered(document):
    """The pairs of a file of answers of GPT-4V in the repository of SugarCrepe: a text scores 1 if it was chosen."""
    chosen = [(entry["answer"]["multiple_choice_answer"], entry) for entry in document.values()]
    return [(float(text == entry["caption"]), float(text == entry["negative_caption"])) for text, entry in chosen]


def accuracy(document):
    captions, foils = (np.array(column) for column in zip(*answered(document), strict=True))
    unit = np.arange(len(captions))
    return pair_measures(Scored(captions, foils, unit, np.full(len(unit), -1)), np.ones((1, len(unit))), None)["acc_r"]


def test_answers_that_name_neither_caption_are_wrong():
    """The form of the stored answers of GPT-4V, with invented content."""
    texts = [("A red bus.", "A blue bus."), ("A cat sits.", "A dog sits."), ("Two men.", "Three men.")]
    answers = [texts[0][0], texts[1][1], ""]
    document = {
        str(number): {
            "answer": {"free_form_answer": "(1)", "multiple_choice_answer": answer},
            "caption": caption, "negative_caption": negative, "filename": "000000000001.jpg",
            "correct": answer == caption,
        }
        for number, ((caption, negative), answer) in enumerate(zip(texts, answers, strict=True))
    }  # fmt: skip
    document = json.loads(json.dumps(document))
    assert accuracy(document)[0] == pytest.approx(sum(one["correct"] for one in document.values()) / 3) == 1 / 3
