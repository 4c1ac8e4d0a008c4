"""What a reward is, and the reward of a config block."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch

from captionlab.declarations import defined
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import RewardModel, TrainingData

Rewarded = tuple[torch.Tensor, dict[str, torch.Tensor]]


class Reward(Protocol):
    """How good captions of a batch's images are."""

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
        """Reward (B,) to be maximised, and statistics (B,) for the log."""


def build_reward(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    """The reward of a config block, for the training images: what the module named as its kind builds."""
    reward: Reward = defined("training.rewards", config["kind"], "build")(config, data, reward_models)
    return reward
