"""Rewards of a caption by a scorer, by references, by fluency, and combinations, against plain loops."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from pycocoevalcap.cider.cider import Cider as TheirCider
from support.scorer_stand_in import build_scorer

from captionlab.config.plugins import plugin_models
from captionlab.networks.words import words_of
from captionlab.plugins import facts
from captionlab.regions.batches import RegionTable
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.scorers.images import ScorerImages
from captionlab.storage import schemas
from captionlab.storage.tables import write_table
from captionlab.texts.ngram import score, train
from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.alternate.reward import in_turn
from captionlab.training.rewards.reward import build_reward
from captionlab.training.rewards.scorer.reward import MatchingScore
from captionlab.training.rewards.sum.reward import weighted_sum

torch.set_num_threads(1)
REFERENCES = [
    ["A red ball.", "the ball is red", "A ball!"],
    ["two dogs on the grass", "Dogs, two of them."],
    ["a dog runs", "the dog runs fast", "a red dog"],
    ["a cat on a sofa"],
]
CAPTIONS = [
    "a red ball",
    "A red ball.",
    "the dog",
    "two dogs on the",
    "",
    "zebra on a sofa",
    "a cat",
    "a dog runs fast",
]
IMAGES = [2, 0, 3, 1]


@pytest.fixture
def reward_of(tmp_path):
    """Makes a reward by these references, which are read from a table."""
    ids = [f"image-{row}" for row in range(4)]
    images, captions = tmp_path / "images.parquet", tmp_path / "captions.parquet"
    columns = dict.fromkeys(schemas.IMAGES.columns, [None] * 4) | {"width": [1] * 4, "height": [1] * 4}
    columns |= {"image_id": ids, "position": range(4), "split": ["train"] * 4, "path": ["none"] * 4}
    write_table(images, schemas.IMAGES, columns)
    rows = [(ids[row], n, text) for row, texts in enumerate(REFERENCES) for n, text in enumerate(texts)]
    write_table(captions, schemas.CAPTIONS, dict(zip(schemas.CAPTIONS.columns, zip(*rows, strict=True), strict=True)))
    data = TrainingData(images, [], "cpu", batch=1, seed=1, captions=captions)
    return lambda kind: build_reward({"kind": kind}, data)


@pytest.fixture
def batch():
    """Four images, each with two captions."""
    return ImageBatch(torch.zeros(4, 1), torch.tensor(IMAGES), captions=2)


@pytest.fixture
def scorer(tmp_path):
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "red", "ball", "the", "dog", "two", "dogs", "on", "cat", "sofa"]
    (tmp_path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    sizes = {"positions": 20, "width": 16, "heads": 2, "layers": 2, "feed_forward": 24}
    torch.manual_seed(1)
    config = {"family": "uniter", "architecture": sizes, "max_tokens": 20}
    scorer = build_scorer(config, tmp_path / "vocab.txt", 6).eval()
    for parameter in scorer.parameters():
        parameter.data.mul_(4.0 if parameter.dim() > 1 else 1.0)
    return scorer


@pytest.fixture
def regions(tmp_path):
    """A table of regions of four images, three to six regions each."""
    draw = np.random.default_rng(0)
    images = [
        ImageRegions(
            f"image-{row}", 50, 40, np.sort(draw.uniform(0, 40, (3 + row, 4)), axis=1).astype(np.float32),
            draw.standard_normal((3 + row, 6)).astype(np.float32),
        )
        for row in range(4)
    ]  # fmt: skip
    write_regions(tmp_path / "regions.parquet", images)
    return tmp_path / "regions.parquet"


def test_matching_score_is_that_of_each_caption_alone(batch, scorer, regions):
    asked = []
    images = ScorerImages(scorer, [regions])
    ids = [f"image-{row}" for row in range(4)]
    reward = MatchingScore(scorer, lambda names: (asked.append(list(names)), images.visual(names))[1], ids, scale=2.0)
    ours, _ = reward(batch, CAPTIONS)
    table = RegionTable([regions])
    plain = [
        2 * scorer.score(scorer.encode_image(table.batch([f"image-{IMAGES[row // 2]}"])), [caption]).item()
        for row, caption in enumerate(CAPTIONS)
    ]
    np.testing.assert_allclose(ours, plain, atol=1e-5)
    assert len(set(np.round(plain, 3))) > 3
    assert asked == [[f"image-{row}" for row in IMAGES]], "each image is read once"


def test_a_part_of_a_batch_reads_its_own_images(batch, scorer, regions):
    ids = [f"image-{row}" for row in range(4)]
    reward = MatchingScore(scorer, ScorerImages(scorer, [regions]).visual, ids)
    whole, _ = reward(batch, CAPTIONS)
    parts = [reward(part, CAPTIONS[4 * n : 4 * n + 4])[0] for n, part in enumerate(batch.split(2))]
    torch.testing.assert_close(torch.cat(parts), whole)


def test_cider_has_the_end_as_a_word(batch, reward_of):
    ours, _ = reward_of("cider")(batch, CAPTIONS)
    ended = {i: [" ".join([*words_of(t), "<end>"]) for t in of_image] for i, of_image in enumerate(REFERENCES)}
    for row, caption in enumerate(CAPTIONS):
        image = IMAGES[row // 2]
        # The others have captions only because the authors' code asks for them.
        others = {i: ["other"] for i in range(4)} | {image: [" ".join([*words_of(caption), "<end>"])]}
        _, theirs = TheirCider().compute_score(ended, others)
        assert float(ours[row]) == pytest.approx(theirs[image], abs=1e-6)
    assert len(set(ours.tolist())) > 4


def plain_bleu(caption, references):
    """BLEU-4 of lists of words, as Papineni et al. (2002) define it, with constants instead of zeros."""
    product = 1.0
    for n in range(1, 5):
        found, *others = (
            Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in (caption, *references)
        )
        matches = sum(min(count, max(other[gram] for other in others)) for gram, count in found.items())
        product *= (matches + 1e-15) / (found.total() + 1e-9)
    closest = min((len(words) for words in references), key=lambda length: (abs(length - len(caption)), length))
    return product**0.25 * min(1.0, math.exp(1 - closest / len(caption)))


def test_bleu_has_the_end_as_a_word(batch, reward_of):
    captions = [
        "The dog runs fast.",
        "a dog runs fast",
        "the ball is red, the ball is red",
        "",
        "a cat on a",
        "a cat on a cat on a sofa",
        "two dogs on the",
        "the grass on two dogs",
    ]
    ours, _ = reward_of("bleu")(batch, captions)
    for row, caption in enumerate(captions):
        of_image = [[*words_of(text), "<end>"] for text in REFERENCES[IMAGES[row // 2]]]
        assert float(ours[row]) == pytest.approx(plain_bleu([*words_of(caption), "<end>"], of_image), rel=1e-5)
    assert float(ours[0]) == pytest.approx(1)
    assert sum(0.1 < float(value) < 0.9 for value in ours) == 5
    assert len(set(ours.tolist())) == 8


def test_fluency_is_the_perplexity_and_unknown_words_do_not_pay(batch, reward_of):
    sentences = [words_of(text) for of_image in REFERENCES for text in of_image]
    model = train(sentences)
    rarest = math.log10(1 / sum(len(words) + 1 for words in sentences))
    fluency = reward_of("fluency")
    ours, _ = fluency(batch, CAPTIONS)
    for row, caption in enumerate(CAPTIONS):
        words = words_of(caption)
        found = float(score(model, [words]).log_probs[0]) + rarest * words.count("zebra")
        assert float(ours[row]) == pytest.approx(found / (len(words) + 1), abs=1e-6)
    known, unknown = fluency(batch, ["a cat on a sofa", "a zebra on a sofa"])[0]
    assert float(unknown) < float(known)


def lengths(batch, captions):
    return torch.tensor([float(len(caption)) for caption in captions]), {"longest": torch.tensor([1.0] * len(captions))}


def ranks(batch, captions):
    return batch.images[batch.rows].float(), {}


def test_sum(batch):
    total, statistics = weighted_sum([0.5, -2.0], {"length": lengths, "rank": ranks}, batch, CAPTIONS)
    expected = [0.5 * len(caption) - 2 * IMAGES[row // 2] for row, caption in enumerate(CAPTIONS)]
    assert total.tolist() == expected
    assert statistics["reward_length"].tolist() == [len(caption) for caption in CAPTIONS]
    assert statistics["reward_rank"].tolist() == [float(IMAGES[row // 2]) for row in range(8)]
    assert set(statistics) == {"reward_length", "reward_rank", "longest_length"}


def test_alternate_takes_turns_by_the_number_of_the_update():
    batches = ImageBatches(torch.zeros(9, 1), 3, seed=0)
    for step in (0, 1, 4, 7):
        batch = batches[step]
        for part in (batch, batch.split(3)[1]):
            captions = ["abcd"] * len(part.rows)
            values, statistics = in_turn({"length": lengths, "rank": ranks}, part, captions)
            assert f"reward_{'rank' if step % 2 else 'length'}" in statistics
            assert torch.equal(values, (ranks if step % 2 else lengths)(part, captions)[0])


def test_rewards_name_the_model_that_they_ask():
    kinds = facts("training.rewards")
    assert {kind for kind, reward in kinds.items() if reward.of} == {"sum", "alternate"}
    for kind, model in plugin_models("training.rewards").items():
        asked = {kinds[kind].asks} - {"nothing"}
        assert {"retriever", "scorer", "questions"} & model.model_fields.keys() == asked


def test_a_reward_that_there_is_not_is_told_which_there_are():
    with pytest.raises(ValueError, match=r"training.rewards have no 'meteor'; there are accuracy, alternate, bleu"):
        build_reward({"kind": "meteor"}, None)
