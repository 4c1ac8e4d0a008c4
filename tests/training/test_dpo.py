"""Direct preference optimisation against a naive implementation, and the pairs that it learns from."""

import copy
import math
from types import SimpleNamespace

import pytest
import torch
from support.decodings import decoding_of
from support.sampling_stand_in import LONGEST, captioner_of, tokenizer_of_words

from captionlab.training.objectives.dpo import objective as dpo
from captionlab.training.parent import frozen_parent

torch.set_num_threads(1)
IMAGES, BATCH = 8, 4


@pytest.fixture(scope="module")
def tokenizer():
    return tokenizer_of_words()


def data_of(tokenizer, captioner):
    """Training data of images that are vectors."""
    visual = torch.randn(IMAGES, 4, generator=torch.Generator().manual_seed(3))
    ids = [str(row) for row in range(IMAGES)]
    return SimpleNamespace(
        visual=visual, visual_of=lambda chosen: visual[[int(row) for row in chosen]], ids=ids, device="cpu", seed=5,
        batch=BATCH, order={"size": BATCH, "seed": 5}, captioner=captioner, tokenizer=tokenizer,
    )  # fmt: skip


def built(monkeypatch, tokenizer, reward):
    monkeypatch.setattr(dpo, "build_reward", lambda config, data: reward)
    decoding = decoding_of("sample", LONGEST).model_dump(exclude_none=True)
    config = {"reward": {}, "decoding": decoding, "beta": 0.3}
    captioner = captioner_of(tokenizer)
    return config, data_of(tokenizer, captioner), captioner


def log_prob(captioner, tokenizer, image, caption):
    """The log-probability of a caption with its end, token by token."""
    tokens, found = [*tokenizer.encode([caption])[0], tokenizer.end], 0.0
    for number, token in enumerate(tokens):
        logits, state = captioner.start(image[None], 9)
        for before in tokens[:number]:
            logits, state = captioner.step(torch.tensor([before]), state)
        found += logits[0].log_softmax(0)[token].item()
    return found


def length(batch, captions):
    """A reward that is the number of words, for which images of even rows get nothing."""
    rows = batch.images[batch.rows].tolist()
    return torch.tensor([float(len(text.split()) * (row % 2)) for row, text in zip(rows, captions, strict=True)]), {}


def test_pairs_have_the_caption_with_the_larger_reward_first(monkeypatch, tokenizer):
    config, data, _ = built(monkeypatch, tokenizer, length)
    pairs = dpo.draw_pairs(config, data)
    assert pairs
    assert all(row % 2 for row in pairs), "images whose captions have equal rewards are left out"
    assert all(len(first.split()) > len(second.split()) for first, second in pairs.values())
    assert dpo.draw_pairs(config, data) == pairs, "so that a training that goes on has the same pairs"


def test_the_loss_is_that_of_the_naive_one_and_parts_have_whole_pairs(monkeypatch, tokenizer):
    def reward(batch, captions):
        return torch.arange(len(captions)).float(), {}

    config, data, captioner = built(monkeypatch, tokenizer, reward)
    _, batches = dpo.build(config, data)
    pairs = dpo.draw_pairs(config, data)
    parent = captioner_of(tokenizer, seed=2).eval()
    objective = dpo.Dpo(0.3, frozen_parent(parent))
    batch = batches[0]
    loss, statistics = objective.loss(captioner, batch)
    margins = []
    for row in batches.order[0].tolist():
        image, texts = [*pairs][row], [*pairs.values()][row]
        gains = [
            log_prob(captioner, tokenizer, data.visual[image], text)
            - log_prob(parent, tokenizer, data.visual[image], text)
            for text in texts
        ]
        margins.append(0.3 * (gains[0] - gains[1]))
    expected = sum(math.log(1 + math.exp(-margin)) for margin in margins) / len(margins)
    assert loss.item() == pytest.approx(expected, abs=1e-5)
    assert float(statistics["margin"]) == pytest.approx(sum(margins) / len(margins), abs=1e-5)
    for parts in (2, 3):
        pieces = batch.split(parts)
        losses = [objective.loss(captioner, piece)[0].item() * piece.weight / batch.weight for piece in pieces]
        assert sum(losses) == pytest.approx(loss.item(), abs=1e-6)
    untrained = dpo.Dpo(0.3, frozen_parent(copy.deepcopy(captioner)))
    assert untrained.loss(captioner, batch)[0].item() == pytest.approx(math.log(2))


def test_a_reward_that_prefers_nothing_is_an_error(monkeypatch, tokenizer):
    config, data, _ = built(monkeypatch, tokenizer, lambda batch, captions: (torch.zeros(len(captions)), {}))
    with pytest.raises(ValueError, match=r"objective\.reward gives both sampled captions of each image the same"):
        dpo.draw_pairs(config, data)
