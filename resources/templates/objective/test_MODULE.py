"""The objective NAME keeps the contract of objectives, and a captioner learns what is rewarded."""

from pathlib import Path

import torch

from captionlab.captioners.newfc.captioner import NewFC
from captionlab.config.contract import check_plugin
from captionlab.config.evaluations import read_decoding
from captionlab.networks.tokenizer import Tokenizer
from captionlab.plugins import defined, use
from captionlab.training.loop.batches import ImageBatches

use([Path(__file__).parent / "mine"])


def test_it_keeps_the_contract():
    """Check FACTS, models and names."""
    check_plugin("training.objectives", "NAME")


def test_a_captioner_learns_what_is_rewarded():
    """Check that the reward rises in 60 updates."""

    def reward(batch, captions):
        return torch.tensor([caption.count("red") / 3 for caption in captions]), {}

    torch.manual_seed(0)
    tokenizer = Tokenizer.train(["a red ball"] * 5, 270)
    captioner = NewFC(6, width=6, input_width=5, vocabulary=tokenizer.size, dropout=0.0)
    decoding = read_decoding({"kind": "sample", "max_tokens": 3})
    objective = defined("training.objectives", "NAME", "BestOf")(tokenizer, decoding, reward, samples=8)
    optimizer, earned = torch.optim.Adam(captioner.parameters(), lr=0.1), []
    batches = ImageBatches(torch.randn(8, 6), size=8, seed=1)
    for step in range(60):
        loss, statistics = objective.loss(captioner, batches[step])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        earned.append(float(statistics["reward"]))
    assert earned[0] < 0.2 < 0.8 < earned[-1]
