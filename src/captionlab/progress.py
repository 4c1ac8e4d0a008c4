"""Progress of long work: a bar on a terminal, a line now and then in a log file."""

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and show how far along the work is.

    In a log file each report is a line of its own, at most one every ten seconds, so the file stays readable.
    """
    on_terminal = sys.stderr.isatty()
    bar = tqdm(
        items,
        desc=what,
        total=total,
        file=sys.stderr,
        mininterval=0.1 if on_terminal else 10,
        maxinterval=10,
        ascii=not on_terminal,
        ncols=None if on_terminal else 80,
        bar_format=None if on_terminal else "{desc}: {n_fmt} of {total_fmt} in {elapsed}, {remaining} left\n",
    )
    yield from bar
