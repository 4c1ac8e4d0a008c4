"""Questions answered from captions, as a metric, against loops over questions."""

import numpy as np
import pytest
from support.running import run_script
from support.toy_questions import write_questions

from captionlab.evaluation.metrics.questions.metric import SCORES, of_captions, results
from captionlab.evaluation.summary import Job, summary_columns
from captionlab.storage.schemas import GENERATED
from captionlab.storage.tables import read_table, write_table

COLOURS = ("red", "green", "blue")
JOB = Job("me", "main", "greedy", {"toy": "test", "bare": "test"})
KINDS = ("colour", "count")
EXTRACTIVE = {"kind": "extractive"}


def made_up(images, seed):
    """Return questions by image and captions by image and index."""
    generator = np.random.default_rng(seed)
    questions, captions = {}, {}
    for number in range(images):
        image = f"i{number:03d}"
        answers = [str(colour) for colour in generator.choice(COLOURS, generator.integers(0, 4))]
        questions[image] = [(KINDS[rank % 2], f"question {rank}?", COLOURS, one) for rank, one in enumerate(answers)]
        for index in range(2):
            captions[image, index] = " ".join(generator.choice([*COLOURS, "dog", "cat"], generator.integers(0, 3)))
    return {image: asked for image, asked in questions.items() if asked}, captions


def naive(questions, captions, kind=None):
    """Return the share of correct answers, the share of questions without an answer, and the images with questions."""
    right = silent = asked = 0
    for (image, _), caption in captions.items():
        for of, _, options, answer in questions.get(image, []):
            if kind in (None, of):
                said = {option for option in options if option in caption.split()}
                right, silent, asked = right + (said == {answer}), silent + (len(said) != 1), asked + 1
    images = [image for image, of_image in questions.items() if any(kind in (None, one[0]) for one in of_image)]
    return 100 * right / asked, 100 * silent / asked, len(images)


def scored(folder, questions, captions, corpora=("toy",), more=()):
    tables = [str(write_questions(folder / f"questions-{corpus}.parquet", questions)) for corpus in corpora]
    rows = [
        {
            "corpus": corpus,
            "image_id": image,
            "caption_index": index,
            "caption": text,
            "log_prob": None,
            "confidence": None,
        }
        for corpus in (*corpora, *more)
        for (image, index), text in captions.items()
    ]
    write_table(folder / "captions.parquet", GENERATED, rows)
    output = folder / "scores.parquet"
    run_script(
        "score_captions", {"captions": folder / "captions.parquet", "questions": tables}, [output],
        module="captionlab.evaluation.metrics.questions.metric",
        settings={"questions": {"mine": {"corpora": [*corpora], "answerer": EXTRACTIVE}}},
        corpora=[*corpora, *more], people=False, splits=["test"] * 2, references_per_image=None,
    )  # fmt: skip
    return str(output)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_those_of_loops(tmp_path, seed):
    questions, captions = made_up(40, seed)
    path = scored(tmp_path, questions, captions, more=("bare",))
    found = {result.metric: result for result in results(JOB, path, 0)}
    accuracy, silent, images = naive(questions, captions)
    assert found["question accuracy"].value == pytest.approx(accuracy)
    assert found["unanswered questions"].value == pytest.approx(silent)
    assert len(found["question accuracy"].images) == images < 40
    for kind in KINDS:
        accuracy, _, images = naive(questions, captions, kind)
        assert found[f"question accuracy, {kind}"].value == pytest.approx(accuracy)
        assert len(found[f"question accuracy, {kind}"].images) == images
    assert {result.retriever for result in found.values()} == {"mine"}
    assert {result.corpus for result in found.values()} == {"toy"}, "a corpus without questions is left out"
    rows = summary_columns(found.values(), {})
    assert all(
        0 <= low <= value <= high <= 100
        for low, value, high in zip(*map(rows.get, ("ci_low", "value", "ci_high")), strict=True)
    )


def test_intervals_are_over_images(tmp_path):
    """Many captions of the same images make an interval no narrower."""
    questions, captions = made_up(60, 5)
    narrow = {key: text for key, text in captions.items() if key[1] == 0}
    again = {(image, index): text for (image, _), text in narrow.items() for index in range(4)}
    widths = []
    for name, texts in (("once", narrow), ("again", again)):
        (tmp_path / name).mkdir()
        found = {result.metric: result for result in results(JOB, scored(tmp_path / name, questions, texts), 0)}
        widths.append(found["question accuracy"].resampled.std())
    assert widths[0] == pytest.approx(widths[1])
    assert widths[0] > 0


def test_single_captions_have_their_share(tmp_path):
    questions, captions = made_up(20, 7)
    (found,) = of_captions(scored(tmp_path, questions, captions), {})
    assert (found.metric, found.scorer) == ("question accuracy", "mine")
    values = dict(zip(found.keys, found.values, strict=True))
    expected = {
        ("toy", *key): naive(questions, {key: text})[0] / 100 for key, text in captions.items() if key[0] in questions
    }
    assert values == pytest.approx(expected)


def test_each_caption_has_a_row_for_each_kind(tmp_path):
    questions = {"a": [("x", "?", COLOURS, "red"), ("y", "??", COLOURS, "blue"), ("x", "???", COLOURS, "green")]}
    rows = read_table(scored(tmp_path, questions, {("a", 0): "a red dog"}), SCORES).to_pylist()
    assert [(row["kind"], row["correct"], row["unanswered"]) for row in rows] == [
        ("x", [2, 1], [2, 0]),
        ("y", [1, 0], [1, 0]),
    ]


def test_captions_of_images_without_any_question_are_an_error(tmp_path):
    questions, _ = made_up(3, 1)
    with pytest.raises(ValueError, match=r"questions-toy\.parquet has no question about the 1 captioned images of toy"):
        scored(tmp_path, questions, {("elsewhere", 0): "red"})
