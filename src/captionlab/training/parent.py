"""The captioner that a training started from, which it is to stay close to."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

LogProbs = Callable[[Any, Tensor, Tensor], Tensor]


def frozen_parent(captioner: Any) -> LogProbs:
    """The `log_probs` of a captioner as it is now, without gradient or dropout, however it is trained from here on."""
    parent = copy.deepcopy(captioner).requires_grad_(False).eval()

    @torch.no_grad()
    def log_probs(visual: Any, tokens: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = parent.log_probs(visual, tokens, mask)
        return found

    return log_probs
