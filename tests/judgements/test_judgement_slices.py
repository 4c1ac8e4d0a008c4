"""Agreement of metrics on slices of captions, against scipy on the captions of a slice that are picked by hand."""

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr

from captionlab.judgements.correlation import Scores
from captionlab.judgements.schemas import SLICES
from captionlab.judgements.slices import slice_rows
from captionlab.statistics.groups import SMALLEST

IMAGES = [f"image{number}" for number in range(SMALLEST + 5)]
# Captions of an image: two words by a person, seven words by a system, 120 words by nobody knows whom.
WORDS, SOURCES = (2, 7, 120), ("a person", "a system", None)


def candidates(images=IMAGES):
    return [
        {"image_id": image, "caption_index": index, "caption": "word " * words, "source": source, "judgements": 2}
        for image in images
        for index, (words, source) in enumerate(zip(WORDS, SOURCES, strict=True))
    ]


def ratings(rows):
    random = np.random.default_rng(3)
    return [
        {"image_id": row["image_id"], "caption_index": row["caption_index"], "judge": judge,
         "rating": float(random.integers(1, 5))}
        for row in rows for judge in "ab"
    ]  # fmt: skip


def scored(rows, metric="CIDEr"):
    random = np.random.default_rng(5)
    return Scores(metric, None, {(row["image_id"], row["caption_index"]): random.random() for row in rows})


def test_a_slice_has_the_coefficients_of_its_captions_alone():
    rows, metric = candidates(), scored(candidates())
    judged = ratings(rows)
    made = slice_rows([metric], judged, rows, seed=1)
    assert [*made[0]] == [*SLICES.columns]
    assert [*dict.fromkeys((row["by"], row["slice"]) for row in made)] == [
        ("length", "0 to 5 words"), ("length", "6 to 10 words"), ("length", "101 words or more"),
        ("source", "a person"), ("source", "a system"),
    ]  # fmt: skip
    of = {"0 to 5 words": 0, "6 to 10 words": 1, "101 words or more": 2, "a person": 0, "a system": 1}
    for row in made:
        pairs = [
            (metric.values[one["image_id"], one["caption_index"]], one["rating"])
            for one in judged
            if one["caption_index"] == of[row["slice"]]
        ]
        x, y = zip(*pairs, strict=True)
        expected = {
            "tau-b": kendalltau(x, y)[0], "tau-c": kendalltau(x, y, variant="c")[0], "Pearson": pearsonr(x, y)[0],
        }  # fmt: skip
        assert row["value"] == pytest.approx(expected[row["coefficient"]], abs=1e-12)
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert (row["images"], row["n"]) == (len(IMAGES), 2 * len(IMAGES))


def test_slices_of_few_images_and_slices_that_hold_all_captions_are_left_out():
    rows = [row for row in candidates() if row["caption_index"] == 0]
    assert slice_rows([scored(rows)], ratings(rows), rows, seed=1) == []
    few = candidates(IMAGES[: SMALLEST - 1])
    assert slice_rows([scored(few)], ratings(few), few, seed=1) == []
    one_short = [row for row in candidates() if row["caption_index"] == 0 or row["image_id"] in IMAGES[: SMALLEST - 1]]
    made = slice_rows([scored(one_short)], ratings(one_short), one_short, seed=1)
    assert {row["slice"] for row in made} == {"0 to 5 words", "a person"}


def test_pairs_have_no_slices():
    assert slice_rows([scored(candidates())], [], candidates(), seed=1) == []
