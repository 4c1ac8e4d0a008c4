"""Examples of a training: captions of the same few images over time, with their rewards."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from captionlab.storage.schemas import TRAINING_CAPTIONS
from captionlab.storage.tables import write_table
from captionlab.tracking.updates import Example
from captionlab.training.loop.checkpoints import Resumable

Captioned = tuple[list[str], list[float | None]]


class Examples(Resumable):
    """Captions of a few images and their rewards, recorded after chosen numbers of updates."""

    kept = ("found",)

    def __init__(
        self,
        ids: Sequence[str] = (),
        references: Sequence[Sequence[str]] = (),
        caption: Callable[[Any], Captioned] = lambda model: ([], []),
    ):
        """Take image ids, the references of each image, and a function that captions and rewards the images.

        `caption` takes a model and returns a caption and a reward of each image. It must not draw random numbers.
        Without images, nothing is recorded.
        """
        self.ids, self.references, self.caption = ids, references, caption
        self.found: dict[int, Captioned] = {}

    def look(self, model: Any, done: int) -> None:
        """Record the model's captions and rewards after `done` updates."""
        self.found[done] = self.caption(model)

    def at(self, done: int) -> list[Example]:
        """Return the examples recorded after `done` updates, or an empty list if none were."""
        if done not in self.found:
            return []
        return [Example(*row) for row in zip(self.ids, self.references, *self.found[done], strict=True)]

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write all recorded captions and rewards as a table."""
        rows = [(step, one.image_id, one.caption, one.reward) for step in self.found for one in self.at(step)]
        steps, ids, captions, rewards = zip(*rows, strict=True) if rows else [()] * 4
        write_table(path, TRAINING_CAPTIONS, {"step": steps, "image_id": ids, "caption": captions, "reward": rewards})
