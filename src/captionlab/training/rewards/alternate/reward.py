"""Reward that alternates between several rewards, one reward in each update."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward, Rewarded, named_rewards, named_statistics


def in_turn(rewards: Mapping[str, Reward], batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
    """Return the reward (B,) whose turn it is: the number of the batch modulo the number of rewards.

    The log also has the reward under its own name.
    """
    name = list(rewards)[batch.step % len(rewards)]
    found = rewards[name](batch, captions)
    return found[0], named_statistics({name: found})


def build(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """Return the reward that alternates between the rewards of a config block."""
    return partial(in_turn, named_rewards(config["of"], data))
