"""Progress of long work: a bar on a terminal, occasional lines in a log file, and counts at the end."""

import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")

logger = logging.getLogger(__name__)
_counts: Counter[str] = Counter()
_counting = Lock()
# Seconds before progress is shown.
_delay: ContextVar[float] = ContextVar("delay", default=0.0)


def count(what: str) -> None:
    """Count an event that would fill the log if each had a line. Several threads may call it."""
    with _counting:
        _counts[what] += 1


def log_counts() -> None:
    """Log the count of each event, one line each, and reset the counts."""
    for what, number in sorted(_counts.items()):
        logger.info("%s: %d", what, number)
    _counts.clear()


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Yield the items and show progress.

    In a log file each report is a line, at most one every ten seconds, so that the file stays readable.
    """
    yield from Bar(items, desc=what, total=total)


@contextmanager
def shown_after(seconds: float) -> Iterator[None]:
    """Show progress in the block only of work that takes longer than these seconds."""
    token = _delay.set(seconds)
    try:
        yield
    finally:
        _delay.reset(token)


class Bar(tqdm):
    """A tqdm bar on a terminal; elsewhere it prints a line at most every ten seconds."""

    def __init__(self, *arguments: Any, name: str | None = None, **options: Any):
        """Take the arguments of tqdm. `name` is accepted because huggingface_hub passes it; it is ignored."""
        on_terminal = sys.stderr.isatty()
        look = {
            "file": sys.stderr,
            "delay": _delay.get(),
            "mininterval": 0.1 if on_terminal else 10,
            "maxinterval": 10,
            "ascii": not on_terminal,
            "ncols": None if on_terminal else 80,
            "bar_format": None if on_terminal else "{desc}: {n_fmt} of {total_fmt} in {elapsed}, {remaining} left\n",
        }
        super().__init__(*arguments, **{**options, **look})
