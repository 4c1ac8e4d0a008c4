"""Caches of keys and values, so that a decoding step of a captioner computes only the new positions."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass
class Cache:
    """Keys and values of the positions read so far, each (positions, layers, rows, heads, head size)."""

    keys: Tensor
    values: Tensor
    length: int = 0
    spare: tuple[Tensor, Tensor] | None = None

    @classmethod
    def empty(cls, like: Tensor, *shape: int) -> Self:
        """Return an empty cache of this shape, with the device and precision of the tensor `like`."""
        return cls(like.new_empty(shape), like.new_empty(shape))

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and values (rows, heads, new, head size) of a layer; return the keys and values of all positions.

        `length` is not changed. The caller increases it when all layers have read the new positions.
        """
        end = self.length + keys.shape[2]
        self.keys[self.length : end, layer] = keys.permute(2, 0, 1, 3)
        self.values[self.length : end, layer] = values.permute(2, 0, 1, 3)
        return self.keys[:end, layer].permute(1, 2, 0, 3), self.values[:end, layer].permute(1, 2, 0, 3)

    def reorder(self, index: Tensor) -> "Cache":
        """Return the cache of the rows `index`, for the positions read so far. Rows may be repeated or left out.

        The old cache must not be used again, because the next reordering writes into its memory to save an allocation.
        """
        shape = (*self.keys.shape[:2], len(index), *self.keys.shape[3:])
        if self.spare is not None and self.spare[0].shape == shape:
            keys, values = self.spare
        else:
            keys, values = self.keys.new_empty(shape), self.values.new_empty(shape)
        torch.index_select(self.keys[: self.length], 2, index, out=keys[: self.length])
        torch.index_select(self.values[: self.length], 2, index, out=values[: self.length])
        return Cache(keys, values, self.length, (self.keys, self.values))


def images_kept(rows: int, images: int, index: Tensor) -> Tensor | None:
    """Return the images that the rows `index` (N,) need, or None if the images do not change.

    The old rows are `rows` consecutive rows, shared equally among `images` images. Each image of the result has an
    equal share of the new rows. If the new rows cannot be shared equally, an image is returned for each row. While a
    CUDA graph is recorded, the result is None, because a recording only moves rows within an image
    (captionlab.generation.replay).
    """
    if index.is_cuda and torch.cuda.is_current_stream_capturing():
        return None
    of_rows = torch.arange(images, device=index.device).repeat_interleave(rows // images)[index]
    kept, counts = of_rows.unique_consecutive(return_counts=True)
    if (counts != counts[0]).any():
        kept = of_rows
    if len(kept) == images and bool((kept == torch.arange(images, device=index.device)).all()):
        return None
    return kept
