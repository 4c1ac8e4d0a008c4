"""Regions of images as tensors, read from tables of regions without a Python loop over the values."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow.compute

from captionlab.regions.tables import stored_schema
from captionlab.storage.order import Places
from captionlab.storage.row_groups import Groups
from captionlab.storage.tables import TableError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

_BOX = ("x1", "y1", "x2", "y2")
_SIZE = ("width", "height")
# Bytes of regions that a table keeps in memory: a whole small corpus, or about 60 groups of rows of a large one. Half
# of the groups are mixed at a time.
MEMORY = 256 << 20


@dataclass(frozen=True)
class RegionBatch:
    """The regions of N images, each padded with zeros at its end."""

    features: Tensor
    """(N, R, region size), float32"""
    boxes: Tensor
    """(N, R, 4), left, top, right and bottom edge in pixels"""
    sizes: Tensor
    """(N, 2), width and height of each image in pixels"""
    counts: Sequence[int]
    """number of regions of each image"""

    @property
    def corners(self) -> Tensor:
        """Return (N, R, 4), x1/W, y1/H, x2/W, y2/H of each box in an image of W x H pixels."""
        return self.boxes / self.sizes.repeat(1, 2)[:, None]

    @property
    def sides(self) -> Tensor:
        """Return (N, R, 2), w/W and h/H of each box."""
        return (self.boxes[..., 2:] - self.boxes[..., :2]) / self.sizes[:, None]

    @property
    def areas(self) -> Tensor:
        """Return (N, R, 1), the share of its image that each box covers."""
        return self.sides.prod(-1, keepdim=True)

    def to(self, device: str | torch.device) -> RegionBatch:
        """Return a copy on another device."""
        return RegionBatch(self.features.to(device), self.boxes.to(device), self.sizes.to(device), self.counts)


class _Group(NamedTuple):
    """The regions in a group of R rows of a file, as stored."""

    features: np.ndarray
    """(R, region size), float16 or float32"""
    boxes: np.ndarray
    """(R, 4), left, top, right and bottom edge in pixels"""
    sizes: np.ndarray
    """(R, 2), float32, width and height of the image in pixels"""


class RegionTable:
    """The regions of many images, read on demand.

    The location of each image is indexed when the table is opened. The most recently used groups of rows stay in memory
    in their stored precision. A small table is therefore read once, and a large table is never read as a whole.
    """

    def __init__(self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], memory: int = MEMORY):
        """Open the shards of a table of regions, and keep up to `memory` bytes in memory.

        Raises TableError if there is no file, if the region sizes of the files differ, or if the regions of an image
        are not adjacent in one file.
        """
        self.files = [str(paths)] if isinstance(paths, (str, os.PathLike)) else [str(path) for path in paths]
        if not self.files:
            raise TableError("no file of regions was given")
        self.memory, self._kept = memory, 0
        # By file, and number of the group.
        self._groups: OrderedDict[tuple[int, int], _Group] = OrderedDict()
        kinds = [stored_schema(path) for path in self.files]
        stored = [kind.columns["features"].type for kind in kinds]
        for path, type in zip(self.files, stored, strict=True):
            if type.list_size != stored[0].list_size:
                raise TableError(
                    f"{path} has regions of {type.list_size} numbers, {self.files[0]} of {stored[0].list_size}"
                )
        self.region_size: int = stored[0].list_size
        self._itemsize = max(type.value_type.bit_width for type in stored) // 8
        columns = [*_BOX, *_SIZE, "features"]
        self._open = [Groups([path], kind, columns) for path, kind in zip(self.files, kinds, strict=True)]
        # By image: file, group of rows, and start and end of its rows in the group.
        self._place: dict[str, tuple[int, int, int, int]] = {}
        for file, kind in enumerate(kinds):
            self._index(file, Groups([self.files[file]], kind, ["image_id"]))

    def __contains__(self, image: str) -> bool:
        return image in self._place

    def batch(self, images: Sequence[str]) -> RegionBatch:
        """Return the regions of the images, in this order.

        Raises TableError, which names the first image without regions, if there is one.
        """
        import torch  # uses half a gigabyte, which readers of arrays do not need

        features, boxes, sizes, counts = self.arrays(images)
        return RegionBatch(torch.from_numpy(features), torch.from_numpy(boxes), torch.from_numpy(sizes), counts)

    def arrays(self, images: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
        """Return features, boxes, sizes and counts of a RegionBatch of the images, as arrays."""
        self._check(images)
        places = [self._place[image] for image in images]
        counts = [end - start for *_, start, end in places]
        features = np.zeros((len(images), max(counts), self.region_size), np.float32)
        boxes = np.zeros((len(images), max(counts), 4), np.float32)
        sizes = np.empty((len(images), 2), np.float32)
        # In the order of the files, so that each group is read once, even if it does not stay in memory.
        for row in sorted(range(len(images)), key=lambda row: places[row]):
            file, number, start, end = places[row]
            group = self._group(file, number)
            features[row, : end - start] = group.features[start:end]
            boxes[row, : end - start] = group.boxes[start:end]
            sizes[row] = group.sizes[start]
        return features, boxes, sizes, counts

    def places(self, images: Sequence[str]) -> Places:
        """Return the group of rows of each image, and how many groups should be in use at a time.

        The groups in use may fill half of the memory, so that there is room for the next groups. Raises TableError,
        which names the first image without regions.
        """
        self._check(images)
        _, groups = np.unique([self._place[image][:2] for image in images], axis=0, return_inverse=True)
        row_bytes = self.region_size * self._itemsize + 4 * (len(_BOX) + len(_SIZE))
        files = [file.files[0].metadata for file in self._open]
        rows = max(file.row_group(number).num_rows for file in files for number in range(file.num_row_groups))
        return Places(groups.reshape(-1), max(1, self.memory // (2 * rows * row_bytes)))

    def _check(self, images: Sequence[str]) -> None:
        if missing := [image for image in images if image not in self._place]:
            raise TableError(
                f"{', '.join(self.files)}: no regions of image {missing[0]!r} ({len(missing)} of {len(images)} are "
                "missing); extract them, or leave these images out"
            )

    def _index(self, file: int, names: Groups) -> None:
        """Store where the regions of each image of a file are."""
        for number in range(len(names)):
            runs = pyarrow.compute.run_end_encode(names[number]["image_id"].combine_chunks())
            ends = runs.run_ends.to_pylist()
            for image, bounds in zip(runs.values.to_pylist(), pairwise([0, *ends]), strict=True):
                if image in self._place:
                    raise TableError(
                        f"{self.files[file]}: the regions of image {image!r} are not together; write the table again"
                    )
                self._place[image] = (file, number, *bounds)

    def _group(self, file: int, number: int) -> _Group:
        """Return a group of rows, from memory if possible."""
        if (file, number) in self._groups:
            self._groups.move_to_end((file, number))
            return self._groups[file, number]
        table = self._open[file][number]
        values = table["features"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        boxes, sizes = (np.stack([table[name].to_numpy() for name in names], axis=1) for names in (_BOX, _SIZE))
        group = _Group(values.reshape(-1, self.region_size), boxes, sizes.astype(np.float32))
        self._groups[file, number] = group
        self._kept += sum(part.nbytes for part in group)
        while self._kept > self.memory and len(self._groups) > 1:
            self._kept -= sum(part.nbytes for part in self._groups.popitem(last=False)[1])
        return group
