"""Learning to match images and captions: where negatives come from, the loss, and the examination."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import log_softmax

from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.wordpiece import WordPieces, learn_pieces
from captionlab.regions.batches import RegionBatch, RegionTable
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.scorers.schemas import MATCHING
from captionlab.scorers.store import new_scorer
from captionlab.training.objectives.itm import (
    MatchingBatches,
    MatchingObjective,
    Negatives,
    PairBatch,
    align_words,
    examine,
)

CAPTIONS = [
    ["a red dog", "a dog runs"],
    ["a blue cat", "a cat"],
    ["a dog runs", "two boats"],
    ["two cats and a dog", "a red boat"],
    ["the boat"],
]
NEIGHBOURS = np.array([[2, 3], [3, 0], [0, 4], [1, 2], [2, 3]])
SIZES = {"vocabulary": 60, "positions": 14, "width": 12, "layers": 2, "heads": 2, "feed_forward": 16, "dropout": 0.0}
ARCHITECTURES = {
    "uniter": SIZES,
    "rosita": SIZES,
    "vilbert": {
        **SIZES,
        "visual_width": 12,
        "visual_layers": 1,
        "visual_heads": 2,
        "visual_feed_forward": 16,
        "connections": 1,
        "joint_width": 12,
        "joint_heads": 2,
    },
    "lxmert": {**SIZES, "visual_layers": 1, "cross_layers": 1},
}


def texts():
    return [caption for of_image in CAPTIONS for caption in of_image]


def scorer(family="uniter", **config):
    torch.manual_seed(5)
    return new_scorer({"family": family, "architecture": ARCHITECTURES[family], **config}, texts(), region_size=6)


def regions() -> RegionBatch:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(3, 4, 6, generator=generator)
    boxes = torch.rand(3, 4, 2, 2, generator=generator).sort(2).values.flatten(2) * 50
    features[1, 2:], boxes[1, 2:] = 0, 0
    return RegionBatch(features, boxes, torch.full((3, 2), 50.0), [4, 2, 4])


def test_learnt_pieces():
    """Special pieces, characters, then words by how often they occur; what is left out is cut into characters."""
    pieces = learn_pieces(["The cat, the cats.", "a THE cat"], 100)
    letters = sorted(set("the,cats.a"))
    expected = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    assert pieces == [*expected, "the", "cat", "cats"]
    assert learn_pieces(["The cat, the cats.", "a THE cat"], len(expected) + 1) == [*expected, "the"]
    words = WordPieces(pieces[:-1])
    (ids,) = words.encode(["cats dog"], 20)
    assert [pieces[number] for number in ids] == ["[CLS]", "cat", "##s", "[UNK]", "[SEP]"]
    assert "The" in learn_pieces(["The cat"], 100, lowercase=False)
    assert "dogs" in learn_pieces(["dog's"], 100, strip_punctuation=True)
    with pytest.raises(
        CheckpointError, match=r"architecture\.vocabulary is 9; the special tokens and characters alone"
    ):
        scorer(architecture={**SIZES, "vocabulary": 9})


def test_negatives():
    """Hard ones come from the neighbours alone, random ones from all others, none is a caption of the image itself."""
    negatives, generator = Negatives(CAPTIONS, NEIGHBOURS), np.random.default_rng(0)
    for image in range(5):
        own = set(CAPTIONS[image])
        for hard in (False, True):
            others = NEIGHBOURS[image] if hard else [other for other in range(5) if other != image]
            possible = {caption for other in others for caption in CAPTIONS[other]} - own
            assert {negatives.draw(image, hard, generator) for _ in range(200)} == possible
    same = Negatives([["a"], ["a"]], np.array([[1], [0]]))
    assert same.draw(0, True, generator) == "a"


@pytest.fixture
def table(tmp_path) -> RegionTable:
    generator = np.random.default_rng(3)
    images = [
        ImageRegions(f"i{n}", 50, 50, generator.uniform(0, 50, (2, 4)), generator.standard_normal((2, 6)).astype("f4"))
        for n in range(5)
    ]
    write_regions(tmp_path / "regions.parquet", images)
    return RegionTable(tmp_path / "regions.parquet")


def test_batches(table):
    """Half of the pairs match; a batch follows from seed and step alone."""
    ids, negatives = [f"i{n}" for n in range(5)], Negatives(CAPTIONS, NEIGHBOURS)

    def batches(hard=0.5, seed=1):
        return MatchingBatches(ids, table, CAPTIONS, negatives, hard, size=2, seed=seed)

    assert len(batches()) == 2
    later = batches()[3]
    every = batches()
    for step in range(40):
        batch, rows = every[step], every.order[step]
        assert batch.rows == [0, 1, 0, 1]
        assert batch.matches == [True, True, False, False]
        for caption, row, matches in zip(batch.captions, [*rows, *rows], batch.matches, strict=True):
            assert (caption in CAPTIONS[row]) == matches
        assert torch.equal(batch.regions.features, table.batch([ids[row] for row in rows]).features)
    assert every[3].captions == later.captions
    assert [batches(seed=2)[step].captions for step in range(5)] != [every[step].captions for step in range(5)]
    for step in range(20):
        hard = batches(hard=1.0)
        for caption, row in zip(hard[step].captions[2:], hard.order[step], strict=True):
            assert any(caption in CAPTIONS[other] for other in NEIGHBOURS[row])


def test_parts_of_a_batch():
    """Each image is in one part, with its captions; the parts' losses, weighted, are that of the whole."""
    model = scorer().eval()
    captions = ["a red dog", "two cats and a dog", "the boat", "a cat", "a dog runs", "a blue cat"]
    batch = PairBatch(regions(), captions, [0, 1, 2, 0, 1, 2], [True, True, True, False, False, False])
    parts = batch.split(2)
    assert [part.captions for part in parts] == [
        ["a red dog", "two cats and a dog", "a cat", "a dog runs"],
        ["the boat", "a blue cat"],
    ]
    assert [part.rows for part in parts] == [[0, 1, 0, 1], [0, 0]]
    assert [part.weight for part in parts] == [4, 2]
    assert parts[1].regions.counts == [4]
    losses = [MatchingObjective().loss(model, part)[0] * part.weight / batch.weight for part in parts]
    torch.testing.assert_close(sum(losses), MatchingObjective().loss(model, batch)[0])


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_loss(family):
    """Against each caption alone with its image."""
    model = scorer(family).eval()
    captions = ["a red dog", "two cats and a dog", "the boat", "a cat", "a dog runs"]
    batch = PairBatch(regions(), captions, [0, 1, 2, 0, 1], [True, True, True, False, False])
    loss, statistics = MatchingObjective().loss(model, batch)
    index, losses, right = model.matching.match_index, [], []
    for row, caption, matches in zip(batch.rows, captions, batch.matches, strict=True):
        count = batch.regions.counts[row]
        alone = RegionBatch(
            batch.regions.features[row : row + 1, :count],
            batch.regions.boxes[row : row + 1, :count],
            batch.regions.sizes[row : row + 1],
            [count],
        )
        ids = torch.tensor(model.encode_text([caption]))
        logits = model.network.logits(model.encode_image(alone), ids, None)[0]
        losses.append(-log_softmax(logits, 0)[index if matches else 1 - index])
        right.append(float((logits.argmax() == index) == matches))
    torch.testing.assert_close(loss, torch.stack(losses).mean(), atol=1e-5, rtol=1e-5)
    assert float(statistics["accuracy"]) == pytest.approx(np.mean(right))


def test_loss_of_a_retrieval_head():
    model = scorer(head="retrieval").eval()
    batch = PairBatch(regions(), ["a red dog", "the boat"], [0, 2], [True, False])
    loss, _ = MatchingObjective().loss(model, batch)
    tokens = model.encode_text(batch.captions)
    matching, other = model.logits(model.encode_image(batch.regions), tokens, [0, 2])[:, 0].tolist()
    expected = -(math.log(1 / (1 + math.exp(-matching))) + math.log(1 - 1 / (1 + math.exp(-other)))) / 2
    assert loss.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("family", ARCHITECTURES)
def test_words_start_where_regions_that_show_them_do(family):
    """A region that is the text embedding of a word, less the mean of all, is projected onto that word's embedding."""
    torch.manual_seed(0)
    embeddings = {}

    def embed_texts(words):
        return torch.stack([embeddings.setdefault(word, 5 * torch.randn(6) + 1) for word in words])

    model = scorer(family)
    before = model.network.word_embeddings.weight.std().item()
    align_words(model, SimpleNamespace(embed_texts=embed_texts))
    words = model.network.word_embeddings.weight
    assert words.std().item() == pytest.approx(before, rel=1e-4)
    units = torch.stack([embeddings[piece.removeprefix("##")] for piece in model.words.pieces])
    units = units / units.norm(dim=1, keepdim=True)
    projection = model.network.region_projection
    for row in (5, 20, len(units) - 1):
        shown = projection(units[row] - units.mean(0)) - projection.bias
        assert torch.cosine_similarity(shown, words[row], dim=0).item() == pytest.approx(1, abs=1e-5)
    with pytest.raises(ValueError, match="the encoder's embeddings have 7 numbers and regions 6"):
        align_words(model, SimpleNamespace(embed_texts=lambda words: torch.randn(len(words), 7)))
    other = scorer(family, architecture={**ARCHITECTURES[family], "width": 24}) if family == "vilbert" else None
    if other:
        with pytest.raises(ValueError, match="words are 24 wide and regions 12; both must be equal"):
            align_words(other, SimpleNamespace(embed_texts=embed_texts))


def test_examination():
    """A scorer whose scores are known: the length of a caption, out of 40."""
    ids = [f"i{n}" for n in range(5)]

    class Lengths:
        matching = SimpleNamespace(scale=40)

        def score(self, visual, captions, rows):
            assert len(captions) == len(rows)
            return torch.tensor([float(len(caption)) for caption in captions])

    images = SimpleNamespace(visual=lambda ids: None)
    negatives = Negatives([["x"], ["y" * 30]], np.array([[1], [0]]))
    columns = examine(Lengths(), images, ids[:2], [["x"], ["y" * 30]], negatives, "test", seed=0)
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    assert set(columns) == set(MATCHING.columns)
    # "x" (1) is below one half and its negative (30) above: both wrong; for the other image both are right.
    assert [(row["negatives"], row["measure"], row["value"], row["n"]) for row in rows] == [
        ("random", "accuracy", 0.5, 2),
        ("random", "ranking", 0.5, 2),
        ("hard", "accuracy", 0.5, 2),
        ("hard", "ranking", 0.5, 2),
    ]
    # Clopper and Pearson's interval of 1 of 2.
    assert all((row["ci_low"], row["ci_high"]) == pytest.approx((0.012579, 0.987421), abs=1e-5) for row in rows)
    again = Negatives(CAPTIONS, NEIGHBOURS)
    drawn = examine(Lengths(), images, ids, CAPTIONS, again, "test", seed=0)["value"]
    # Every caption is below one half: matching ones wrong, others right.
    assert [drawn[0], drawn[2]] == [0.5, 0.5]
