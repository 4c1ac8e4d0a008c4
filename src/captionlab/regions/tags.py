"""Tags: the names and boxes of the objects of an image, which VinVL reads together with its regions.

In the published data the tags come from another detector than the regions (github.com/microsoft/Oscar, issue 134), so
only the boxes tell which region shows which object.
"""

import json
import logging
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.regions.readers import known_as, lines_about
from captionlab.regions.tables import RegionError, stored_schema
from captionlab.storage.schemas import IMAGE_ID
from captionlab.storage.tables import Column, TableError, TableSchema, TableWriter, read_table

logger = logging.getLogger(__name__)

_FLOAT = pa.float32()
TAGS = TableSchema(
    "tags",
    "an object of an image, as a detector or an annotator names it; rows of an image are adjacent",
    ("image_id", "tag_index"),
    image_id=IMAGE_ID,
    tag_index=Column(pa.int32(), "rank of the tag in its image, from 0, in the order in which it is read"),
    label=Column(pa.string(), "name of the object"),
    confidence=Column(_FLOAT, "the detector's confidence, 0 to 1", nullable=True),
    x1=Column(_FLOAT, "left edge, pixels"),
    y1=Column(_FLOAT, "top edge, pixels"),
    x2=Column(_FLOAT, "right edge, pixels"),
    y2=Column(_FLOAT, "bottom edge, pixels"),
)
# Number of rows that are collected before they are written.
GROUP = 16_384
Row = dict[str, Any]
_BOX = ("x1", "y1", "x2", "y2")


@dataclass(frozen=True)
class Tag:
    """A tag of an image: the name of an object and its box."""

    label: str
    box: tuple[float, float, float, float]
    """left, top, right and bottom edge in pixels"""


def read_vinvl_tags(path: str | os.PathLike[str], images: Collection[str]) -> Iterator[Row]:
    """Yield the tags of `images` from a file *.label.tsv of VinVL: name, tab, JSON list of {"class", "conf", "rect"}.

    If an image occurs twice, its first line is used. Raises RegionError if a line has another format or if the file has
    none of the images. Logs the number of images without tags.
    """
    found: set[str] = set()
    for where, image, line in lines_about(Path(path), images):
        if image in found:
            continue
        found.add(image)
        try:
            objects = json.loads(line.partition(b"\t")[2])
            # Some files have the objects in a document, as in the files of regions.
            objects = objects["objects"] if isinstance(objects, dict) else objects
            for index, described in enumerate(objects):
                row = {"image_id": image, "tag_index": index, "label": described["class"]}
                box = dict(zip(_BOX, map(float, described["rect"]), strict=True))
                yield row | {"confidence": described.get("conf"), **box}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            text = line.partition(b"\t")[2][:60].decode(errors="replace").strip()
            raise RegionError(
                f"{where} has no list of objects with class and rect, four edges, after the tab, but {text!r}"
            ) from error
    if not found:
        raise RegionError(f"{path} has tags of none of {known_as(images)}; is it the right file?")
    if missing := len(images) - len(found):
        logger.warning("%s has no tags of %d of %d images", path, missing, len(images))


def labelled_rows(table: pa.Table, index: str) -> Iterator[Row]:
    """Yield tags from a table of objects or regions, ranked by the column `index`.

    Rows without a label, such as the region of the whole image, give no tag.
    """
    place = pc.index_in(table["image_id"], value_set=table["image_id"].unique()).to_numpy()
    rank: Counter[str] = Counter()
    # Dicts need more memory than rows, so only one group of rows is converted at a time.
    for part in table.take(np.lexsort((table[index].to_numpy(), place))).to_batches(max_chunksize=GROUP):
        for row in part.to_pylist():
            if row["label"] is not None:
                yield {name: row.get(name) for name in TAGS.columns} | {"tag_index": rank[row["image_id"]]}
                rank[row["image_id"]] += 1


def read_region_labels(path: str | os.PathLike[str]) -> pa.Table:
    """Read a table of regions without the features."""
    return read_table(path, stored_schema(path), ["image_id", "region_index", "label", "confidence", *_BOX])


def write_tags(path: str | os.PathLike[str], rows: Iterable[Row], metadata: Mapping[str, Any] | None = None) -> int:
    """Write a table of tags and return the number of rows."""
    rows = iter(rows)
    with TableWriter(path, TAGS, metadata) as writer:
        while part := list(islice(rows, GROUP)):
            writer.write(part)
    return writer.rows


def read_tags(paths: Iterable[str | os.PathLike[str]]) -> dict[str, list[Tag]]:
    """Read tables of tags and return the tags of each image, in order.

    Raises TableError if an image is in two tables.
    """
    found: dict[str, list[Tag]] = {}
    for path in paths:
        table = read_table(path, TAGS).sort_by("tag_index").to_pydict()
        of_file: dict[str, list[Tag]] = {}
        boxes = zip(*(table[name] for name in _BOX), strict=True)
        for image, label, box in zip(table["image_id"], table["label"], boxes, strict=True):
            of_file.setdefault(image, []).append(Tag(label, box))
        if repeated := found.keys() & of_file.keys():
            raise TableError(f"{path} has tags of image {min(repeated)!r}, which other tables have too")
        found |= of_file
    return found


def objects_of(tags: Mapping[str, Sequence[Tag]]) -> dict[str, list[str]]:
    """Return the labels of the tags of each image."""
    return {image: [tag.label for tag in found] for image, found in tags.items()}
