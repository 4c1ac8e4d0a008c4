"""The parent of a finetuned captioner: the frozen captioner that the training must stay close to."""

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from captionlab.captioners.adapters import without_adapters

LogProbs = Callable[[Any, Tensor, Tensor], Tensor]


def frozen_parent(captioner: Any) -> LogProbs:
    """Return the `log_probs` of a captioner as it is now, without gradient and without dropout.

    Later training of the captioner does not change them. A captioner with adapters is not copied: its adapters, which
    must still be untrained, are switched off for each call.
    """
    if captioner.adapters:

        @torch.no_grad()
        def of_adapted(visual: Any, tokens: Tensor, mask: Tensor) -> Tensor:
            with without_adapters(captioner):
                found: Tensor = captioner.log_probs(visual, tokens, mask)
            return found

        return of_adapted
    parent = copy.deepcopy(captioner).requires_grad_(False).eval()

    @torch.no_grad()
    def log_probs(visual: Any, tokens: Tensor, mask: Tensor) -> Tensor:
        found: Tensor = parent.log_probs(visual, tokens, mask)
        return found

    return log_probs
