"""The reward NAME keeps the contract of rewards, and long captions cost."""

from pathlib import Path
from types import SimpleNamespace

import torch

from captionlab.config.contract import check_plugin
from captionlab.plugins import defined, use

use([Path(__file__).parent / "mine"])


def test_it_keeps_the_contract():
    """Check FACTS, models and names."""
    check_plugin("training.rewards", "NAME")


def test_words_beyond_the_number_cost():
    """Check the reward of a short and of a long caption."""
    reward = defined("training.rewards", "NAME", "build")({"words": 2}, None)
    rewards, statistics = reward(SimpleNamespace(images=torch.arange(2)), ["a dog", "a dog on a sofa"])
    assert rewards.tolist() == [0, -3]
    assert statistics["words"].tolist() == [2, 5]
