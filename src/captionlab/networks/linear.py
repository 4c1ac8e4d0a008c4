"""Linear layers that compute large products with oneDNN on a CPU.

torch multiplies float32 matrices with MKL, which does not use the widest vectors of AMD processors. oneDNN, which torch
includes for convolutions, uses them. With 768 x 2304 weights on one thread of an EPYC with AVX-512, 8 rows run at 90
GFLOP/s instead of 42, and 40 rows at 191 instead of 85. An update of discriminative finetuning of GPT-2 small is 1.4
times as fast (docs/performance.md). oneDNN adds in another order, so results differ from torch's by rounding.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

# Smaller weights, below 2 MiB, may stay in the cache of a core, so torch multiplies them.
FEWEST_WEIGHTS = 2**19


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return `torch.nn.functional.linear` of x (..., inputs), weight (outputs, inputs) and bias (outputs,)."""
    if weight.numel() < FEWEST_WEIGHTS or not _by_onednn(x, weight, bias):
        return functional.linear(x, weight, bias)
    product: Tensor = _Linear.apply(x, weight, bias)
    return product


class Linear(nn.Linear):
    """torch.nn.Linear, computed by `linear`."""

    def forward(self, input: Tensor) -> Tensor:
        """Map (..., inputs) to (..., outputs)."""
        return linear(input, self.weight, self.bias)


def _by_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    """Return whether oneDNN can replace MKL: all tensors are float32 and on a CPU, and torch has both libraries.

    Shapes that do not fit, or that torch would expand, are left to torch. The bias must be contiguous, because oneDNN
    ignores its strides.
    """
    return (
        x.numel() > 0
        and x.shape[-1] == weight.shape[1]
        and (bias is None or (bias.is_contiguous() and bias.shape == weight.shape[:1] and bias.dtype == weight.dtype))
        and x.device.type == weight.device.type == "cpu"
        and x.dtype == weight.dtype == torch.float32
        and torch.backends.mkl.is_available()
        and torch.backends.mkldnn.is_available()
        and not torch.is_autocast_enabled("cpu")
    )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weight)
        return _product(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        of_x, of_weight, of_bias = ctx.needs_input_grad
        rows = gradient.reshape(-1, len(weight))
        return (
            _product(gradient, weight.t()) if of_x else None,
            _gradient_of_weight(rows, x.reshape(len(rows), -1), weight) if of_weight else None,
            rows.sum(0) if of_bias else None,
        )


def _gradient_of_weight(gradient: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Return the gradient of the weight from gradients (N, outputs) and inputs (N, inputs).

    The result has the memory layout of the weight, because torch would copy it otherwise.
    """
    if weight.is_contiguous():
        return _product(gradient.t(), x.t())
    return _product(x.t(), gradient.t()).t()
