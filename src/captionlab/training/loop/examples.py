"""Captions of the same few images over a training, and what they are rewarded with."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from captionlab.schemas import TRAINING_CAPTIONS
from captionlab.tables import write_table
from captionlab.tracking.updates import Example
from captionlab.training.loop.checkpoints import Resumable

Captioned = tuple[list[str], list[float | None]]


class Examples(Resumable):
    """What a captioner says of some images, and what that earns, each time that it is asked."""

    kept = ("found",)

    def __init__(
        self,
        ids: Sequence[str] = (),
        references: Sequence[Sequence[str]] = (),
        caption: Callable[[Any], Captioned] = lambda model: ([], []),
    ):
        """Take images, references of each, and what gives a model's caption and reward of each, by no random numbers.

        Without any, there is nothing to say.
        """
        self.ids, self.references, self.caption = ids, references, caption
        self.found: dict[int, Captioned] = {}

    def look(self, model: Any, done: int) -> None:
        """Ask the model after so many updates."""
        self.found[done] = self.caption(model)

    def at(self, done: int) -> list[Example]:
        """What it said after so many updates, when it was asked then."""
        if done not in self.found:
            return []
        return [Example(*row) for row in zip(self.ids, self.references, *self.found[done], strict=True)]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all that it said as a table."""
        rows = [(step, one.image_id, one.caption, one.reward) for step in self.found for one in self.at(step)]
        steps, ids, captions, rewards = zip(*rows, strict=True) if rows else [()] * 4
        write_table(path, TRAINING_CAPTIONS, {"step": steps, "image_id": ids, "caption": captions, "reward": rewards})
