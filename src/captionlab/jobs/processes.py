"""Training in several processes, one for each GPU. With one process, the functions do nothing.

Every process holds the whole model and makes the whole batch, which the trainer cuts into parts. Each process computes
its share of the parts. Gradients and statistics are added up over all processes. Values that an objective needs from
the whole batch, such as rewards for a baseline, are gathered. So every process takes the same steps as a single process
would.
"""

import ctypes
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch
import torch.distributed as dist

T = TypeVar("T")


@contextmanager
def process_group() -> Iterator[None]:
    """Join the processes that torch's launcher started. The process dies with the launcher."""
    if sys.platform == "linux":
        # A launcher that is killed cannot stop its processes, so the system has to.
        die_with_parent = 1
        ctypes.CDLL(None).prctl(die_with_parent, signal.SIGKILL)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def processes() -> int:
    """Return how many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def is_first() -> bool:
    """Return whether this process is the one that writes checkpoints, log and results."""
    return not dist.is_initialized() or dist.get_rank() == 0


def share(items: Sequence[T]) -> Sequence[T]:
    """Return the consecutive items that this process works on. The shares of all processes, in order, are all items."""
    count, rank = processes(), dist.get_rank() if dist.is_initialized() else 0
    return items[len(items) * rank // count : len(items) * (rank + 1) // count]


def add_up(tensors: Sequence[torch.Tensor]) -> None:
    """Replace each tensor, which every process has, by its sum over the processes."""
    if processes() > 1:
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()


def gathered(values: torch.Tensor) -> torch.Tensor:
    """Return the values (n, ...) of all processes in their order, without gradient; n may differ between processes."""
    if processes() == 1:
        return values
    lengths = [torch.zeros(1, dtype=torch.long, device=values.device) for _ in range(processes())]
    dist.all_gather(lengths, torch.tensor([len(values)], device=values.device))
    longest = int(max(lengths))
    padded = torch.cat([values, values.new_zeros(longest - len(values), *values.shape[1:])])
    found = [torch.empty_like(padded) for _ in range(processes())]
    dist.all_gather(found, padded)
    return torch.cat([part[: int(length)] for part, length in zip(found, lengths, strict=True)])


def largest(number: int, device: str) -> int:
    """Return the largest number over all processes."""
    if processes() == 1:
        return number
    found = torch.tensor(number, device=device)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


def wait_for_all() -> None:
    """Return when every process has called this function."""
    if processes() > 1:
        dist.barrier()


@contextmanager
def one_after_another() -> Iterator[None]:
    """Run the block in the first process, then in the others, and continue when all have finished."""
    if not is_first():
        wait_for_all()
    yield
    if is_first():
        wait_for_all()
    wait_for_all()
