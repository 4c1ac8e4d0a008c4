"""What a captioner keeps of the positions that it has read, so that a step computes the new ones alone."""

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
        """A cache of this shape that has read nothing, where and as precise as a tensor."""
        return cls(like.new_empty(shape), like.new_empty(shape))

    def extend(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Keep keys and values (rows, heads, new, head size) of a layer; returns those of all positions, old and new.

        `length` stays: who calls raises it when all layers have read the new positions.
        """
        end = self.length + keys.shape[2]
        self.keys[self.length : end, layer] = keys.permute(2, 0, 1, 3)
        self.values[self.length : end, layer] = values.permute(2, 0, 1, 3)
        return self.keys[:end, layer].permute(1, 2, 0, 3), self.values[:end, layer].permute(1, 2, 0, 3)

    def reorder(self, index: Tensor) -> "Cache":
        """The cache of the rows `index` (rows may be repeated or left out), for the positions read so far.

        This cache lends its memory to the next reordering, which saves an allocation: do not use it any more.
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
    """The images that the rows `index` (N,) need, each for an equal share of consecutive rows; None for no change.

    Before, `images` had an equal share of `rows` consecutive rows each. Where the new rows cannot be shared equally,
    there is an image for each row. What is being recorded for a GPU moves rows within their image only
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
