"""What VinVL reads of images: the tags of their objects as word pieces, and their regions."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class TaggedRegions:
    """Tags and regions of B images, each row padded at its end.

    They are indexed, split and repeated along images, as a tensor is.
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
        """B images, L word pieces, R regions, and the numbers of a region."""
        return *self.tags.shape, *self.regions.shape[1:]

    @property
    def dtype(self) -> torch.dtype:
        """That of the features."""
        return self.regions.dtype

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.tags.device

    @property
    def mask(self) -> Tensor:
        """(B, L + R) what can be attended to, tags before regions."""
        return torch.cat([self.tag_mask, self.region_mask], dim=1)

    def clone(self) -> "TaggedRegions":
        """The same images in memory of their own."""
        return TaggedRegions(*(part.clone() for part in self._parts()))

    def copy_(self, other: "TaggedRegions") -> None:
        """Put other images of the same shape in the place of these."""
        for part, new in zip(self._parts(), other._parts(), strict=True):
            part.copy_(new)

    def to(self, device: str | torch.device) -> "TaggedRegions":
        """The same images on another device."""
        return TaggedRegions(*(part.to(device) for part in self._parts()))

    def tensor_split(self, parts: int) -> list["TaggedRegions"]:
        """The images in so many parts of nearly equal size."""
        pieces = zip(*(part.tensor_split(parts) for part in self._parts()), strict=True)
        return [TaggedRegions(*piece) for piece in pieces]

    def repeat_interleave(self, repeats: int, dim: int) -> "TaggedRegions":
        """Each image so many times, one after the other; `dim` is 0, along which images lie."""
        return TaggedRegions(*(part.repeat_interleave(repeats, dim=dim) for part in self._parts()))

    def _parts(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.tags, self.tag_mask, self.regions, self.region_mask


def padded(rows: list[Tensor], longest: int, min_count: int = 0) -> tuple[Tensor, Tensor]:
    """Rows (n, ...), each cut to `longest`, as one tensor (B, T, ...), and its mask (B, T); T >= `min_count`."""
    rows = [row[:longest] for row in rows]
    lengths = torch.tensor([len(row) for row in rows])
    width = max(min_count, int(lengths.max()))
    values = rows[0].new_zeros((len(rows), width, *rows[0].shape[1:]))
    for target, row in zip(values, rows, strict=True):
        target[: len(row)] = row
    return values, torch.arange(width) < lengths[:, None]
