"""Progress of long work: a bar on a terminal, a line now and then in a log file, and counts at its end."""

import logging
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from threading import Lock
from typing import Any, TypeVar

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
    yield from Bar(items, desc=what, total=total)


class Bar(tqdm):
    """A bar of tqdm on a terminal; elsewhere a line at most every ten seconds, each of its own."""

    def __init__(self, *arguments: Any, name: str | None = None, **options: Any):
        """Take what tqdm takes; `name` is that of a bar of huggingface_hub, which has no other use."""
        on_terminal = sys.stderr.isatty()
        look = {
            "file": sys.stderr,
            "mininterval": 0.1 if on_terminal else 10,
            "maxinterval": 10,
            "ascii": not on_terminal,
            "ncols": None if on_terminal else 80,
            "bar_format": None if on_terminal else "{desc}: {n_fmt} of {total_fmt} in {elapsed}, {remaining} left\n",
        }
        super().__init__(*arguments, **{**options, **look})
