"""SacreBLEU against the library's value of whole corpora, which knows nothing of sums of single captions."""

import random
from itertools import zip_longest

import numpy as np
import pytest
import sacrebleu
from support.running import run_script

from captionlab.evaluation.metrics.sacrebleu.metric import SCORES, corpus_sacrebleu, of_captions, results, score_corpus
from captionlab.evaluation.summary import Job, comparison_columns, summary_columns
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES
from captionlab.storage.tables import read_table, write_table

JOB = Job("me", "main", "greedy", {"toy": "test"})
WORDS = ["A", "a", "man", "dog", "dog's", "on", "the", "beach,", "beach.", "U.S.", "10-20", "(red)"]


def made_up(images, words, seed):
    """Captions as rows of GENERATED, one of an image; and from none to four references of each image."""
    generator = random.Random(seed)

    def text():
        return " ".join(generator.choices(WORDS, k=generator.choice(words)))

    rows = [{"corpus": "toy", "image_id": f"i{n}", "caption_index": 0, "caption": text()} for n in range(images)]
    return rows, {row["image_id"]: [text() for _ in range(generator.randrange(1, 5))] for row in rows}


def by_library(rows, references):
    """The library's own value; it wants the n-th references of all captions together, None where one has no more."""
    streams = list(zip_longest(*(references[row["image_id"]] for row in rows)))
    return sacrebleu.corpus_bleu([row["caption"] for row in rows], streams).score


def measured(folder, rows, references, job=JOB):
    path = folder / f"{job.captioner}.parquet"
    write_table(path, SCORES, score_corpus("toy", rows, references))
    (result,) = results(job, path, 0)
    return result


@pytest.mark.parametrize(
    ("images", "words"), [(200, (1, 5, 9, 14)), (1, (12,)), (40, (1, 2)), (30, (0, 3, 8)), (5, (0,))]
)
def test_a_corpus_has_exactly_the_library_s_value(tmp_path, images, words):
    rows, references = made_up(images, words, seed=images)
    if words == (0,):
        references = {image: ["a dog on the beach."] for image in references}
    expected = {image: [text for text in texts if text] or ["nothing"] for image, texts in references.items()}
    result = measured(tmp_path, rows, expected)
    assert result.value == by_library(rows, expected)
    assert (result.metric, result.captions, result.retriever) == ("SacreBLEU", images, None)


def test_resampled_values_are_those_of_resampled_corpora(tmp_path):
    rows, references = made_up(12, (3, 8), seed=2)
    columns = score_corpus("toy", rows, references)
    drawn = np.random.default_rng(3).integers(0, 12, size=(50, 12))
    sums = np.array([np.array(columns["counts"])[places].sum(axis=0) for places in drawn])
    expected = [by_library([rows[place] for place in places], references) for places in drawn]
    assert corpus_sacrebleu(sums.astype(float), np.full(50, 12)).tolist() == expected
    assert corpus_sacrebleu(sums[:, None, :], np.full((50, 1), 12)).shape == (50, 1)
    result = measured(tmp_path, rows, references)
    found = summary_columns([result], {})
    (low,), (value,), (high,) = found["ci_low"], found["value"], found["ci_high"]
    assert 0 <= low < value < high <= 100


def test_a_caption_has_the_library_s_value_of_a_sentence(tmp_path):
    rows, references = made_up(60, (1, 2, 4, 9), seed=4)
    measured(tmp_path, rows, references)
    (found,) = of_captions(tmp_path / "me.parquet", {})
    expected = [sacrebleu.sentence_bleu(row["caption"], references[row["image_id"]]).score for row in rows]
    assert (found.metric, found.scale, found.values.tolist()) == ("SacreBLEU", 1.0, expected)
    assert found.keys[0] == ("toy", "i0", 0)


def test_case_and_punctuation_count(tmp_path):
    rows = [{"corpus": "toy", "image_id": "1", "caption_index": 0, "caption": "a dog on the beach"}]
    same = measured(tmp_path, rows, {"1": ["a dog on the beach"]}).value
    assert same == pytest.approx(100)
    assert measured(tmp_path, rows, {"1": ["A dog on the beach."]}).value < 60


def test_blank_references_and_images_without_any_are_left_out(tmp_path, caplog):
    rows, references = made_up(6, (6,), seed=5)
    expected = by_library(rows[:4], references)
    references |= {"i0": [" ", *references["i0"]], "i4": ["", "\t"], "i5": []}
    result = measured(tmp_path, rows, references)
    assert (result.value, result.captions) == (expected, 4)
    assert "toy: 2 captions are of images without references and have no SacreBLEU" in caplog.text


def test_differences_from_the_parent_are_paired(tmp_path):
    rows, references = made_up(50, (4, 9), seed=6)
    better = [{**row, "caption": references[row["image_id"]][0]} if n % 2 else row for n, row in enumerate(rows)]
    child = Job("child", "main", "greedy", {"toy": "test"})
    found = [measured(tmp_path, rows, references), measured(tmp_path, better, references, child)]
    compared = comparison_columns(found, {"child": "me", "me": None}, {}, {})
    assert compared["difference"] == [found[1].value - found[0].value]
    assert compared["ci_low"][0] > 0


def test_the_job_scores_captions_as_they_were_written(tmp_path):
    rows, references = made_up(20, (5, 9), seed=7)
    images = [row["image_id"] for row in rows]
    texts = [(image, index, text) for image, of_image in references.items() for index, text in enumerate(of_image)]
    nothing = dict.fromkeys(set(IMAGES.columns) - {"image_id", "position", "split", "width", "height"}, [None] * 20)
    sizes = {"width": [1] * 20, "height": [1] * 20}
    split = {"image_id": images, "position": [*range(20)], "split": ["test"] * 20}
    write_table(tmp_path / "images.parquet", IMAGES, {**split, **sizes, **nothing})
    names = ("image_id", "caption_index", "caption")
    write_table(tmp_path / "captions.parquet", CAPTIONS, dict(zip(names, zip(*texts, strict=True), strict=True)))
    made = {name: [row[name] for row in rows] for name in rows[0]}
    write_table(tmp_path / "made.parquet", GENERATED, {**made, "log_prob": [None] * 20, "confidence": [None] * 20})
    run_script(
        "score_captions",
        {
            "captions": tmp_path / "made.parquet",
            "images_of_corpora": [tmp_path / "images.parquet"],
            "captions_of_corpora": [tmp_path / "captions.parquet"],
        },
        [tmp_path / "sacrebleu.parquet"],
        module="captionlab.evaluation.metrics.sacrebleu.metric",
        corpora=["toy"],
        people=False,
        splits=["test"],
        references_per_image=1,
        settings={"sacrebleu": True},
        tokenizers={},
    )
    (result,) = results(JOB, str(tmp_path / "sacrebleu.parquet"), 0)
    assert result.value == by_library(rows, {image: of_image[:1] for image, of_image in references.items()})
    assert read_table(tmp_path / "sacrebleu.parquet", SCORES).num_rows == 20
