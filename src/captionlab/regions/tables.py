"""The table of regions, with one row per region that a detector found."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.storage.schemas import regions_schema
from captionlab.storage.tables import TableError, TableSchema, TableWriter, read_schema

# Bytes of features in a group of rows, which is read as a whole for any of its images, and its largest number of rows.
REGION_GROUP_BYTES, GROUP_ROWS = 4 << 20, 8192


class RegionError(ValueError):
    """Regions cannot be read or written; the message names the file or image and the field, and says what to do."""


@dataclass(frozen=True)
class ImageRegions:
    """The R regions of an image, with the detector's confidences, labels and attributes if known."""

    image_id: str
    width: int
    """of the image, in pixels"""
    height: int
    boxes: np.ndarray
    """(R, 4), left, top, right and bottom edge in pixels"""
    features: np.ndarray
    """(R, region size), float16 or float32"""
    confidence: np.ndarray | None = None
    """(R,), 0 to 1"""
    label: Sequence[str | None] | None = None
    label_id: np.ndarray | None = None
    """(R,), whole numbers: places in the detector's vocabulary"""
    attribute_id: np.ndarray | None = None
    attribute_confidence: np.ndarray | None = None


def write_regions(
    path: str | os.PathLike[str], images: Iterable[ImageRegions], metadata: Mapping[str, Any] | None = None
) -> int:
    """Write a table of regions and return the number of images; the first image determines the dtype of the features.

    Raises RegionError if there is no image. Raises RegionError, which names the image, if its arrays do not fit
    together, or if its features or boxes are not finite.
    """
    images = iter(images)
    first = next(images, None)
    if first is None:
        raise RegionError(f"{path}: there is no image to write the regions of")
    kind = regions_schema(first.features.shape[1], str(first.features.dtype))
    group = max(1, min(GROUP_ROWS, REGION_GROUP_BYTES // (first.features.itemsize * first.features.shape[1])))
    written, rows, waiting = 0, 0, []
    with TableWriter(path, kind, metadata) as writer:
        for regions in chain([first], images):
            waiting.append(_rows(regions, kind))
            written, rows = written + 1, rows + waiting[-1].num_rows
            if rows >= group:
                writer.write(pa.concat_tables(waiting))
                rows, waiting = 0, []
        if waiting:
            writer.write(pa.concat_tables(waiting))
    return written


def _rows(regions: ImageRegions, kind: TableSchema) -> pa.Table:
    where, (count, size) = f"image {regions.image_id!r}", regions.features.shape
    stored = kind.columns["features"].type
    if not count:
        raise RegionError(f"{where} has no region; take it out of the corpus")
    if size != stored.list_size:
        raise RegionError(f"{where} has features of {size} numbers, the first image of {stored.list_size}")
    if regions.boxes.shape != (count, 4):
        raise RegionError(f"{where} has {count} features and boxes of the shape {regions.boxes.shape}")
    if min(regions.width, regions.height) < 1:
        raise RegionError(f"{where} is said to have {regions.width} x {regions.height} pixels")
    if not (np.isfinite(regions.features).all() and np.isfinite(regions.boxes).all()):
        raise RegionError(f"{where} has a feature or a box that is not a finite number; is the file damaged?")
    features = np.ascontiguousarray(regions.features, stored.value_type.to_pandas_dtype()).reshape(-1)
    values: dict[str, Any] = {
        "image_id": [regions.image_id] * count,
        "region_index": np.arange(count),
        **dict(zip(("x1", "y1", "x2", "y2"), np.asarray(regions.boxes, np.float32).T, strict=True)),
        "width": [regions.width] * count,
        "height": [regions.height] * count,
        "confidence": regions.confidence,
        "label": regions.label,
        "label_id": regions.label_id,
        "attribute_id": regions.attribute_id,
        "attribute_confidence": regions.attribute_confidence,
        "features": pa.FixedSizeListArray.from_arrays(pa.array(features), type=stored),
    }
    for name, column in values.items():
        if column is None:
            values[name] = pa.nulls(count, kind.columns[name].type)
        elif len(column) != count:
            raise RegionError(f"{where} has {count} regions and {len(column)} values of {name}; is the file complete?")
        elif not isinstance(column, pa.Array):
            values[name] = pa.array(column, kind.columns[name].type)
    return pa.table(values, schema=kind.schema)


def stored_schema(path: str | os.PathLike[str]) -> TableSchema:
    """Return the schema of a table of regions, with its region size and dtype. Raises TableError for other tables."""
    schema = read_schema(path)
    stored = schema.field("features").type if "features" in schema.names else pa.null()
    if not pa.types.is_fixed_size_list(stored):
        raise TableError(f"{path} is no table of regions; it has the columns {', '.join(schema.names)}")
    return regions_schema(stored.list_size, "float16" if pa.types.is_float16(stored.value_type) else "float32")
