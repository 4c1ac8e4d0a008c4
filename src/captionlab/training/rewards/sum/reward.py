"""Reward that is a weighted sum of rewards."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward, Rewarded, named_rewards, named_statistics


def weighted_sum(
    weights: Sequence[float], rewards: Mapping[str, Reward], batch: ImageBatch, captions: Sequence[str]
) -> Rewarded:
    """Return the weighted sum (B,) of rewards. The log has each reward under its name, without its weight."""
    found = {name: reward(batch, captions) for name, reward in rewards.items()}
    parts = [weight * reward for weight, (reward, _) in zip(weights, found.values(), strict=True)]
    return torch.stack(parts).sum(0), named_statistics(found)


def build(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """Return the weighted sum of the rewards of a config block."""
    rewards = named_rewards([part["reward"] for part in config["of"]], data)
    return partial(weighted_sum, [part["weight"] for part in config["of"]], rewards)
