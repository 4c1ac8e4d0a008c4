"""Baselines: what is subtracted from the reward before it weighs a caption, so that gradients vary less."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.checkpoints import Resumable


class Baseline(Resumable):
    """What reward is to be expected: nothing, unless a kind of baseline says otherwise."""

    def predict(self, batch: ImageBatch) -> float | torch.Tensor:
        """One number, or (B,), before the rewards of the batch are known."""
        return 0.0

    def update(self, rewards: torch.Tensor) -> None:
        """Learn from the rewards (B,) of a whole batch."""


class RunningMean(Baseline):
    """The mean of the batches' mean rewards since training began, the same for every image; 0 before the first batch.

    It is the `MeanBaseline` of EGG, which Dessì et al. (2023) train with: all batches count alike, none is forgotten.
    """

    kept = ("batches", "mean")
    batches, mean = 0, 0.0

    def predict(self, batch: ImageBatch) -> float:
        """The mean so far."""
        return self.mean

    def update(self, rewards: torch.Tensor) -> None:
        """Count in the rewards (B,) of a batch."""
        self.batches += 1
        self.mean += (rewards.double().mean().item() - self.mean) / self.batches


class InTurn(Baseline):
    """A baseline of its own for each of several rewards that take turns (captionlab.training.rewards.alternate.reward)."""

    def __init__(self, baselines: Sequence[Baseline]):
        self.baselines, self.turn = baselines, 0

    def predict(self, batch: ImageBatch) -> float | torch.Tensor:
        """What the baseline expects whose turn it is: the number of the batch modulo theirs."""
        self.turn = batch.step % len(self.baselines)
        return self.baselines[self.turn].predict(batch)

    def update(self, rewards: torch.Tensor) -> None:
        """Tell the baseline of the batch that was predicted last its rewards (B,)."""
        self.baselines[self.turn].update(rewards)

    def state_dict(self) -> dict[str, Any]:
        """The state of each."""
        return {"baselines": [baseline.state_dict() for baseline in self.baselines]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        for baseline, of_baseline in zip(self.baselines, state["baselines"], strict=True):
            baseline.load_state_dict(of_baseline)


def build_baseline(config: Mapping[str, Any]) -> Baseline:
    """The baseline of a reinforce objective; rewards that take turns have a running mean each."""
    if config["baseline"] == "none":
        return Baseline()
    if config["reward"]["kind"] == "alternate":
        return InTurn([RunningMean() for _ in config["reward"]["of"]])
    return RunningMean()
