"""CLIPScore, PAC-S and both with references, by embeddings that can be computed by hand."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from captionlab.evaluation.metrics.clipscore import metric as clipscore
from captionlab.evaluation.metrics.clipscore.metric import PROMPT, SCORES, of_captions, results, score, with_references
from captionlab.evaluation.summary import Job
from captionlab.storage.tables import TableWriter, write_table

# Two dimensions, so that every cosine is seen: that of (3, 4) with (1, 0) is 0.6.
TEXTS = {
    "a dog": (3.0, 4.0),
    "a cat": (-1.0, 0.0),
    "a bird": (2.0, 0.0),
    "it barks": (0.0, 5.0),
    "nothing like it": (0.0, -1.0),
}
IMAGES = {"1": (1.0, 0.0), "2": (5.0, 0.0)}
CAPTIONS = [("1", 0, "a dog"), ("1", 1, "a bird"), ("2", 0, "a cat")]
REFERENCES = {"1": ["it barks", "nothing like it"], "2": ["a cat"]}


class Encoder:
    """Embeds these texts, and reads two words of a caption after the prompt."""

    def embed_texts(self, captions):
        return torch.tensor([TEXTS[caption.removeprefix(PROMPT)] for caption in captions])

    def tokens_left_out(self, captions):
        assert all(caption.startswith("A photo depicts ") for caption in captions)
        return [max(len(caption.split()) - 5, 0) for caption in captions]


@pytest.fixture(autouse=True)
def encoders(monkeypatch):
    """Every encoder is that one, and sees these images."""
    monkeypatch.setattr(clipscore, "encoder_of", lambda given, name: Encoder())
    seen = lambda given, name, corpus, images: torch.tensor([IMAGES[image] for image in images])  # noqa: E731
    monkeypatch.setattr(clipscore, "embeddings_of", seen)


def given(captions=CAPTIONS, people=False, references=REFERENCES, languages=None, **asked):
    rows = [{"corpus": "coco", "image_id": image, "caption_index": at, "caption": text} for image, at, text in captions]
    return SimpleNamespace(
        settings={"clipscore": [], "pac_s": [], **asked}, people=people, captions={"coco": rows},
        texts={"coco": references}, languages=languages or {},
    )  # fmt: skip


def test_clipscore_is_2_5_times_the_cosine_and_never_below_0():
    (columns,) = score(given(clipscore=["clip"]))
    assert columns["score"].tolist() == pytest.approx([2.5 * 0.6, 2.5, 0], abs=1e-6)
    assert {*columns["metric"], *columns["encoder"]} == {"CLIPScore", "clip"}


def test_captions_in_another_language_have_no_prompt(monkeypatch):
    read = []

    class Noting(Encoder):
        def embed_texts(self, captions):
            read.extend(captions)
            return super().embed_texts(captions)

        def tokens_left_out(self, captions):
            return [0] * len(captions)

    monkeypatch.setattr(clipscore, "encoder_of", lambda given, name: Noting())
    (columns,) = score(given(clipscore=["clip"], languages={"coco": "de"}))
    assert {*read} == {*TEXTS}
    assert columns["score"].tolist() == pytest.approx([2.5 * 0.6, 2.5, 0], abs=1e-6)


def test_pac_s_is_2_times_the_cosine():
    (columns,) = score(given(pac_s=["pac"]))
    assert columns["score"].tolist() == pytest.approx([1.2, 2, 0], abs=1e-6)
    assert {*columns["metric"]} == {"PAC-S"}


def test_with_references_it_is_the_harmonic_mean_with_the_nearest_of_them():
    (columns,) = score(given(clipscore=["clip"]))
    # The nearest of the first is "it barks", cosine 0.8; of the second all are at right angles or beyond it.
    assert columns["with_references"] == pytest.approx([2 * 1.5 * 0.8 / (1.5 + 0.8), 0, 0], abs=1e-6)


def test_it_agrees_with_a_loop_over_random_embeddings():
    generator = np.random.default_rng(0)

    def unit(*shape):
        values = generator.normal(size=shape)
        return values / np.linalg.norm(values, axis=-1, keepdims=True)

    captions, scores = unit(20, 6), 2.5 * np.maximum(generator.normal(size=20), 0)
    names = [[f"{n} {i}" for i in range(generator.integers(0, 4))] for n in range(20)]
    table = {name: unit(6) for of_caption in names for name in of_caption}
    encoder = SimpleNamespace(embed_texts=lambda texts: torch.tensor(np.stack([table[text] for text in texts])))
    found = with_references(scores, captions, names, encoder)
    for one, caption, of_caption, made in zip(scores, captions, names, found, strict=True):
        if not of_caption:
            assert made is None
            continue
        near = max(max(0.0, sum(a * b for a, b in zip(table[name], caption, strict=True))) for name in of_caption)
        wanted = 0.0 if near * one == 0 else 2 / (1 / one + 1 / near)
        assert math.isclose(made, wanted, abs_tol=1e-6)


def test_captions_of_people_are_not_held_against_themselves():
    (columns,) = score(given(clipscore=["clip"], people=True))
    assert columns["with_references"] == [None] * 3
    assert columns["score"][0] == pytest.approx(1.5, abs=1e-6)


def test_an_image_without_references_has_the_score_alone():
    (columns,) = score(given(clipscore=["clip"], references={"1": ["it barks"]}))
    assert [value is None for value in columns["with_references"]] == [False, False, True]


def test_what_the_text_side_cuts_is_counted_and_said(caplog):
    (columns,) = score(given([("1", 0, "a dog"), ("2", 0, "nothing like it")], clipscore=["clip"]))
    assert columns["tokens_left_out"] == [0, 1]
    assert "coco: 1 of 2 captions are too long for clip and are cut" in caplog.text


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "clipscore.parquet"
    with TableWriter(path, SCORES) as writer:
        for columns in score(given(clipscore=["clip"], pac_s=["pac"])):
            writer.write(columns)
    return path


def test_values_are_means_over_images(table):
    found = {
        (one.metric, one.retriever): one for one in results(Job("me", "main", "greedy", {"coco": "test"}), table, 1)
    }
    # The first image has two captions, which share its weight in the sums as two captions do.
    assert found["CLIPScore", "clip"].value == pytest.approx(100 * (1.5 + 2.5 + 0) / 3, abs=1e-4)
    assert found["PAC-S", "pac"].value == pytest.approx(100 * (1.2 + 2 + 0) / 3, abs=1e-4)
    assert found["captions cut for CLIPScore", "clip"].value == 0
    assert {metric for metric, _ in found} == {
        *("CLIPScore", "RefCLIPScore", "captions cut for CLIPScore"), *("PAC-S", "RefPAC-S", "captions cut for PAC-S"),
    }  # fmt: skip


def test_single_captions_have_scores(table):
    found = {(one.metric, one.scorer): one for one in of_captions(table, {})}
    assert found["CLIPScore", "clip"].keys == [("coco", "1", 0), ("coco", "1", 1), ("coco", "2", 0)]
    assert found["CLIPScore", "clip"].values == pytest.approx([1.5, 2.5, 0], abs=1e-6)
    assert found.keys() == {
        (n, e) for e, n in (("clip", "CLIPScore"), ("clip", "RefCLIPScore"), ("pac", "PAC-S"), ("pac", "RefPAC-S"))
    }


def test_captions_that_are_references_have_no_score_with_them(tmp_path):
    path = tmp_path / "clipscore.parquet"
    (columns,) = score(given(clipscore=["clip"], people=True))
    write_table(path, SCORES, columns)
    metrics = {one.metric for one in results(Job("people", "main", "given", {"coco": "test"}), path, 1)}
    assert metrics == {"CLIPScore", "captions cut for CLIPScore"}
