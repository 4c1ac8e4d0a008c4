"""Images that a model of the Hugging Face hub reads as pixels, decoded in batches when they are needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from captionlab.captioners.prompts import Prompter
from captionlab.encoders.images import decode
from captionlab.images.locations import LOCATION
from captionlab.storage.order import Places
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import TableError, read_table


@dataclass(frozen=True)
class Pictures:
    """Images, one row for each. They can be sliced, repeated and split like a tensor."""

    images: Sequence[Image.Image]
    prompter: Prompter
    """writes the inputs of the model for a batch of images"""
    device: torch.device

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, rows: Tensor | slice | Sequence[int]) -> Pictures:
        chosen = self.images[rows] if isinstance(rows, slice) else [self.images[int(row)] for row in rows]
        return Pictures(chosen, self.prompter, self.device)

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """Return the inputs of the model for these images and their prompt, as its processor makes them."""
        return {
            name: value.to(self.device) if isinstance(value, Tensor) else value
            for name, value in self.prompter(self.images).items()
        }

    def to(self, device: str | torch.device) -> Pictures:
        """Return the images for a model on another device."""
        return Pictures(self.images, self.prompter, torch.device(device))

    def repeat_interleave(self, times: int, dim: int = 0) -> Pictures:
        """Return each image `times` times, one after another."""
        return Pictures([image for image in self.images for _ in range(times)], self.prompter, self.device)

    def tensor_split(self, parts: int) -> list[Pictures]:
        """Return the images as `parts` parts of nearly equal size."""
        return [self[rows] for rows in torch.arange(len(self)).tensor_split(parts)]

    def split(self, size: int) -> Iterator[Pictures]:
        """Yield `size` images at a time."""
        if len(self) <= size:  # so that inputs are made once
            yield self
            return
        for start in range(0, len(self), size):
            yield self[start : start + size]


class PictureTable:
    """Images of tables of images, by their identifiers."""

    def __init__(self, paths: Sequence[str], prompter: Prompter):
        """Open the tables, all shards of a corpus."""
        self.paths, self.prompter = paths, prompter
        self.table = Groups(paths, IMAGES, ["image_id", *LOCATION])
        ids = read_table(paths, IMAGES, ["image_id"])["image_id"].to_pylist()
        self.row = {image: row for row, image in enumerate(ids)}

    def rows(self, images: Sequence[str]) -> Pictures:
        """Return these images, in this order. They are decoded in threads.

        Raises TableError that names the first image that is not in the tables.
        """
        if missing := [image for image in images if image not in self.row]:
            raise TableError(f"{', '.join(self.paths)}: there is no image {missing[0]!r}")
        once = list(dict.fromkeys(images))
        rows = self.table.take([self.row[image] for image in once])
        decoded = dict(zip(once, decode([rows], lambda image: image, torch.get_num_threads()), strict=True))
        return Pictures([decoded[image] for image in images], self.prompter, torch.device("cpu"))

    def places(self, images: Sequence[str]) -> Places | None:
        """Return None: images are decoded one by one, so the order of batches does not depend on their places."""
        return None
