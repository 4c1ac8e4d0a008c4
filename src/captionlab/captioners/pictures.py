"""Images that a model of the Hugging Face hub reads as pixels, decoded in batches when they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from captionlab.encoders.images import decode
from captionlab.images.locations import LOCATION
from captionlab.storage.order import Places
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import TableError, read_table

# Inputs of a model for one image, by name: the words of the prompt (1, P) and the inputs that describe the image. If
# the model takes the output of its image side, `features` (1, S, d) replace the pixels.
Seen = Mapping[str, Tensor]


@dataclass(frozen=True)
class Pictures:
    """Images as a model reads them, one row for each. They can be sliced, repeated and split like a tensor."""

    images: Sequence[Seen]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, rows: Tensor | slice | Sequence[int]) -> Pictures:
        if isinstance(rows, slice):
            return Pictures(self.images[rows])
        return Pictures([self.images[int(row)] for row in rows])

    def to(self, device: str | torch.device) -> Pictures:
        """Return the images on another device."""
        return Pictures([{name: value.to(device) for name, value in seen.items()} for seen in self.images])

    def repeat_interleave(self, times: int, dim: int = 0) -> Pictures:
        """Return each image `times` times, one after another."""
        return Pictures([seen for seen in self.images for _ in range(times)])

    def tensor_split(self, parts: int) -> list[Pictures]:
        """Return the images as `parts` parts of nearly equal size."""
        return [self[rows] for rows in torch.arange(len(self)).tensor_split(parts)]

    def split(self, size: int) -> Iterator[Pictures]:
        """Yield `size` images at a time."""
        for start in range(0, len(self), size):
            yield self[start : start + size]

    def alike(self) -> list[tuple[list[int], Pictures]]:
        """Return groups of images whose tensors have equal shapes, with their row numbers. They need no padding."""
        groups: dict[Any, list[int]] = {}
        for row, seen in enumerate(self.images):
            groups.setdefault(tuple((name, value.shape) for name, value in sorted(seen.items())), []).append(row)
        return [(rows, self[rows]) for rows in groups.values()]


class PictureTable:
    """Images of tables of images, by their identifiers."""

    def __init__(self, paths: Sequence[str], prepare: Callable[[Image.Image], Any], see: Callable[[Any], Seen]):
        """Open the tables, all shards of a corpus.

        `prepare` preprocesses an image and runs in threads. `see` turns a preprocessed image into inputs of the model
        and runs in the calling thread.
        """
        self.paths, self.prepare, self.see = paths, prepare, see
        self.table = Groups(paths, IMAGES, ["image_id", *LOCATION])
        ids = read_table(paths, IMAGES, ["image_id"])["image_id"].to_pylist()
        self.row = {image: row for row, image in enumerate(ids)}

    def rows(self, images: Sequence[str]) -> Pictures:
        """Return these images, in this order.

        Raises TableError that names the first image that is not in the tables.
        """
        if missing := [image for image in images if image not in self.row]:
            raise TableError(f"{', '.join(self.paths)}: there is no image {missing[0]!r}")
        once = list(dict.fromkeys(images))
        rows = self.table.take([self.row[image] for image in once])
        prepared = decode([rows], self.prepare, torch.get_num_threads())
        seen = {image: self.see(one) for image, one in zip(once, prepared, strict=True)}
        return Pictures([seen[image] for image in images])

    def places(self, images: Sequence[str]) -> Places | None:
        """Return None: images are decoded one by one, so the order of batches does not depend on their places."""
        return None
