"""A weighted sum of rewards."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from captionlab.declarations import RewardKind
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import RewardModel, TrainingData
from captionlab.training.rewards.combined import named_rewards, named_statistics
from captionlab.training.rewards.reward import Reward, Rewarded

DECLARATION = RewardKind(
    keys={
        "of": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["weight", "reward"],
                "properties": {"weight": {"type": "number"}, "reward": {"$ref": "#/$defs/reward"}},
            },
        }
    },
    required=("of",),
    asks="nothing",
    references=False,
    of=True,
    libraries=(),
)


class Sum:
    """A weighted sum of rewards, under names that are in the log."""

    def __init__(self, parts: Mapping[str, tuple[float, Reward]]):
        self.parts = parts

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
        """The reward (B,), and each part of it before it is weighed."""
        found = {name: reward(batch, captions) for name, (_, reward) in self.parts.items()}
        total = torch.stack([weight * found[name][0] for name, (weight, _) in self.parts.items()]).sum(0)
        return total, named_statistics(found)


def build(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Sum:
    """The sum of the rewards of a config block."""
    weights = [part["weight"] for part in config["of"]]
    rewards = named_rewards([part["reward"] for part in config["of"]], data, reward_models)
    return Sum({name: (weight, rewards[name]) for name, weight in zip(rewards, weights, strict=True)})
