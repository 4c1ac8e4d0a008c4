"""Cross-entropy with a mean teacher: the captioner also stays near a running mean of itself (Barraco et al. 2022).

After github.com/aimagelab/camel (train.py). The captioner that is trained is the one that is kept, as Dessì et al. 2023
finetune it; CaMEL's authors evaluate the teacher.
"""

import copy
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from captionlab.training.loop.batches import CaptionBatch


class MeanTeacher:
    """Mean negative log-probability of the references' tokens, and the distance of the logits from the teacher's.

    The distance is the mean square over tokens and vocabulary, padding left out (the original counts it in). The
    captioner must have `logits`.
    """

    def __init__(self, captioner: torch.nn.Module, weight: float = 0.1, decay: float = 0.999):
        """Set up the objective with a copy of the captioner as teacher.

        After each update a weight of the teacher becomes `decay` times itself plus the rest times the captioner's. The
        defaults are the original's. (There the teacher starts from other random weights.)
        """
        self.teacher = copy.deepcopy(captioner).requires_grad_(False)
        self.weight, self.decay, self.behind = weight, decay, False

    def loss(self, model: Any, batch: CaptionBatch) -> tuple[Tensor, dict[str, Any]]:
        """The loss of a batch with its gradient, and what to log."""
        self._catch_up(model)
        mask = batch.mask.bool()
        logits = model.logits(batch.visual, batch.tokens)[mask]
        self.teacher.train(model.training)  # with dropout of its own, as in the original
        with torch.no_grad():
            taught = self.teacher.logits(batch.visual, batch.tokens)[mask]  # type: ignore[operator]
        cross_entropy = functional.cross_entropy(logits.float(), batch.tokens[mask])
        distance = (logits - taught).square().mean()
        length = mask.sum() / len(batch.tokens)
        statistics = {"cross_entropy": cross_entropy, "distance": distance, "caption_length": length}
        return cross_entropy + self.weight * distance, statistics

    def end_batch(self) -> None:
        """The captioner is about to be updated; the teacher follows before the next batch."""
        self.behind = True

    def state_dict(self) -> dict[str, Any]:
        """The teacher, and whether it has not followed the last update yet."""
        return {"teacher": self.teacher.state_dict(), "behind": self.behind}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.teacher.load_state_dict(state["teacher"])
        self.behind = state["behind"]

    @torch.no_grad()
    def _catch_up(self, model: torch.nn.Module) -> None:
        if self.behind:
            for ours, learnt in zip(self.teacher.parameters(), model.parameters(), strict=True):
                ours.mul_(self.decay).add_(learnt, alpha=1 - self.decay)
            self.behind = False
