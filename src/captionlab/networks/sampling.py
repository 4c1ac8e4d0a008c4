"""Draws from a vocabulary and log-probabilities of what was drawn, in fewer passes over it than torch takes."""

from typing import Any

import torch
from torch import Tensor


def drawn(weights: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """A column of each row (N,), drawn in proportion to float32 weights (N, any), which need not sum to 1.

    Those of torch.multinomial by the same random numbers: the column that is first, where each takes an exponential
    time of that rate. On a CPU torch makes these one at a time, which takes twice as long as an array of them.
    RuntimeError for a row in which no weight is above 0, or one is not finite.
    """
    if weights.device.type != "cpu":
        return torch.multinomial(weights, 1, generator=generator)[:, 0]
    exponential = (
        torch.rand(weights.shape, dtype=torch.float64, device="cpu", generator=generator).neg_().log1p_().neg_()
    )
    columns = weights.div(exponential.float()).argmax(1)  # where there is one that is no number, the first such
    first = weights.gather(1, columns[:, None])
    if not ((first > 0) & first.isfinite()).all():
        raise RuntimeError("nothing can be drawn: weights of a vocabulary are not finite, or all are 0")
    return columns


class _LogProb(torch.autograd.Function):
    """log_prob_at, with the bits of the gradient that torch's own operations give."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, columns: Tensor) -> Tensor:
        rows, total = torch.arange(len(logits), device=logits.device), logits.logsumexp(1)
        ctx.save_for_backward(logits, total, rows, columns)
        return logits[rows, columns] - total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        logits, total, rows, columns = ctx.saved_tensors
        of_logits = (logits - total[:, None]).exp_().mul_(-gradients[0][:, None])
        of_logits[rows, columns] += gradients[0]
        return of_logits, None


def log_prob_at(logits: Tensor, columns: Tensor) -> Tensor:
    """Log-probability (N,) in nats, with gradient, of a column (N,) of each row of logits (N, any).

    Its gradient is written once, where torch would write one for the sum, one for the columns and their sum.
    """
    result: Tensor = _LogProb.apply(logits, columns)
    return result
