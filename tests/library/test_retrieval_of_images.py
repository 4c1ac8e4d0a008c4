"""Retrieval of images by captions in one call."""

import numpy as np
import pytest
from support.dual_encoders import clip
from support.tiny_run import CAPTIONER, CORPUS, ENCODER, EVALUATION

from captionlab.library.retrieval import retrieve
from captionlab.library.runs import open_run


def test_ranks_are_those_of_the_workflow(tiny_run, tmp_path):
    run = open_run(tiny_run)
    captions = run.captions(CAPTIONER, CORPUS, EVALUATION)
    files = [tmp_path / f"{image}.png" for image in captions["image_id"]]
    for file in files:
        run.image(CORPUS, file.stem).save(file)
    found = retrieve(captions["caption"].tolist(), files, run.model("encoders", ENCODER))
    scores = run.scores(CAPTIONER, EVALUATION, "retrieval").set_index("protocol")
    full = scores.loc["full"]
    assert found.ranks["rank"].tolist() == full["rank"].tolist()
    assert captions["image_id"][found.ranks["chosen"]].tolist() == full["chosen"].tolist()
    assert found.p_at_1.value == (full["rank"] == 1).mean()
    drawn = retrieve(
        captions["caption"].tolist(), files, run.model("encoders", ENCODER), protocol="random", candidates=4, seed=3
    )
    assert drawn.ranks["rank"].tolist() == scores.loc["random", "rank"].tolist()


def test_a_published_clip(tmp_path, tiny_run):
    model, processor = clip()
    model.save_pretrained(tmp_path / "clip")
    processor.save_pretrained(tmp_path / "clip")
    run = open_run(tiny_run)
    images = [run.image(CORPUS, name) for name in run.captions("human")["image_id"][:3]]
    found = retrieve(["a cat", "a dog", "a cat"], images, tmp_path / "clip")
    assert found.ranks["candidates"].tolist() == [3, 3, 3]


def test_embeddings_need_no_encoder():
    images = np.eye(4)
    captions = np.eye(4)[[0, 0, 3]] + 0.1 * np.eye(4)[[1, 1, 1]]
    found = retrieve(captions, images, targets=[0, 1, 3])
    assert found.ranks[["caption", "image", "rank", "chosen"]].to_numpy().tolist() == [
        [0, 0, 1, 0], [1, 1, 2, 0], [2, 3, 1, 3]
    ]  # fmt: skip
    assert found.p_at_1[::3] == (pytest.approx(2 / 3), 3)


def test_images_after_the_last_block_are_not_scored():
    found = retrieve(np.eye(5), np.eye(5), protocol="file-order", candidates=2)
    assert found.ranks["image"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("given", "captions", "images", "options", "part"),
    [
        ("a text in place of a list", "a cat", np.eye(5), {"encoder": "nowhere"}, "list"),
        ("texts without an encoder", ["a cat"], np.eye(1), {}, "encoder"),
        ("another number of images than captions", np.eye(2), np.eye(3), {}, "targets"),
        ("targets that are no rows", np.eye(2), np.eye(2), {"targets": [0, 5]}, "targets are 0 to 5"),
        ("embeddings of two sizes", np.eye(2), np.ones((2, 3)), {}, "2 numbers, and of images 3"),
        ("embeddings that are one vector", np.ones(2), np.eye(2), {}, "shape"),
        ("embeddings of length 0", np.eye(2), np.zeros((2, 2)), {}, "not a direction"),
        ("more candidates than images", np.eye(2), np.eye(2), {"protocol": "file-order"}, "candidates"),
        ("a protocol that is not there", np.eye(2), np.eye(2), {"protocol": "set"}, "file-order, random"),
        ("a folder without an encoder", ["a cat"], np.eye(1), {"encoder": "nowhere"}, "nowhere"),
    ],
)
def test_what_does_not_fit_is_refused(answers, given, captions, images, options, part):
    with pytest.raises(ValueError, match=part) as failure:
        retrieve(captions, images, **options)
    answers.hold(given, failure.value, part)
