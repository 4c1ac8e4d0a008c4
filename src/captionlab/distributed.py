"""Several processes, one for each GPU, that train as one; where there is only one, the functions have nothing to do.

Every process has the whole model and makes the whole batch, which the trainer cuts into parts; each process computes
its share of the parts, and gradients and statistics are added up over all. What an objective learns from a batch as a
whole (the rewards, for a baseline) it gathers. So every process takes the same steps as one process would take alone.
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
    """Join the processes that torch's launcher started; the block ends with the launcher, however that ends."""
    if sys.platform == "linux":
        # A launcher that is killed cannot tell its processes to stop, so the system does.
        die_with_parent = 1
        ctypes.CDLL(None).prctl(die_with_parent, signal.SIGKILL)
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def processes() -> int:
    """How many processes train together."""
    return dist.get_world_size() if dist.is_initialized() else 1


def is_first() -> bool:
    """Whether this is the process that writes checkpoints, log and results."""
    return not dist.is_initialized() or dist.get_rank() == 0


def share(items: Sequence[T]) -> Sequence[T]:
    """The consecutive items that this process works on; in the order of the processes, the shares are all of them."""
    count, rank = processes(), dist.get_rank() if dist.is_initialized() else 0
    return items[len(items) * rank // count : len(items) * (rank + 1) // count]


def add_up(tensors: Sequence[torch.Tensor]) -> None:
    """Replace each tensor, which every process has, by its sum over the processes."""
    if processes() > 1:
        for work in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
            work.wait()


def gathered(values: torch.Tensor) -> torch.Tensor:
    """The values (n, ...) of all processes in their order, without a gradient; n may differ from process to process."""
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
    """The largest of the numbers of all processes."""
    if processes() == 1:
        return number
    found = torch.tensor(number, device=device)
    dist.all_reduce(found, dist.ReduceOp.MAX)
    return int(found)


def wait_for_all() -> None:
    """Return when every process is here."""
    if processes() > 1:
        dist.barrier()


@contextmanager
def one_after_another() -> Iterator[None]:
    """Run the block in the first process, then in the others, and go on when all are through."""
    if not is_first():
        wait_for_all()
    yield
    if is_first():
        wait_for_all()
    wait_for_all()
