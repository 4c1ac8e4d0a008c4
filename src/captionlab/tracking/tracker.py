"""Show a training in a program while it runs. A failure to show it never ends the training."""

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from captionlab.tracking.updates import TrackedTraining, Update

logger = logging.getLogger(__name__)

# Programs that can be named under `tracking`, with their titles. Each is a package, a module here and an extra of
# captionlab with the same name.
PROGRAMS = {"tensorboard": "TensorBoard", "wandb": "Weights & Biases", "mlflow": "MLflow"}


class Board(Protocol):
    """Training in a program. The modules of the programs define a class of this name, made of a TrackedTraining."""

    def add(self, update: Update) -> None:
        """Add an update."""

    def close(self, completed: bool) -> None:
        """Send or write pending data, and close the training; `completed` is false if it was stopped or failed."""


class Tracker:
    """Shows a training in a program. Without a training, nothing is shown."""

    def __init__(self, run: TrackedTraining | None = None, program: str = "tensorboard"):
        """Take a training and one of PROGRAMS."""
        self.run, self.program = run, program
        self._board: Board | None = None

    @contextmanager
    def following(self, history: Sequence[Update]) -> Iterator[None]:
        """Show updates within the block, beginning with `history`, the updates of the training so far.

        A program gets the whole history again if a training resumes, so that no step is missing.
        """
        if self.run is not None:
            self._attempt(self._open, self.run, history)
        completed = False
        try:
            yield
            completed = True
        finally:
            if self._board is not None:
                self._attempt(self._board.close, completed)

    def add(self, update: Update) -> None:
        """Show an update."""
        if self._board is not None:
            self._attempt(self._board.add, update)

    def _open(self, run: TrackedTraining, history: Sequence[Update]) -> None:
        # The packages of the programs are optional.
        self._board = import_module(f"captionlab.tracking.{self.program}").Board(run)
        for update in history:
            self.add(update)

    def _attempt(self, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as failure:
            self._board = None
            advice = f"; {installation(self.program)}" if isinstance(failure, ModuleNotFoundError) else ""
            # The address of a server may have a password.
            reason = re.sub(r"//[^/@\s]+@", "//***@", " ".join(f"{type(failure).__name__}: {failure}".split()))
            logger.warning("The training goes on without %s: %s%s", PROGRAMS[self.program], reason, advice)


def installation(program: str) -> str:
    """Return the command that installs a program."""
    return f"pip install 'captionlab[{program}]'"


NOBODY = Tracker()
