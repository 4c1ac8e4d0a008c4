"""Rewards of greedy captions of training images, against loops over images, with stand-ins for what is captioned."""

from types import SimpleNamespace

import pytest
import torch
from support.decodings import decoding_of
from support.tiny_captioners import BUILT, TOKENIZER

from captionlab.generation.decoding import decode
from captionlab.training.greedy_rewards import GreedyRewards, turns_of

DECODING = decoding_of("greedy", 5)


def captioner(seed: int):
    torch.manual_seed(seed)
    return BUILT["clipcap"]()[0]


def data(images: int, batch: int):
    torch.manual_seed(9)
    ids = [f"i{number}" for number in range(images)]
    visual = torch.randn(images, 6)
    return SimpleNamespace(ids=ids, visual=visual, visual_of=lambda ids: visual[: len(ids)], batch=batch, device="cpu")


def length_of(batch, captions):
    """A reward that needs to know the images of the batch: the caption's length and the image's row, by the turn."""
    rewards = [len(text) if batch.step % 2 else row for text, row in zip(captions, batch.images.tolist(), strict=True)]
    return torch.tensor(rewards, dtype=torch.float32), {"accuracy": torch.tensor([float(r > 3) for r in rewards])}


def said(model, visual):
    """Captions, image by image."""
    model.eval()
    return [TOKENIZER.decode(decode(model, one[None], DECODING, TOKENIZER).tokens.tolist())[0] for one in visual]


@pytest.mark.parametrize(("images", "batch", "measured"), [(7, 3, 6), (8, 8, 8), (1300, 300, 900), (1300, 1200, 1200)])
def test_captions_and_rewards_of_whole_batches(images, batch, measured):
    known = data(images, batch)
    before, after = captioner(1), captioner(2)
    found = GreedyRewards(known, length_of, 1, DECODING).rows((before, TOKENIZER), (after, TOKENIZER))
    assert found["captions"] == [name for name in ("before", "after", "commonest") for _ in range(measured)]
    assert found["image_id"] == known.ids[:measured] * 3
    few = min(measured, 20)
    assert found["caption"][:few] == said(before, known.visual[:few])
    of_after = found["caption"][measured : 2 * measured]
    assert of_after[:few] == said(after, known.visual[:few])
    commonest = max(dict.fromkeys(of_after), key=of_after.count)
    assert found["caption"][2 * measured :] == [commonest] * measured
    assert found["reward"] == [float(row) for row in range(measured)] * 3
    assert found["accuracy"] == [float(row > 3) for row in range(measured)] * 3


def test_rewards_that_take_turns_are_averaged():
    found = GreedyRewards(data(4, 4), length_of, 2, DECODING).rows((captioner(1), TOKENIZER), (captioner(2), TOKENIZER))
    expected = [(row + len(text)) / 2 for row, text in zip([0, 1, 2, 3] * 3, found["caption"], strict=True)]
    assert found["reward"] == pytest.approx(expected)


def test_candidates_are_the_images_of_a_batch_of_the_training():
    seen = []

    def reward(batch, captions):
        seen.append(batch.images.tolist())
        return torch.zeros(len(captions)), {}

    found = GreedyRewards(data(700, 200), reward, 1, DECODING).rows(
        (captioner(1), TOKENIZER), (captioner(2), TOKENIZER)
    )
    assert seen == [[*range(start, start + 200)] for start in (0, 200, 400)] * 3
    assert set(found["accuracy"]) == {None}


def test_turns():
    cider, bleu = {"kind": "cider"}, {"kind": "bleu"}
    both = {"kind": "alternate", "of": [cider, bleu]}
    assert turns_of(cider) == 1
    assert turns_of(both) == 2
    weighed = {"kind": "sum", "of": [{"weight": 1, "reward": both}, {"weight": 2, "reward": cider}]}
    assert turns_of(weighed) == 2
    assert turns_of({"kind": "alternate", "of": [weighed, cider, bleu]}) == 6
