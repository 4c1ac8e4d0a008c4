"""Show a training in TensorBoard while it runs. A failure to show it never ends the training."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from captionlab.tracking.updates import TrackedTraining, Update

if TYPE_CHECKING:
    from captionlab.tracking.board import Board

logger = logging.getLogger(__name__)


class Tracker:
    """Shows a training in TensorBoard. Without a run, nothing is shown."""

    def __init__(self, run: TrackedTraining | None = None):
        self.run = run
        self._board: Board | None = None

    @contextmanager
    def following(self, history: Sequence[Update]) -> Iterator[None]:
        """Show updates within the block, beginning with `history`, the updates of the training so far.

        If a training resumes, its curves are written anew from its log, so that no step is missing or repeated.
        """
        if self.run is not None:
            self._attempt(self._open, self.run, history)
        try:
            yield
        finally:
            if self._board is not None:
                self._attempt(self._board.close)

    def add(self, update: Update) -> None:
        """Show an update."""
        if self._board is not None:
            self._attempt(self._board.add, update)

    def _open(self, run: TrackedTraining, history: Sequence[Update]) -> None:
        from captionlab.tracking.board import Board  # the package tensorboard is optional

        self._board = Board(run)
        for update in history:
            self._board.add(update)

    def _attempt(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as failure:
            self._board = None
            advice = "; pip install tensorboard" if isinstance(failure, ModuleNotFoundError) else ""
            kind = type(failure).__name__
            logger.warning("The training goes on without TensorBoard: %s: %s%s", kind, failure, advice)


NOBODY = Tracker()
