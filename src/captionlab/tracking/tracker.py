"""What a training tells those who watch it, in a thread of its own: it never waits for them, and no failure ends it."""

import logging
import os
import re
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from captionlab.scripting import folder_of
from captionlab.tracking.packages import INSTALLED_BY

logger = logging.getLogger(__name__)

# Between two looks at what is new. To be woken at every update would cost the training more.
SECONDS = 2.0
# So long a training waits in the end for what is not yet written, and so many updates wait at most for it.
PATIENCE, WAITING = 10.0, 100_000
OPTIMIZER = ("gradient_norm", "learning_rate")


class Example(NamedTuple):
    """A caption that a captioner gives to an image now."""

    image_id: str
    references: Sequence[str]
    caption: str
    reward: float | None
    """what it is trained to maximise; None where captions earn nothing"""


class Update(NamedTuple):
    """What there is to see of an update."""

    step: int
    """updates done; 0 before the first"""
    statistics: Mapping[str, float]
    """those of the log"""
    examples: Sequence[Example] = ()
    """at a validation, captions of the same images each time"""


class Run(NamedTuple):
    """Whose curves they are."""

    rule: str
    name: str
    """of the encoder, scorer or captioner"""
    project: str
    """name of the config"""
    images: str | os.PathLike[str]
    """table of IMAGES with those of the examples"""


class Board(Protocol):
    """What shows a run. A new one takes the place of what an earlier training of the same name has left."""

    def add(self, update: Update) -> None:
        """Show one more update."""

    def flush(self) -> None:
        """Let others see all that was added."""

    def close(self) -> None:
        """There is nothing more to come."""


class Tracker:
    """Tells a board about a training; without a run, there is nobody to tell."""

    def __init__(self, kind: str = "none", run: Run | None = None):
        """Take `tracking` of a config, whose board is the class Board of the module of that name."""
        self.kind, self.run = kind, run
        self._waiting: deque[Update] = deque()
        self._ended, self._given_up = threading.Event(), run is None

    def add(self, update: Update) -> None:
        """Have an update shown, a little later."""
        if self._given_up:
            return
        self._waiting.append(update)
        if len(self._waiting) > WAITING:
            self._give_up(f"{WAITING} updates wait to be shown")

    @contextmanager
    def following(self, history: Sequence[Update]) -> Iterator[None]:
        """Show updates for as long as the block runs, first those of the training so far.

        Curves are written anew from the log of a training that goes on: so no step is missing, and none is there twice.
        """
        if self.run is None:
            yield
            return
        thread = threading.Thread(target=self._show, args=(self.run, history), name="tracking", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join(PATIENCE)
            if thread.is_alive():
                self._give_up(f"it is not done after {PATIENCE:g} s")

    def _show(self, run: Run, history: Sequence[Update]) -> None:
        try:
            board: Board = import_module(f"captionlab.tracking.{self.kind}").Board(run)
            self._hand_over(board, history)
            while not self._ended.wait(SECONDS):
                self._hand_over(board, self._taken())
            self._hand_over(board, self._taken())
            board.close()
        except ModuleNotFoundError as failure:
            self._give_up(f"{failure}; {INSTALLED_BY[self.kind]}")
        except Exception as failure:
            self._give_up(f"{type(failure).__name__}: {failure}")

    def _hand_over(self, board: Board, updates: Sequence[Update]) -> None:
        for update in updates:
            board.add(update)
        if updates:
            board.flush()

    def _taken(self) -> list[Update]:
        return [self._waiting.popleft() for _ in range(len(self._waiting))]

    def _give_up(self, why: str) -> None:
        if not self._given_up:
            self._given_up = True
            self._waiting.clear()
            logger.warning("The training goes on without %s: %s", self.kind, why)


NOBODY = Tracker()


def tag(statistic: str) -> str:
    """The name of a curve, after that of the group in which it is shown."""
    if statistic.startswith("validation_"):
        return statistic.replace("_", "/", 1)
    return f"{'optimizer' if statistic in OPTIMIZER else 'training'}/{statistic}"


def escaped(text: str) -> str:
    """A text whose every mark is a character reference, so that neither Markdown nor HTML sees one; in a line."""
    return re.sub(r"[^\w\s]|_", lambda mark: f"&#{ord(mark[0])};", " ".join(text.split()))


def tracker_of(job: Any) -> Tracker:
    """The tracker of a rule's job, as `tracking` of the config says.

    It is read there and is no parameter of the rule, so another one makes nothing again.
    """
    kind = job.config.get("tracking", "none")
    if kind == "none":
        return NOBODY
    name = folder_of(job.output.weights).name
    return Tracker(kind, Run(job.rule, name, job.config.get("name", "unnamed"), job.input.images))
