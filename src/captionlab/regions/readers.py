"""Readers of region features in the formats that they were published in.

A reader is given a file or folder and the images that are asked for, each with its width and height in pixels. It
finds them by their name in the file: the number of an image of COCO, else the name of its file without ending, as in
the tables of images. Nothing is unpickled.
"""

import json
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from captionlab.progress import progress
from captionlab.regions.arrays import (
    Sizes,
    decode,
    field,
    image_name,
    in_pixels,
    read_npz,
    take,
    text_of,
    uniter_regions,
)
from captionlab.regions.databases import read_uniter_lmdb, read_vilbert_lmdb
from captionlab.regions.tables import ImageRegions, RegionError

logger = logging.getLogger(__name__)

# Enough of a line to hold the name of an image.
_NAME_BYTES = 512


def read_regions(format: str, paths: Iterable[str | os.PathLike[str]], images: Sizes) -> Iterator[ImageRegions]:
    """The regions of `images` from files or folders in one of the formats of READERS.

    An image that is found twice counts once; what is not found is logged. A RegionError says that nothing was found, or
    what cannot be read.
    """
    if format not in READERS:
        raise RegionError(f"format is {format!r}; it must be one of {', '.join(READERS)}")
    places = [Path(path) for path in paths]
    if absent := [place for place in places if not place.exists()]:
        raise RegionError(f"{absent[0]}: no such file or folder of regions")
    found: set[str] = set()
    everything = chain.from_iterable(READERS[format](place, images) for place in places)
    for regions in progress(everything, what="images with regions"):
        if regions.image_id not in found:
            found.add(regions.image_id)
            yield regions
    names = ", ".join(map(str, places))
    if not found:
        raise RegionError(f"{names}: no regions of any of the {len(images)} images; are these the right files?")
    if missing := [image_id for image_id in images if image_id not in found]:
        logger.warning("%s: no regions of %d of %d images, as %r", names, len(missing), len(images), missing[0])


def read_rosita_npz(folder: Path, images: Sizes) -> Iterator[ImageRegions]:
    """A folder with a file per image, as ROSITA reads and github.com/MILVLG/bottom-up-attention.pytorch writes them."""
    for where, image_id, arrays in _read_npz(folder, images):
        yield ImageRegions(
            image_id,
            width=int(take(arrays, "image_w", where, 0)),
            height=int(take(arrays, "image_h", where, 0)),
            boxes=take(arrays, "boxes", where, 2),
            features=take(arrays, "x", where, 2),
            confidence=arrays.get("objects_conf"),
            label_id=_whole(arrays.get("objects_id")),
            attribute_id=_whole(arrays.get("attrs_id")),
            attribute_confidence=arrays.get("attrs_conf"),
        )


def read_uniter_npz(folder: Path, images: Sizes) -> Iterator[ImageRegions]:
    """A folder of UNITER's files, one per image (github.com/ChenRocks/UNITER, scripts/convert_imgdir.py)."""
    for where, image_id, arrays in _read_npz(folder, images):
        yield uniter_regions(image_id, arrays, images[image_id], where)


def read_vinvl_tsv(path: Path, images: Sizes) -> Iterator[ImageRegions]:
    """VinVL's files, in any of three forms (github.com/microsoft/Oscar, github.com/microsoft/scene_graph_benchmark).

    `features.tsv` has name, number and features; `predictions.tsv`, with the same rows, must be beside it. A
    `predictions.tsv` that was extracted with features has them in its objects. A `*.feature.tsv` for captioning has
    features alone, of which the last six numbers begin with the box, relative to the size of the image: the given one.
    """
    if path.name == "features.tsv":
        yield from _read_vinvl_pair(path, images)
        return
    for where, image_id, line in _lines_about(path, images):
        document = _document(_split(line, 2, where)[1], where)
        if "objects" in document:
            encoded = [field(found, "feature", where) for found in document["objects"]]
            features = np.concatenate([decode(text, 1, f"{where}: feature") for text in encoded])
            yield _vinvl_regions(image_id, images[image_id], document, features, where)
        else:
            count = int(field(document, "num_boxes", where))
            features = decode(field(document, "features", where), count, f"{where}: features")
            boxes = in_pixels(features[:, -6:-2], images[image_id])
            yield ImageRegions(image_id, *images[image_id], boxes=boxes, features=features)


def _read_tsv(path: Path, images: Sizes, columns: Sequence[str]) -> Iterator[ImageRegions]:
    for where, image_id, line in _lines_about(path, images):
        values = dict(zip(columns, _split(line, len(columns), where), strict=True))
        width, height, count = (_number(values.pop(name), f"{where}: {name}") for name in ("width", "height", "count"))
        arrays: dict[str, Any] = {}
        for name in values.keys() - {"name"}:
            array = decode(values[name], count, f"{where}: {name}", whole=name.endswith("_id"))
            arrays[name] = array if name in ("boxes", "features") else array[:, 0]
        yield ImageRegions(image_id, width, height, **arrays)


def _read_vinvl_pair(path: Path, images: Sizes) -> Iterator[ImageRegions]:
    """The regions in features.tsv, whose boxes are in predictions.tsv."""
    other = path.with_name("predictions.tsv")
    if not other.is_file():
        raise RegionError(f"{other}: no such file; it has the boxes of {path.name}")
    with path.open("rb") as features_file, other.open("rb") as predictions_file:
        for number, (line, described) in enumerate(zip(features_file, predictions_file, strict=False), start=1):
            where, place = f"{path}: line {number}", f"{other}: line {number}"
            name, count, encoded = _split(line, 3, where)
            other_name, text = _split(described, 2, place)
            if name != other_name:
                raise RegionError(f"{where} is about {text_of(name)!r}, and {place} about {text_of(other_name)!r}")
            image_id = image_name(text_of(name))
            if image_id in images:
                features = decode(encoded, _number(count, where), f"{where}: features")
                yield _vinvl_regions(image_id, images[image_id], _document(text, place), features, place)


def _vinvl_regions(
    image_id: str, size: tuple[int, int], document: Mapping[str, Any], features: np.ndarray, where: str
) -> ImageRegions:
    """The regions of an image whose objects VinVL's detector describes; their size is theirs, or else the given one."""
    objects = field(document, "objects", where)
    return ImageRegions(
        image_id,
        width=int(document.get("image_w", size[0])),
        height=int(document.get("image_h", size[1])),
        boxes=np.array([field(found, "rect", where) for found in objects], np.float32).reshape(-1, 4),
        features=features,
        confidence=np.array([field(found, "conf", where) for found in objects], np.float32),
        label=[field(found, "class", where) for found in objects],
    )


def _lines_about(path: Path, images: Sizes) -> Iterator[tuple[str, str, bytes]]:
    """The lines about `images`: where each is, which image it is about, and the line.

    Where the byte offsets of all lines are in a file of the same name that ends in .lineidx, other lines are not read.
    """
    index = path.with_suffix(".lineidx")
    offsets = [int(offset) for offset in index.read_text(encoding="ascii").split()] if index.is_file() else None
    number = 0
    with path.open("rb") as file:
        while offsets is None or number < len(offsets):
            if offsets is not None:
                file.seek(offsets[number])
            line = file.readline(_NAME_BYTES)
            if not line:
                break
            number += 1
            where = f"{path}: line {number}"
            name, tab, _ = line.partition(b"\t")
            if not tab:
                raise RegionError(f"{where} does not start with the name of an image and a tab; is it the right file?")
            image_id = image_name(text_of(name))
            if not line.endswith(b"\n") and (offsets is None or image_id in images):
                line += file.readline()
            if image_id in images:
                yield where, image_id, line


def _read_npz(folder: Path, images: Sizes) -> Iterator[tuple[str, str, dict[str, np.ndarray]]]:
    """The arrays in the files about `images`: which file, which image, and the arrays by name."""
    if not folder.is_dir():
        raise RegionError(f"{folder} is no folder; the format has a file per image, so give their folder")
    for path in sorted(folder.glob("*.npz")):
        if (image_id := image_name(path.name)) in images:
            yield str(path), image_id, read_npz(path, str(path))


def _whole(numbers: np.ndarray | None) -> np.ndarray | None:
    return None if numbers is None else numbers.astype(np.int32)


def _split(line: bytes, columns: int, where: str) -> list[bytes]:
    values = line.rstrip(b"\r\n").split(b"\t")
    if len(values) != columns:
        raise RegionError(f"{where} has {len(values)} columns, the format has {columns}")
    return values


def _number(value: bytes, where: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise RegionError(f"{where} is {text_of(value)[:40]!r} and no whole number; is it of this format?") from error


def _document(value: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(value)
    except ValueError as error:
        raise RegionError(f"{where} has no JSON in its second column: {error}") from error
    if not isinstance(document, dict):
        raise RegionError(f"{where} has a list in its second column; a document with features is expected")
    return document


# Columns of the tab-separated formats. All but name, width, height and count are arrays in base64.
_LABELS = ("label_id", "confidence", "attribute_id", "attribute_confidence")
_LXMERT = ("name", "height", "width", *_LABELS, "count", "boxes", "features")
_ROSITA = ("name", "features", "height", "width", "count", "boxes", *_LABELS)
_BOTTOM_UP = ("name", "width", "height", "count", "boxes", "features")
READERS: dict[str, Callable[[Path, Sizes], Iterator[ImageRegions]]] = {
    # Such as val2014_obj36.tsv (github.com/airsplay/lxmert, src/utils.py).
    "lxmert-tsv": partial(_read_tsv, columns=_LXMERT),
    # imgfeat.tsv (github.com/MILVLG/rosita, rosita/utils/transfer_npz2tsv.py).
    "rosita-tsv": partial(_read_tsv, columns=_ROSITA),
    # github.com/peteanderson80/bottom-up-attention, tools/generate_tsv.py.
    "bottom-up-tsv": partial(_read_tsv, columns=_BOTTOM_UP),
    "rosita-npz": read_rosita_npz,
    "uniter-npz": read_uniter_npz,
    "uniter-lmdb": read_uniter_lmdb,
    "vilbert-lmdb": read_vilbert_lmdb,
    "vinvl-tsv": read_vinvl_tsv,
}
