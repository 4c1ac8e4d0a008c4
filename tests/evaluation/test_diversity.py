"""Diversity and novelty against loops over captions; what they are computed among in test_within_image.py."""

import random
import re
from dataclasses import replace

import numpy as np
import pytest
from pycocoevalcap.bleu.bleu import Bleu
from scipy.stats import binomtest
from support.running import run_script

from captionlab.evaluation.metrics.diversity.config import FACTS
from captionlab.evaluation.metrics.diversity.metric import (
    SCORES,
    letters_and_digits,
    of_captions,
    results,
    score_corpus,
)
from captionlab.evaluation.summary import Job, comparison_columns, images_interval, summary_columns
from captionlab.evaluation.within_image import self_cider
from captionlab.statistics.intervals import RESAMPLES
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, TOKENS
from captionlab.storage.tables import conform, read_table, write_table

JOB = Job("me", "main", "greedy", {"toy": "test"})
WORDS = [f"w{rank}" for rank in range(60)]
WEIGHTS = [1 / rank for rank in range(1, 61)]
REFERENCES = {"1": ["w1 w2 w3"], "2": ["w4 w5"], "3": ["w1 w6"]}
OVER_IMAGES = ["distinct-1", "distinct-2", "vocabulary", "length"]
IN_AN_IMAGE = ["mBLEU-4", "self-CIDEr", "distinct-1 in an image", "distinct-2 in an image"]


def made_up(images, samples=1, seed=0):
    """Captions by image and index; words as frequent as in a language, and a caption that is empty now and then."""
    generator = random.Random(seed)
    keys = [(f"image{image}", index) for image in range(images) for index in range(samples)]
    return {key: " ".join(generator.choices(WORDS, WEIGHTS, k=generator.choice((0, 1, 5, 8, 9)))) for key in keys}


def measured(folder, captions, known=(), references=REFERENCES, job=JOB, seed=0):
    """Results by metric of captions whose tokens are what is written."""
    path = folder / f"{job.captioner}.parquet"
    write_table(path, SCORES, score_corpus("toy", captions, captions, references, set(known)))
    return {result.metric: result for result in results(job, path, seed)}


def types_and_tokens(captions, n):
    grams = [tuple(words[i : i + n]) for words in map(str.split, captions) for i in range(len(words) - n + 1)]
    return len(set(grams)), len(grams)


def share(types, tokens):
    return 100 * types / tokens if tokens else 0.0


def over_images(captions):
    """The metrics over images that are no sums, by loops."""
    texts = list(captions.values())
    distinct = {f"distinct-{n}": share(*types_and_tokens(texts, n)) for n in (1, 2)}
    return {**distinct, "vocabulary": types_and_tokens(texts, 1)[0]}


def test_names_that_a_config_could_have_are_taken(tmp_path):
    found = measured(tmp_path, made_up(5, samples=2), known=["w1"])
    assert {*OVER_IMAGES, *IN_AN_IMAGE, "novelty"} == {*found}
    assert {*FACTS.taken} == {name for name in found if re.fullmatch("[a-z0-9][a-z0-9-]*", name)}


@pytest.mark.parametrize("samples", [1, 3])
def test_what_is_no_sum_is_resampled_by_what_it_is_without_each_image(tmp_path, samples):
    captions = made_up(17, samples)
    found = measured(tmp_path, captions, seed=5)
    assert list(found) == OVER_IMAGES + (IN_AN_IMAGE if samples > 1 else [])
    images = sorted({image for image, _ in captions})
    drawn = np.random.default_rng([5, 17]).integers(0, 17, (RESAMPLES, 17))
    for metric, value in over_images(captions).items():
        others = [{key: text for key, text in captions.items() if key[0] != image} for image in images]
        pseudo = np.array([17 * value - 16 * over_images(of_others)[metric] for of_others in others])
        expected = value + (pseudo - pseudo.mean())[drawn].mean(axis=1)
        assert found[metric].value == pytest.approx(value)
        assert found[metric].images == tuple(images)
        assert np.ptp(found[metric].resampled) > 0
        highest = None if metric == "vocabulary" else 100
        np.testing.assert_allclose(found[metric].resampled, np.clip(expected, 0, highest), atol=1e-9)
    lengths = [len(text.split()) for text in captions.values()]
    assert found["length"].value == pytest.approx(np.mean(lengths))


def test_within_images_every_image_counts_alike(tmp_path):
    """Also one with more captions than another; one with a single caption does not count."""
    captions = {
        key: text for key, text in made_up(12, 4).items() if key not in {("image3", 2), ("image3", 3)}
    } | {("alone", 0): "w1 w2"}  # fmt: skip
    references = {f"{image}": [text] for (image, _), text in made_up(9, seed=1).items()}
    found = measured(tmp_path, captions, references=references)
    images = sorted({image for image, _ in captions} - {"alone"})
    values = {metric: [] for metric in IN_AN_IMAGE if metric != "mBLEU-4"}
    for image in images:
        texts = [text for key, text in captions.items() if key[0] == image]
        values["self-CIDEr"].append(100 * self_cider([texts], references)[0])
        for n in (1, 2):
            values[f"distinct-{n} in an image"].append(share(*types_and_tokens(texts, n)))
    drawn = np.random.default_rng([0, 12]).integers(0, 12, (RESAMPLES, 12))
    for metric, of_images in values.items():
        assert found[metric].images == tuple(images)
        assert found[metric].value == pytest.approx(np.mean(of_images))
        np.testing.assert_allclose(found[metric].resampled, np.array(of_images)[drawn].mean(axis=1), atol=1e-9)


def mutual_bleu_of(images):
    """Scores of pycocoevalcap, times 100, of the k-th captions of all images that have them against their others."""
    values, numbers = [], []
    for k in range(max(map(len, images))):
        having = [texts for texts in images if len(texts) > k]
        candidates = {image: [texts[k]] for image, texts in enumerate(having)}
        others = {image: texts[:k] + texts[k + 1 :] for image, texts in enumerate(having)}
        values.append(100 * Bleu(4).compute_score(others, candidates, verbose=0)[0][3])
        numbers.append(len(having))
    return np.average(values, weights=numbers)


def test_mutual_bleu_is_of_all_images_together_and_resampled_by_images(tmp_path):
    """Also where the indices of an image have a gap, and where a caption is alone with its image."""
    captions = {
        key: text for key, text in made_up(12, 4).items() if key not in {("image3", 1), ("image3", 3), ("image5", 0)}
    } | {("alone", 0): "w1 w2"}  # fmt: skip
    found = measured(tmp_path, captions, seed=3)["mBLEU-4"]
    images = sorted({image for image, _ in captions} - {"alone"})
    assert found.images == tuple(images)
    texts = [[text for key, text in sorted(captions.items()) if key[0] == image] for image in images]
    assert found.value == pytest.approx(mutual_bleu_of(texts))
    drawn = np.random.default_rng([3, 12]).integers(0, 12, (RESAMPLES, 12))[:20]
    expected = [mutual_bleu_of([texts[image] for image in sample]) for sample in drawn]
    np.testing.assert_allclose(found.resampled[:20], expected, rtol=1e-9)


def test_the_same_caption_again_and_again_is_not_diverse(tmp_path):
    captions = {(str(image), index): "w1 w2 w3 w4 w5" for image in range(4) for index in range(5)}
    found = {metric: result.value for metric, result in measured(tmp_path, captions).items()}
    assert found == pytest.approx(
        {
            "distinct-1": 100 * 5 / 100,
            "distinct-2": 100 * 4 / 80,
            "vocabulary": 5,
            "length": 5,
            "mBLEU-4": 100,
            "self-CIDEr": 0,
            "distinct-1 in an image": 100 * 5 / 25,
            "distinct-2 in an image": 100 * 4 / 20,
        },
        abs=1e-6,
    )


@pytest.mark.parametrize("text", ["", "w1"])
def test_captions_with_too_few_tokens_have_finite_values_and_intervals_that_hold_them(tmp_path, text):
    captions = {(str(image), index): text for image in range(3) for index in range(2)}
    for of_image in (captions, {("1", 0): text}):
        found = measured(tmp_path, of_image, ["w2"])
        assert found["distinct-2"].value == 0
        assert found["vocabulary"].value == len(text.split()[:1])
        for result in found.values():
            low, high = images_interval([result])
            assert low <= result.value <= high


def test_coverage_of_the_intervals(tmp_path):
    """Of 200 corpora, 88 to 99 of 100 intervals hold what is to be expected of as many images."""
    generator = np.random.default_rng(0)
    weights = 1 / np.arange(1, 1001)

    def corpus():
        lengths = generator.integers(6, 12, 100)
        words = generator.choice(1000, lengths.sum(), p=weights / weights.sum())
        texts = np.split(words, lengths.cumsum()[:-1])
        return {(str(image), 0): " ".join(map(str, text)) for image, text in enumerate(texts)}

    every = [over_images(corpus()) for _ in range(600)]
    truth = {metric: np.mean([values[metric] for values in every]) for metric in every[0]}
    held = dict.fromkeys(truth, 0)
    for seed in range(200):
        found = measured(tmp_path, corpus(), seed=seed)
        for metric, value in truth.items():
            low, high = images_interval([found[metric]])
            held[metric] += low <= value <= high
    assert all(0.88 <= count / 200 <= 0.99 for count in held.values()), held


def test_differences_of_captioners_are_paired(tmp_path):
    """A captioner that adds a word of its own to each second caption of the other."""
    parent = made_up(40)
    child = {key: f"{text} new{row}" if row % 2 else text for row, (key, text) in enumerate(parent.items())}
    job = replace(JOB, captioner="parent")
    found = [*measured(tmp_path, child).values(), *measured(tmp_path, parent, job=job).values()]
    compared = comparison_columns(found, {"me": "parent"}, {}, {})
    row = compared["metric"].index("vocabulary")
    assert compared["difference"][row] == 20
    assert 0 < compared["ci_low"][row] < 20 < compared["ci_high"][row]
    low, high = images_interval([found[2]])
    assert compared["ci_high"][row] - compared["ci_low"][row] < high - low


def test_novel_captions_are_those_with_other_letters_and_digits(tmp_path):
    captions = {("1", 0): "A man's dog .", ("2", 0): "a man s dogs", ("3", 0): "...", ("4", 0): "two 2"}
    known = {letters_and_digits(text) for text in ("a mans dog", "Two, 2!")}
    found = measured(tmp_path, captions, known)["novelty"]
    assert found.value == 25
    exact = binomtest(1, 4).proportion_ci(method="exact")
    assert images_interval([found]) == pytest.approx((100 * exact.low, 100 * exact.high))
    by_metric = {found.metric: found for found in of_captions(tmp_path / "me.parquet", {})}
    keys = [("toy", image, 0) for image in "1234"]
    assert by_metric["novelty"].keys == by_metric["length"].keys == keys
    assert by_metric["novelty"].values.tolist() == [0, 1, 0, 0]
    assert by_metric["length"].values.tolist() == [4, 4, 1, 2]
    assert len(by_metric) == 2


def test_without_idf_there_is_no_self_cider(tmp_path, caplog):
    captions = {("1", 0): "w1 w2", ("1", 1): "w3"}
    found = measured(tmp_path, captions, references={"1": ["w1"]})
    assert "mBLEU-4" in found
    assert "self-CIDEr" not in found
    assert "toy: self-CIDEr is missing, because the idf of every n-gram is 0 with one image" in caplog.text


@pytest.mark.parametrize("trained", [True, False])
def test_the_script_reads_what_a_captioner_was_trained_on(tmp_path, caplog, trained):
    texts = {"one": ("a dog runs", "train"), "two": ("a cat sits", "val"), "three": ("a red dog", "test")}
    generated = {"three": "A dog runs.", "four": "a cat sits"}
    rows = {
        "images": [
            {"image_id": image, "position": row, "split": split, "path": f"{image}.jpg", "data": None}
            | {"offset": None, "length": None, "width": 1, "height": 1, "image_set": None}
            for row, (image, (_, split)) in enumerate(texts.items())
        ],
        "captions": [{"image_id": image, "caption_index": 0, "caption": text} for image, (text, _) in texts.items()],
    }
    for (name, table), schema in zip(rows.items(), (IMAGES, CAPTIONS), strict=True):
        write_table(tmp_path / f"{name}.parquet", schema, table)
    keys = [{"corpus": "toy", "image_id": image, "caption_index": 0} for image in generated]
    captions = [{**key, "caption": generated[key["image_id"]], "log_prob": None, "confidence": None} for key in keys]
    write_table(tmp_path / "generated.parquet", GENERATED, captions)
    tokens = {"generated": ["a dog runs", "a cat sits"], "references": ["a red dog", "a cat"]}
    for name, of_keys in tokens.items():
        of_table = [{**key, "tokens": text} for key, text in zip(keys, of_keys, strict=True)]
        write_table(tmp_path / f"{name}_tokens.parquet", TOKENS, of_table)
    learnt_from = {f"training_{name}": [tmp_path / f"{name}.parquet"] if trained else [] for name in rows}
    run_script(
        "score_captions",
        {
            "captions": tmp_path / "generated.parquet",
            "tokens": tmp_path / "generated_tokens.parquet",
            "references": [tmp_path / "references_tokens.parquet"],
            **learnt_from,
        },
        [tmp_path / "diversity.parquet"],
        module="captionlab.evaluation.metrics.diversity.metric",
        corpora=["toy"],
        splits=["test"],
        people=False,
        references_per_image=None,
        settings={"diversity": True},
    )
    table = read_table(tmp_path / "diversity.parquet", SCORES).to_pylist()
    novel = {row["image_id"]: row["novel"] for row in table}
    # Of the split train alone: the cat is in val.
    assert novel == ({"three": False, "four": True} if trained else {"three": None, "four": None})
    found = summary_columns(results(JOB, tmp_path / "diversity.parquet", 0), {})
    assert ("novelty" in found["metric"]) is trained
    said = "novelty is missing: this run does not know the captions that the captioner was trained on"
    assert (said in caplog.text) is not trained


def test_a_corpus_without_captions_has_no_rows():
    assert len(conform(score_corpus("toy", {}, {}, REFERENCES, set()), SCORES, "test")) == 0
