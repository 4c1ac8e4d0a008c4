"""Rewards made of rewards: a weighted sum, and one after the other."""

from collections.abc import Mapping, Sequence

import torch

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.objectives.reinforce import Reward


class Sum:
    """A weighted sum of rewards."""

    def __init__(self, parts: Mapping[str, tuple[float, Reward]]):
        """Add up rewards, each with its weight, under names that are in the log."""
        self.parts = parts

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The reward (B,), and each part of it before it is weighed."""
        found = {name: reward(batch, captions) for name, (_, reward) in self.parts.items()}
        total = torch.stack([weight * found[name][0] for name, (weight, _) in self.parts.items()]).sum(0)
        return total, _named(found)


class Alternate:
    """One of several rewards in each update, in turn: update number `step` has the reward number step modulo theirs."""

    def __init__(self, parts: Mapping[str, Reward]):
        """Take turns in the order given; the names are in the log."""
        self.parts = list(parts.items())

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The reward (B,) by the one whose turn it is, also under its own name."""
        name, reward = self.parts[batch.step % len(self.parts)]
        found = reward(batch, captions)
        return found[0], _named({name: found})


def _named(found: Mapping[str, tuple[torch.Tensor, dict[str, torch.Tensor]]]) -> dict[str, torch.Tensor]:
    """Rewards and their statistics under names that tell them apart."""
    return {
        key: values
        for name, (reward, statistics) in found.items()
        for key, values in {f"reward_{name}": reward, **{f"{k}_{name}": v for k, v in statistics.items()}}.items()
    }
