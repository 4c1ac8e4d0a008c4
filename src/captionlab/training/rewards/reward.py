"""What a reward is, the reward of a config block, and the names of the parts of one that is made of others."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from captionlab.declarations import defined
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData

# How good captions of a batch's images are: a reward (B,) to be maximised, and statistics (B,) for the log.
Rewarded = tuple[torch.Tensor, dict[str, torch.Tensor]]
Reward = Callable[[ImageBatch, Sequence[str]], Rewarded]


def build_reward(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """The reward of a config block, for the training images: what the module named as its kind builds."""
    reward: Reward = defined("training.rewards", config["kind"], "build")(config, data)
    return reward


def named_rewards(parts: Sequence[Mapping[str, Any]], data: TrainingData) -> dict[str, Reward]:
    """Rewards under the name of their scorer or retriever, or their kind, with a number where that is there already."""
    found: dict[str, Reward] = {}
    for part in parts:
        name = plain = part.get("scorer", part.get("retriever", part["kind"]))
        while name in found:
            name = f"{plain}_{len(found) + 1}"
        found[name] = build_reward(part, data)
    return found


def named_statistics(found: Mapping[str, Rewarded]) -> dict[str, torch.Tensor]:
    """Rewards and their statistics under names that tell them apart."""
    return {
        key: values
        for name, (reward, statistics) in found.items()
        for key, values in {f"reward_{name}": reward, **{f"{k}_{name}": v for k, v in statistics.items()}}.items()
    }
