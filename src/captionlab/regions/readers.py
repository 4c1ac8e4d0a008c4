"""Readers of region features in published formats.

A reader takes a file or folder and the requested images, each with its width and height in pixels. Files name images by
their ids or by the names of their files. No code from the files is run.
"""

import base64
import binascii
import io
import json
import logging
import os
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

from captionlab.jobs.progress import progress
from captionlab.regions.plain_values import decode_msgpack, decode_pickle
from captionlab.regions.tables import ImageRegions, RegionError
from captionlab.userfiles.ids import known_id
from captionlab.userfiles.reading import check_unpacked

logger = logging.getLogger(__name__)

# Images, each with its width and height in pixels.
Sizes = Mapping[str, tuple[int, int]]
# Regions of images, each with its location in a file.
Found = Iterator[tuple[str, ImageRegions]]
# Enough bytes of a line to hold the name of an image.
_NAME_BYTES = 512
_ZIP = b"PK\x03\x04"
# UNITER keeps the regions of a file, which are sorted by confidence, above this threshold, but at least 10 and at most
# 100 regions (scripts/convert_imgdir.py of its repository).
_THRESHOLD, _LEAST, _MOST = 0.2, 10, 100


def read_regions(format: str, paths: Iterable[str | os.PathLike[str]], images: Sizes) -> Iterator[ImageRegions]:
    """Yield the regions of `images` from files or folders in one of the formats of READERS, each image once.

    Logs images that are missing. Raises RegionError if a path does not exist, if the format is unknown, if no image is
    found, if region sizes differ, or if a file cannot be read.
    """
    places = [Path(path) for path in paths]
    if absent := [place for place in places if not place.exists()]:
        raise RegionError(f"{absent[0]}: no such file or folder of regions")
    if format not in READERS:
        raise RegionError(f"there is no format {format!r} of regions; there are {', '.join(READERS)}")
    found: set[str] = set()
    first, size = "", 0
    everything = chain.from_iterable(READERS[format](place, images) for place in places)
    for where, regions in progress(everything, what="images with regions"):
        if regions.image_id not in found:
            width = regions.features.shape[1]
            first, size = (first, size) if found else (where, width)
            if width != size:
                raise RegionError(
                    f"{where} has features of {width} numbers, and {first} of {size}; all must be of one detector"
                )
            found.add(regions.image_id)
            yield regions
    names = ", ".join(map(str, places))
    if not found:
        raise RegionError(f"{names}: no regions of any of {known_as(images)}; are these the right files?")
    if missing := [image_id for image_id in images if image_id not in found]:
        logger.warning("%s: no regions of %d of %d images, as %r", names, len(missing), len(images), missing[0])


def known_as(images: Collection[str]) -> str:
    """Return the number of images and an example id, for messages about files that have none of the images."""
    example = next(iter(images), None)
    return f"the {len(images)} images, whose ids are like {example!r} (docs/data.md says what they are for each reader)"


def _read_npz(
    folder: Path, images: Sizes, regions: Callable[[str, dict[str, np.ndarray], tuple[int, int], str], ImageRegions]
) -> Found:
    """Yield the regions of a folder with one file per image."""
    if not folder.is_dir():
        raise RegionError(f"{folder} is no folder; the format has a file per image, so give their folder")
    for path in sorted(folder.glob("*.npz")):
        if (image_id := known_id(path.name, images)) is not None:
            yield str(path), regions(image_id, _arrays_in(path, str(path)), images[image_id], str(path))


def _rosita_regions(image_id: str, arrays: dict[str, np.ndarray], size: tuple[int, int], where: str) -> ImageRegions:
    """Return the regions of an image from the arrays of ROSITA's format, which include the size of the image."""
    names = {"label_id": "objects_id", "attribute_id": "attrs_id"}
    ids: dict[str, Any] = {ours: arrays[name].astype(np.int32) for ours, name in names.items() if name in arrays}
    return ImageRegions(
        image_id,
        width=int(_take(arrays, "image_w", where, 0)),
        height=int(_take(arrays, "image_h", where, 0)),
        boxes=_take(arrays, "boxes", where, 2),
        features=_take(arrays, "x", where, 2),
        confidence=arrays.get("objects_conf"),
        attribute_confidence=arrays.get("attrs_conf"),
        **ids,
    )


def read_vinvl_tsv(path: Path, images: Sizes) -> Found:
    """Yield the regions of VinVL's files in any of three forms.

    `features.tsv` has name, number of regions and features; a `predictions.tsv` with the same rows must be beside it. A
    `predictions.tsv` that was extracted with features has them in its objects. A `*.feature.tsv` for captioning has
    features only. The last six values of such a feature begin with the box, relative to the image size, which is taken
    from `images`. Sources: github.com/microsoft/Oscar, github.com/microsoft/scene_graph_benchmark.
    """
    if path.name == "features.tsv":
        yield from _read_vinvl_pair(path, images)
        return
    for where, image_id, line in lines_about(path, images):
        document = _document(_split(line, 2, where)[1], where)
        if "objects" in document:
            encoded = [_field(found, "feature", where) for found in document["objects"]]
            features = np.concatenate([_decode(text, 1, f"{where}: feature") for text in encoded])
            yield where, _vinvl_regions(image_id, images[image_id], document, features, where)
        else:
            count = _number(_field(document, "num_boxes", where), f"{where}: num_boxes")
            features = _decode(_field(document, "features", where), count, f"{where}: features")
            boxes = _in_pixels(features[:, -6:-2], images[image_id])
            yield where, ImageRegions(image_id, *images[image_id], boxes=boxes, features=features)


def _read_tsv(path: Path, images: Sizes, columns: Sequence[str]) -> Found:
    for where, image_id, line in lines_about(path, images):
        values = dict(zip(columns, _split(line, len(columns), where), strict=True))
        width, height, count = (_number(values.pop(name), f"{where}: {name}") for name in ("width", "height", "count"))
        arrays: dict[str, Any] = {}
        for name in values.keys() - {"name"}:
            array = _decode(values[name], count, f"{where}: {name}", whole=name.endswith("_id"))
            arrays[name] = array if name in ("boxes", "features") else array[:, 0]
        yield where, ImageRegions(image_id, width, height, **arrays)


def _read_vinvl_pair(path: Path, images: Sizes) -> Found:
    """Yield the regions of a features.tsv whose boxes are in predictions.tsv."""
    other = path.with_name("predictions.tsv")
    if not other.is_file():
        raise RegionError(f"{other}: no such file; it has the boxes of {path.name}")
    check_unpacked(path)
    check_unpacked(other)
    with path.open("rb") as features_file, other.open("rb") as predictions_file:
        for number, (line, described) in enumerate(zip(features_file, predictions_file, strict=False), start=1):
            where, place = f"{path}: line {number}", f"{other}: line {number}"
            name, count, encoded = _split(line, 3, where)
            other_name, text = _split(described, 2, place)
            if name != other_name:
                raise RegionError(f"{where} is about {_text(name)!r}, and {place} about {_text(other_name)!r}")
            image_id = known_id(_text(name), images)
            if image_id is not None:
                features = _decode(encoded, _number(count, where), f"{where}: features")
                yield where, _vinvl_regions(image_id, images[image_id], _document(text, place), features, place)


def _vinvl_regions(
    image_id: str, size: tuple[int, int], document: Mapping[str, Any], features: np.ndarray, where: str
) -> ImageRegions:
    """Return the regions of an image from the objects of VinVL's detector.

    The image size is taken from the document, or from `size` if the document has none.
    """
    objects = _field(document, "objects", where)
    return ImageRegions(
        image_id,
        width=_number(document.get("image_w", size[0]), f"{where}: image_w"),
        height=_number(document.get("image_h", size[1]), f"{where}: image_h"),
        boxes=_numbers([_field(found, "rect", where) for found in objects], (-1, 4), f"{where}: rect"),
        features=features,
        confidence=_numbers([_field(found, "conf", where) for found in objects], (-1,), f"{where}: conf"),
        label=[_field(found, "class", where) for found in objects],
    )


def lines_about(path: Path, images: Collection[str]) -> Iterator[tuple[str, str, bytes]]:
    """Yield location, image id and line of each line about one of `images`.

    If a file of the same name that ends in .lineidx has the byte offsets of the lines, other lines are not read. Raises
    RegionError if a line does not start with a name and a tab. Raises GivenError if the file is compressed.
    """
    index = path.with_suffix(".lineidx")
    lines = index.read_text(encoding="ascii").split() if index.is_file() else None
    offsets: Iterable[int | None] = repeat(None) if lines is None else (_number(line, str(index)) for line in lines)
    check_unpacked(path)
    with path.open("rb") as file:
        for number, offset in enumerate(offsets, start=1):
            if offset is not None:
                file.seek(offset)
            if not (line := file.readline(_NAME_BYTES)):
                break
            where = f"{path}: line {number}"
            name, tab, _ = line.partition(b"\t")
            if not tab or b"\0" in name:
                expected = "does not start with the name of an image and a tab"
                raise RegionError(f"{where} {expected}; is it the right file, and in UTF-8?")
            image_id = known_id(_text(name), images)
            if not line.endswith(b"\n") and (offset is None or image_id is not None):
                line += file.readline()
            if image_id is not None:
                yield where, image_id, line


def _split(line: bytes, columns: int, where: str) -> list[bytes]:
    values = line.rstrip(b"\r\n").split(b"\t")
    if len(values) != columns:
        raise RegionError(f"{where} has {len(values)} columns, the format has {columns}")
    return values


def _number(value: Any, where: str) -> int:
    try:
        return int(value)
    except (ValueError, TypeError) as error:
        shown = _text(value) if isinstance(value, bytes) else str(value)
        raise RegionError(f"{where} is {shown[:40]!r} and no whole number; is it of this format?") from error


def _numbers(values: Any, shape: tuple[int, ...], where: str) -> np.ndarray:
    """Return values as a float32 array of this shape. Raises RegionError if this is not possible."""
    try:
        return np.asarray(values, np.float32).reshape(shape)
    except (ValueError, TypeError) as error:
        found = str(values)[:60]
        raise RegionError(f"{where} has something else than numbers, or not as many as it must: {found}") from error


def _document(value: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(value)
    except ValueError as error:
        raise RegionError(f"{where} has no JSON document in its second column: {error}") from error
    if not isinstance(document, dict):
        found = type(document).__name__
        raise RegionError(f"{where} has a {found} in its second column; a document with features is expected")
    return document


def read_uniter_lmdb(path: Path, images: Sizes) -> Found:
    """Yield the regions of UNITER's databases, such as feat_th0.2_max100_min10 (github.com/ChenRocks/UNITER).

    A key is a file name. A value has its arrays, in MessagePack or as a compressed npz file
    (scripts/convert_imgdir.py).
    """
    with _open(path) as database:
        names = {known_id(_text(key), images): key for key in database.cursor().iternext(values=False)}
        for image_id in images:
            if image_id in names:
                where, value = f"{path}: {_text(names[image_id])}", database.get(names[image_id])
                zipped = value.startswith(_ZIP)
                arrays = _arrays_in(io.BytesIO(value), where) if zipped else decode_msgpack(value, where)
                if not isinstance(arrays, dict) or not all(isinstance(array, np.ndarray) for array in arrays.values()):
                    raise RegionError(f"{where} holds no arrays; is it of this format?")
                yield where, _uniter_regions(image_id, arrays, images[image_id], where)


def read_vilbert_lmdb(path: Path, images: Sizes) -> Found:
    """Yield the regions of ViLBERT's databases, where a key is an image number and a value is a pickle.

    In github.com/jiasenlu/vilbert_beta (script/convert_lmdb.py) the value is a row of a bottom-up tsv file, with arrays
    in base64. In github.com/facebookresearch/vilbert-multi-task it has the arrays themselves.
    """
    with _open(path) as database:
        for image_id in images:
            if (value := database.get(image_id.encode())) is not None:
                where = f"{path}: image {image_id}"
                row = decode_pickle(value, where)
                names = ("image_w", "image_h", "num_boxes")
                width, height, count = (_number(_field(row, name, where), f"{where}: {name}") for name in names)
                arrays: dict[str, Any] = {}
                for name in ("boxes", "features"):
                    found = _field(row, name, where)
                    if isinstance(found, (bytes, str)):
                        found = _decode(found, count, f"{where}: {name}")
                    arrays[name] = _numbers(found, (count, -1), f"{where}: {name}")
                yield where, ImageRegions(image_id, width, height, **arrays)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    try:
        environment = lmdb.open(str(path), subdir=path.is_dir(), readonly=True, lock=False, readahead=False)
    except lmdb.Error as error:
        raise RegionError(f"{path} cannot be read as an LMDB database: {error}") from error
    with environment, environment.begin(buffers=False) as transaction:
        yield transaction


def _text(value: bytes) -> str:
    return value.decode("utf-8", errors="replace")


def _field(document: Any, name: str, where: str) -> Any:
    """Return a field of a document. Raises RegionError if the field is missing or the document is no mapping."""
    found = document if isinstance(document, Mapping) else {}
    if name not in found:
        raise RegionError(f"{where} has no field {name!r}; it has {', '.join(map(str, found))}")
    return found[name]


def _arrays_in(file: Any, where: str) -> dict[str, np.ndarray]:
    """Return the arrays in an npz file, given as a path or an open file. Raises RegionError if it cannot be read."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise RegionError(f"{where} cannot be read: {error}; is the download complete?") from error


def _take(arrays: Mapping[str, np.ndarray], name: str, where: str, dimensions: int) -> np.ndarray:
    """Return an array with the expected number of dimensions. Raises RegionError if there is none."""
    if name not in arrays:
        raise RegionError(f"{where} has no array {name!r}; it has {', '.join(arrays)}. Is it of this format?")
    if arrays[name].ndim != dimensions:
        raise RegionError(f"{where}: {name} has the shape {arrays[name].shape}; {dimensions} dimensions are expected")
    return arrays[name]


def _decode(value: bytes | str, count: int, where: str, whole: bool = False) -> np.ndarray:
    """Decode base64 into an array (count, values per item); `whole` numbers may be stored as int64 or float32."""
    try:
        raw = base64.b64decode(value, validate=True)
        kind = np.dtype(np.int64) if whole and len(raw) == 8 * count else np.dtype(np.float32)
        array = np.frombuffer(raw, kind).reshape(count, -1)
    except (binascii.Error, ValueError) as error:
        raise RegionError(f"{where} is not {count} times the same number of values in base64: {error}") from error
    return array.astype(np.int32) if whole else array


def _in_pixels(relative: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return boxes (R, 4) in pixels, from corners as shares of the width and height of an image."""
    return relative.astype(np.float32) * np.array([*size, *size], np.float32)


def _uniter_regions(image_id: str, arrays: Mapping[str, np.ndarray], size: tuple[int, int], where: str) -> ImageRegions:
    """Return the regions that UNITER selects from the stored arrays of an image of `size` (width, height) pixels."""
    confidence = _take(arrays, "conf", where, 2)[:, 0].astype(np.float32)
    count = min(max(int((confidence > _THRESHOLD).sum()), _LEAST), _MOST)
    return ImageRegions(
        image_id,
        *size,
        boxes=_in_pixels(_take(arrays, "norm_bb", where, 2)[:count, :4], size),
        features=_take(arrays, "features", where, 2)[:count],
        confidence=confidence[:count],
    )


# Columns of the tab-separated formats. All but name, width, height and count are arrays in base64.
_LABELS = ("label_id", "confidence", "attribute_id", "attribute_confidence")
_LXMERT = ("name", "height", "width", *_LABELS, "count", "boxes", "features")
_ROSITA = ("name", "features", "height", "width", "count", "boxes", *_LABELS)
_BOTTOM_UP = ("name", "width", "height", "count", "boxes", "features")
READERS: dict[str, Callable[[Path, Sizes], Found]] = {
    # For example val2014_obj36.tsv (github.com/airsplay/lxmert, src/utils.py).
    "lxmert-tsv": partial(_read_tsv, columns=_LXMERT),
    # imgfeat.tsv (github.com/MILVLG/rosita, rosita/utils/transfer_npz2tsv.py).
    "rosita-tsv": partial(_read_tsv, columns=_ROSITA),
    # github.com/peteanderson80/bottom-up-attention, tools/generate_tsv.py.
    "bottom-up-tsv": partial(_read_tsv, columns=_BOTTOM_UP),
    # Written by github.com/MILVLG/bottom-up-attention.pytorch.
    "rosita-npz": partial(_read_npz, regions=_rosita_regions),
    # github.com/ChenRocks/UNITER, scripts/convert_imgdir.py.
    "uniter-npz": partial(_read_npz, regions=_uniter_regions),
    "uniter-lmdb": read_uniter_lmdb,
    "vilbert-lmdb": read_vilbert_lmdb,
    "vinvl-tsv": read_vinvl_tsv,
}
