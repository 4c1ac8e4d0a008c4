"""Inputs of VinVL: the tags of objects as word pieces, and the regions of images."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TaggedRegions:
    """Tags and regions of B images, each padded at its end.

    Instances are indexed, split and repeated along the images, like a tensor.
    """

    tags: Tensor
    """(B, L) ids of word pieces, the end token included"""
    tag_mask: Tensor
    """(B, L) whether there is a word piece to attend to"""
    regions: Tensor
    """(B, R, region size) features, the box included, float32"""
    region_mask: Tensor
    """(B, R) whether there is a region to attend to"""

    def __len__(self) -> int:
        return len(self.tags)

    def __getitem__(self, index: Tensor | slice) -> "TaggedRegions":
        return TaggedRegions(*(part[index] for part in self._parts()))

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Return the number of images B, of word pieces L, of regions R, and the region size."""
        return *self.tags.shape, *self.regions.shape[1:]

    @property
    def dtype(self) -> torch.dtype:
        """Return the dtype of the features."""
        return self.regions.dtype

    @property
    def device(self) -> torch.device:
        """Return the device of the tensors."""
        return self.tags.device

    @property
    def mask(self) -> Tensor:
        """Return the mask (B, L + R) of positions that can be attended to, tags before regions."""
        return torch.cat([self.tag_mask, self.region_mask], dim=1)

    def clone(self) -> "TaggedRegions":
        """Return a copy with its own memory."""
        return TaggedRegions(*(part.clone() for part in self._parts()))

    def copy_(self, other: "TaggedRegions") -> None:
        """Overwrite the tensors with the values of other images of the same shape."""
        for part, new in zip(self._parts(), other._parts(), strict=True):
            part.copy_(new)

    def to(self, device: str | torch.device) -> "TaggedRegions":
        """Return a copy on another device."""
        return TaggedRegions(*(part.to(device) for part in self._parts()))

    def tensor_split(self, parts: int) -> list["TaggedRegions"]:
        """Split the images into `parts` parts of nearly equal size."""
        pieces = zip(*(part.tensor_split(parts) for part in self._parts()), strict=True)
        return [TaggedRegions(*piece) for piece in pieces]

    def repeat_interleave(self, repeats: int, dim: int) -> "TaggedRegions":
        """Repeat each image `repeats` times in a row; `dim` is 0, the dimension of the images."""
        return TaggedRegions(*(part.repeat_interleave(repeats, dim=dim) for part in self._parts()))

    def _parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.tags, self.tag_mask, self.regions, self.region_mask


def padded(rows: list[Tensor], longest: int, min_count: int = 0) -> tuple[Tensor, Tensor]:
    """Pad rows (n, ...), each cut to `longest`, to one tensor (B, T, ...), and return it with its mask (B, T).

    T is at least `min_count`.
    """
    rows = [row[:longest] for row in rows]
    lengths = torch.tensor([len(row) for row in rows])
    width = max(min_count, int(lengths.max()))
    values = rows[0].new_zeros((len(rows), width, *rows[0].shape[1:]))
    for target, row in zip(values, rows, strict=True):
        target[: len(row)] = row
    return values, torch.arange(width) < lengths[:, None]
