"""Validation: which of the weights that a training passes through are kept."""

from collections.abc import Callable
from typing import Any

import torch

from captionlab.training.loop.checkpoints import Resumable


class Validation(Resumable):
    """The best weights so far, by a score of the model that is computed every so many updates."""

    kept = ("best", "step", "weights")

    def __init__(self, score: Callable[[Any], float], every: int, name: str, select: bool = True):
        """Score the model every so many updates, under this name in the log; of equal scores the first one counts.

        Without `select`, scores are logged and the weights of the last update stay. The score must not draw random
        numbers: a training that goes on from a checkpoint would draw others.
        """
        self.score, self.every, self.name, self.select = score, every, f"validation_{name}", select
        self.best, self.step = float("-inf"), 0
        self.weights: dict[str, torch.Tensor] = {}

    def check(self, steps: int) -> None:
        """Raise a ValueError when a training of so many updates is too short to be validated once."""
        if steps < self.every:
            raise ValueError(
                f"validation.every is {self.every} and there are {steps} updates; set it to {steps} or less"
            )

    def after(self, model: Any, done: int) -> dict[str, float]:
        """What to log after so many updates: the score, when it is due. Before the first, nothing is selected."""
        if done % self.every:
            return {}
        training = model.training
        with torch.no_grad():
            score = self.score(model.eval())
        model.train(training)
        if done and self.select and score > self.best:
            self.best, self.step = score, done
            self.weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
        return {self.name: score}

    def restore(self, model: Any) -> None:
        """Give the model the best weights, where they are to be selected."""
        if self.select:
            model.load_state_dict(self.weights)
