"""Progress of long work: a bar on a terminal, a line now and then in a log file, and counts at its end."""

import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import TypeVar

from tqdm import tqdm

T = TypeVar("T")

logger = logging.getLogger(__name__)
_counts: Counter[str] = Counter()
_counting = Lock()


def count(what: str) -> None:
    """Count what would fill the log if each got a line; several threads may do so."""
    with _counting:
        _counts[what] += 1


def log_counts() -> None:
    """Log how often each thing was counted so far, a line for each, and begin anew."""
    for what, number in sorted(_counts.items()):
        logger.info("%s: %d", what, number)
    _counts.clear()


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
