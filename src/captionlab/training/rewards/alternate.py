"""One of several rewards in each update, in turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from captionlab.declarations import RewardKind
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import RewardModel, TrainingData
from captionlab.training.rewards.combined import named_rewards, named_statistics
from captionlab.training.rewards.reward import Reward, Rewarded

DECLARATION = RewardKind(
    keys={"of": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/reward"}}},
    required=("of",),
    asks="nothing",
    references=False,
    of=True,
    libraries=(),
)


class Alternate:
    """One of several rewards in each update, in turn: update number `step` has the reward number step modulo theirs."""

    def __init__(self, parts: Mapping[str, Reward]):
        """Take turns in the order given; the names are in the log."""
        self.parts = list(parts.items())

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
        """The reward (B,) by the one whose turn it is, also under its own name."""
        name, reward = self.parts[batch.step % len(self.parts)]
        found = reward(batch, captions)
        return found[0], named_statistics({name: found})


def build(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Alternate:
    """The rewards of a config block, in turn."""
    return Alternate(named_rewards(config["of"], data, reward_models))
