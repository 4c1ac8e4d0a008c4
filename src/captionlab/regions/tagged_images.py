"""Tags and regions of many images, read from their tables as inputs of VinVL."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from captionlab.regions.batches import RegionTable
from captionlab.regions.tagged_regions import TaggedRegions, padded
from captionlab.regions.tags import TAGS, read_tags
from captionlab.storage.order import Places
from captionlab.storage.tables import read_schema_name

Paths = Iterable[str | os.PathLike[str]]
# Number of values that describe the box of a region.
BOX = 6


class TaggedImages:
    """Images by id, as inputs of VinVL."""

    def __init__(self, paths: Paths, tokenizer: Any, region_size: int, max_pieces: int = 30, max_regions: int = 50):
        """Open tables of regions and tables of tags, in any order, for a word piece tokenizer.

        Per image, the first `max_pieces` - 1 word pieces of all tags are kept, followed by the end token, and the first
        `max_regions` regions. `region_size` is the size of the regions that the captioner reads: the stored size, or
        the stored size plus 6 for the box. Raises ValueError if `region_size` is another number or if there is no table
        of regions.
        """
        regions, tags = _by_kind(paths)
        self.table, self.region_size, self.end = RegionTable(regions), region_size, tokenizer.end
        self.max_pieces, self.max_regions = max_pieces, max_regions
        if region_size not in (self.table.region_size, self.table.region_size + BOX):
            raise ValueError(
                f"{', '.join(self.table.files)}: the regions have {self.table.region_size} numbers, or "
                f"{self.table.region_size + BOX} with their boxes, and the captioner reads {region_size}; give it the "
                "regions that it was trained with"
            )
        self.tags = read_tags(tags)
        labels = sorted({tag.label for of_image in self.tags.values() for tag in of_image})
        self._pieces = dict(zip(labels, tokenizer.encode(labels), strict=True))

    def __contains__(self, image: str) -> bool:
        return image in self.table

    def rows(self, images: Sequence[str]) -> TaggedRegions:
        """Return tags and regions of the images, in this order; images without tags have the end token only.

        Raises TableError, which names the first image without regions, if there is one.
        """
        batch = self.table.batch(images)
        features = batch.features
        if self.region_size > self.table.region_size:
            # x1/W, y1/H, x2/W, y2/H, w/W, h/H: the order of bottom-up-attention. The order in the published files is
            # unknown; their values are read unchanged.
            corners = batch.corners
            features = torch.cat([features, corners, corners[..., 2:] - corners[..., :2]], dim=2)
        kept = [row[:count] for row, count in zip(features, batch.counts, strict=True)]
        pieces = [torch.tensor([piece for piece, _ in self._kept(image)] + [self.end]) for image in images]
        return TaggedRegions(*padded(pieces, self.max_pieces), *padded(kept, self.max_regions))

    def places(self, images: Sequence[str]) -> Places:
        """Return the group of rows of each image in the table of regions, and how many groups to use at a time."""
        return self.table.places(images)

    def owners(self, images: Sequence[str]) -> Tensor:
        """Return, for each position (B, L) of the tags in `rows`, the index of the tag in its image, or -1."""
        numbers = [torch.tensor([owner for _, owner in self._kept(image)] + [-1]) for image in images]
        values, mask = padded(numbers, self.max_pieces)
        return values.masked_fill(~mask, -1)

    def labels(self, image: str) -> list[str]:
        """Return the labels of the tags of an image that are read at least in part."""
        read = {owner for _, owner in self._kept(image)}
        return [tag.label for number, tag in enumerate(self.tags.get(image, [])) if number in read]

    def boxes(self, image: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the boxes of an image in pixels: of the regions in `rows` (R, 4), and of all tags (T, 4)."""
        batch = self.table.batch([image])
        tags = [tag.box for tag in self.tags.get(image, [])]
        regions = batch.boxes[0, : min(batch.counts[0], self.max_regions)].numpy()
        return regions, np.array(tags, np.float32).reshape(-1, 4)

    def _kept(self, image: str) -> list[tuple[int, int]]:
        """Return the word pieces of an image's tags that are read, each with the index of its tag."""
        pairs = [
            (piece, number) for number, tag in enumerate(self.tags.get(image, [])) for piece in self._pieces[tag.label]
        ]
        return pairs[: self.max_pieces - 1]


def measure_tagged_images(paths: Paths) -> tuple[int, list[str]]:
    """Return the size of a region including its box, and the labels of all tags, from tables of regions and of tags."""
    regions, tags = _by_kind(paths)
    labels = [tag.label for of_image in read_tags(tags).values() for tag in of_image]
    return RegionTable(regions).region_size + BOX, labels


def _by_kind(paths: Paths) -> tuple[list[str], list[str]]:
    """Return the tables of regions and the tables of tags. Raises ValueError if there is no table of regions."""
    tags: list[str] = []
    regions: list[str] = []
    for path in map(str, paths):
        (tags if read_schema_name(path) == TAGS.name else regions).append(path)
    if not regions:
        raise ValueError(f"{', '.join(tags)}: tags alone; the captioner reads regions as well")
    return regions, tags
