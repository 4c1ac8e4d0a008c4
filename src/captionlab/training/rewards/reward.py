"""The interface of rewards, and functions that build and name the rewards of config blocks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from captionlab.plugins import defined
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData

# For captions of a batch's images: a reward (B,) to be maximised, and statistics (B,) for the log.
Rewarded = tuple[torch.Tensor, dict[str, torch.Tensor]]
Reward = Callable[[ImageBatch, Sequence[str]], Rewarded]


def build_reward(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """Return the reward of a config block for the training images, built by the module of its kind."""
    reward: Reward = defined("training.rewards", config["kind"], "build")(config, data)
    return reward


def named_rewards(parts: Sequence[Mapping[str, Any]], data: TrainingData) -> dict[str, Reward]:
    """Return the rewards of config blocks by name: the scorer, else the retriever, else the kind.

    If a name is taken, the position of the reward in the list is appended to it.
    """
    found: dict[str, Reward] = {}
    for part in parts:
        name = plain = part.get("scorer", part.get("retriever", part["kind"]))
        while name in found:
            name = f"{plain}_{len(found) + 1}"
        found[name] = build_reward(part, data)
    return found


def named_statistics(found: Mapping[str, Rewarded]) -> dict[str, torch.Tensor]:
    """Return the rewards and their statistics for the log, with the name of the reward in each key."""
    return {
        key: values
        for name, (reward, statistics) in found.items()
        for key, values in {f"reward_{name}": reward, **{f"{k}_{name}": v for k, v in statistics.items()}}.items()
    }
