"""Baselines: expected rewards that are subtracted from the rewards, to reduce the variance of the gradients."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.checkpoints import Resumable


class Baseline(Resumable):
    """Baseline that expects a reward of 0; base class of all baselines."""

    def predict(self, batch: ImageBatch) -> float | torch.Tensor:
        """Return the expected reward, a number or (B,), before the rewards of the batch are known."""
        return 0.0

    def update(self, rewards: torch.Tensor) -> None:
        """Learn from the rewards (B,) of a whole batch."""


class RunningMean(Baseline):
    """Mean of the mean rewards of all batches so far, the same for every image; 0 before the first batch.

    It is the `MeanBaseline` of EGG, which Dessì et al. (2023) train with. All batches have the same weight.
    """

    kept = ("batches", "mean")
    batches, mean = 0, 0.0

    def predict(self, batch: ImageBatch) -> float:
        """Return the mean reward so far."""
        return self.mean

    def update(self, rewards: torch.Tensor) -> None:
        """Add the rewards (B,) of a batch to the mean."""
        self.batches += 1
        self.mean += (rewards.double().mean().item() - self.mean) / self.batches


class InTurn(Baseline):
    """Separate baselines for rewards that alternate (captionlab.training.rewards.alternate.reward)."""

    def __init__(self, baselines: Sequence[Baseline]):
        self.baselines, self.turn = baselines, 0

    def predict(self, batch: ImageBatch) -> float | torch.Tensor:
        """Return the expected reward of the baseline whose turn it is.

        The turn is the number of the batch modulo the number of baselines.
        """
        self.turn = batch.step % len(self.baselines)
        return self.baselines[self.turn].predict(batch)

    def update(self, rewards: torch.Tensor) -> None:
        """Pass the rewards (B,) of a batch to the baseline that made the latest prediction."""
        self.baselines[self.turn].update(rewards)

    def state_dict(self) -> dict[str, Any]:
        """Return the states of all baselines."""
        return {"baselines": [baseline.state_dict() for baseline in self.baselines]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the states of all baselines."""
        for baseline, of_baseline in zip(self.baselines, state["baselines"], strict=True):
            baseline.load_state_dict(of_baseline)


def build_baseline(config: Mapping[str, Any]) -> Baseline:
    """Return the baseline of a reinforce objective. Rewards that alternate get a running mean each."""
    if config["baseline"] == "none":
        return Baseline()
    if config["reward"]["kind"] == "alternate":
        return InTurn([RunningMean() for _ in config["reward"]["of"]])
    return RunningMean()
