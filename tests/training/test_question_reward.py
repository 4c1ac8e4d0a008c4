"""The reward of questions, against the metric of single captions."""

import pytest
import torch
from support.toy_questions import toy_corpus, write_questions

from captionlab.corpora.toyworld.render import render
from captionlab.evaluation.metrics.questions.metric import SCORES, columns, of_captions
from captionlab.questions.answering import ImageQuestions, build_answerer
from captionlab.storage.tables import read_table, write_table
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import build_reward

IMAGES = [f"train-{number:06d}" for number in range(4)]
QUESTIONS = {
    IMAGES[0]: [
        ("a", "?", ("red", "blue"), "red"),
        ("b", "?", ("dog", "cat"), "dog"),
        ("b", "?", ("sea", "sky"), "sky"),
    ],
    IMAGES[1]: [("a", "?", ("red", "blue"), "blue")],
    IMAGES[3]: [("a", "?", ("red", "blue"), "red"), ("b", "?", ("dog", "cat"), "cat")],
}
BLOCK = {"kind": "questions", "questions": "mine"}
CAPTIONS = ["a red dog", "a red cat", "blue", "a dog", "sky", "red", "a cat", ""]


@pytest.fixture
def data(tmp_path):
    """Return training data with a table of questions."""
    images = toy_corpus(tmp_path / "corpus", list(render("coco", 1, {"train": 4, "test": 2})))["images"]

    def data(questions):
        table = str(write_questions(tmp_path / "questions.parquet", questions))
        asked = {"questions/mine": {"table": table, "answerer": {"kind": "extractive"}, "features": []}}
        return TrainingData(images, [], "cpu", batch=2, seed=1, reward_models=asked)

    return data


def test_the_reward_is_the_metric_of_the_caption(tmp_path, data):
    given = data(QUESTIONS)
    rows = torch.tensor([3, 0, 2, 1])
    reward, statistics = build_reward(BLOCK, given)(ImageBatch(torch.zeros(4, 1), rows, captions=2), CAPTIONS)
    images = [IMAGES[row] for row in (3, 3, 0, 0, 2, 2, 1, 1)]
    generated = [
        {"corpus": "toy", "image_id": image, "caption_index": n, "caption": caption}
        for n, (image, caption) in enumerate(zip(images, CAPTIONS, strict=True))
    ]
    questions = ImageQuestions(given.reward_models["questions/mine"]["table"])
    asked = [row for row in generated if row["image_id"] in questions]
    write_table(
        tmp_path / "s.parquet",
        SCORES,
        columns("toy", "mine", asked, questions, build_answerer({"kind": "extractive"}, "mine")),
    )
    (of_single,) = of_captions(str(tmp_path / "s.parquet"), {})
    values = dict(zip(of_single.keys, of_single.values, strict=True))
    expected = [values.get(("toy", image, n), 0.0) for n, image in enumerate(images)]
    assert reward.tolist() == pytest.approx(expected)
    assert reward.tolist() == pytest.approx([0.5, 1.0, 0.0, 1 / 3, 0.0, 0.0, 0.0, 0.0])
    assert statistics["unanswered"].tolist() == pytest.approx([0.0, 0.0, 2 / 3, 2 / 3, 0.0, 0.0, 1.0, 1.0])
    assert read_table(tmp_path / "s.parquet", SCORES).num_rows > 0


def test_a_part_of_a_batch_earns_what_the_whole_does(data):
    reward = build_reward(BLOCK, data(QUESTIONS))
    batch = ImageBatch(torch.zeros(4, 1), torch.tensor([3, 0, 2, 1]), captions=2)
    whole = reward(batch, CAPTIONS)[0].tolist()
    parts = [reward(part, CAPTIONS[4 * n : 4 * n + 4])[0] for n, part in enumerate(batch.split(2))]
    assert torch.cat(parts).tolist() == whole


def test_images_without_questions_are_logged_and_an_empty_table_is_an_error(data, caplog):
    build_reward(BLOCK, data(QUESTIONS))
    assert (
        "1 of 4 training images have no question of mine and earn nothing, the first is train-000002" in caplog.messages
    )
    with pytest.raises(ValueError, match=r"questions\.parquet has no question about a training image"):
        build_reward(BLOCK, data({"test-000000": QUESTIONS[IMAGES[0]]}))
