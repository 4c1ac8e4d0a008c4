"""Regions of images as tensors, from tables of regions without a Python loop over their values."""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import torch
from torch import Tensor

from captionlab.tables import Kind, TableError, read_table, regions_kind

_BOX = ("x1", "y1", "x2", "y2")
_SIZE = ("width", "height")


@dataclass(frozen=True)
class RegionBatch:
    """The regions of N images, padded with zeros at the end of each row."""

    features: Tensor
    """(N, R, region size), float32"""
    boxes: Tensor
    """(N, R, 4), left, top, right and bottom edge in pixels"""
    sizes: Tensor
    """(N, 2), width and height of each image in pixels"""
    counts: Sequence[int]
    """number of regions of each image"""

    def to(self, device: str | torch.device) -> "RegionBatch":
        """The same batch on another device."""
        return RegionBatch(self.features.to(device), self.boxes.to(device), self.sizes.to(device), self.counts)


class RegionTable:
    """The regions of many images in memory, as precise as the table has them."""

    def __init__(
        self, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], images: Collection[str] | None = None
    ):
        """Read the shards of a table of regions, only those of `images` when these are given.

        TableError for files whose regions differ in size, and for an image whose regions are not together in one file.
        """
        self.files = [str(paths)] if isinstance(paths, (str, os.PathLike)) else [str(path) for path in paths]
        if not self.files:
            raise TableError("no file of regions was given")
        wanted = None if images is None else pa.array(sorted(images), pa.string())
        self._features: list[np.ndarray] = []
        self._boxes: list[np.ndarray] = []
        self._sizes: list[np.ndarray] = []
        self._place: dict[str, tuple[int, int, int]] = {}
        for number, path in enumerate(self.files):
            table = read_table(path, _kind_of(path), ["image_id", *_BOX, *_SIZE, "features"])
            if wanted is not None:
                table = table.filter(pa.compute.is_in(table["image_id"], wanted))
            self._add(number, table)
        self.region_size = self._features[0].shape[1]

    def batch(self, images: Sequence[str]) -> RegionBatch:
        """The regions of these images, in this order; TableError names the first that has none."""
        if missing := [image for image in images if image not in self._place]:
            raise TableError(
                f"{', '.join(self.files)}: no regions of image {missing[0]!r} ({len(missing)} of {len(images)} are "
                "missing); extract them, or leave these images out"
            )
        places = [self._place[image] for image in images]
        counts = [end - start for _, start, end in places]
        features = np.zeros((len(images), max(counts), self.region_size), np.float32)
        boxes = np.zeros((len(images), max(counts), 4), np.float32)
        for row, (file, start, end) in enumerate(places):
            features[row, : end - start] = self._features[file][start:end]
            boxes[row, : end - start] = self._boxes[file][start:end]
        sizes = np.stack([self._sizes[file][start] for file, start, _ in places])
        return RegionBatch(torch.from_numpy(features), torch.from_numpy(boxes), torch.from_numpy(sizes), counts)

    def _add(self, number: int, table: pa.Table) -> None:
        path = self.files[number]
        column = table["features"].combine_chunks()
        size = column.type.list_size
        if self._features and size != self._features[0].shape[1]:
            raise TableError(f"{path} has regions of {size} numbers, {self.files[0]} of {self._features[0].shape[1]}")
        self._features.append(column.flatten().to_numpy(zero_copy_only=False).reshape(-1, size))
        self._boxes.append(np.stack([table[name].to_numpy() for name in _BOX], axis=1))
        self._sizes.append(np.stack([table[name].to_numpy() for name in _SIZE], axis=1).astype(np.float32))
        ids = table["image_id"].to_numpy()
        bounds = [0, *(np.flatnonzero(ids[1:] != ids[:-1]) + 1).tolist(), len(ids)] if len(ids) else []
        for start, end in pairwise(bounds):
            if ids[start] in self._place:
                raise TableError(f"{path}: the regions of image {ids[start]!r} are not together; write the table again")
            self._place[ids[start]] = (number, start, end)


def _kind_of(path: str) -> Kind:
    """The kind of the table of regions in a file, with the size and precision of its features."""
    if not Path(path).is_file():
        raise TableError(f"{path}: no such file of regions")
    try:
        schema = pq.read_schema(path)
    except pa.ArrowInvalid as error:
        raise TableError(f"{path} is no readable Parquet file ({error}); delete it and run again") from error
    stored = schema.field("features").type if "features" in schema.names else pa.null()
    if not pa.types.is_fixed_size_list(stored):
        raise TableError(f"{path} is no table of regions; it has the columns {', '.join(schema.names)}")
    return regions_kind(stored.list_size, "float16" if pa.types.is_float16(stored.value_type) else "float32")
