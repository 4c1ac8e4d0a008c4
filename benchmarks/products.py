"""What benchmarks share about products of matrices: torch's own, the fastest, and how many operations ours are."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode, register_flop_formula

from captionlab.generation import decoding
from captionlab.networks import linear


@contextmanager
def torch_products() -> Iterator[None]:
    """Meanwhile, or as a decorator, large linear layers are torch's own, as in all original code, backwards too."""
    with patch.object(linear, "FEWEST_WEIGHTS", float("inf")):
        yield


@contextmanager
def unreplayed() -> Iterator[None]:
    """Meanwhile, or as a decorator, a GPU replays no steps of captioners."""
    with patch.object(decoding, "replayed", lambda captioner, visual, decoding: captioner):
        yield


@contextmanager
def counted() -> Iterator[FlopCounterMode]:
    """Counts the operations of products meanwhile; not those that a GPU replays, so it replays none."""
    with FlopCounterMode(display=False) as counter, unreplayed():
        yield counter


def fastest_product(device: str, size: int) -> float:
    """Operations per second (multiplications and additions) of a product of large matrices, by whatever is faster."""
    a, b = torch.randn(size, size, device=device), torch.randn(size, size, device=device)
    ways: list[Callable[[Tensor, Tensor], Tensor]] = [torch.matmul, linear.linear]
    return 2 * size**3 / min(_seconds(way, a, b) for way in ways for _ in range(5))


@torch.no_grad()
def _seconds(way: Callable[[Tensor, Tensor], Tensor], a: Tensor, b: Tensor) -> float:
    started = time.perf_counter()
    way(a, b)
    if a.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - started


@register_flop_formula(torch.ops.mkldnn._linear_pointwise)  # type: ignore[untyped-decorator]  # torch has no types for it
def _operations(x: Any, weight: Any, *_: Any, **__: Any) -> int:
    """Of a product of the shapes x (..., inputs) and weight (outputs, inputs)."""
    rows = torch.Size(x[:-1]).numel()
    return 2 * rows * weight[0] * weight[1]
