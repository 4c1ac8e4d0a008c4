"""What the readers of published region features share: names of images, and arrays as the files hold them."""

import base64
import binascii
import re
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from captionlab.regions.tables import ImageRegions, RegionError

# Images, each with its width and height in pixels.
Sizes = Mapping[str, tuple[int, int]]

# UNITER's choice among the regions of a file, which are in the order of their confidence: those above the threshold,
# but at least 10 and at most 100 (scripts/convert_imgdir.py of its repository).
_THRESHOLD, _LEAST, _MOST = 0.2, 10, 100


def image_name(name: str) -> str:
    """The identifier of an image from its name in a file of features, which may be that of a file."""
    stem = re.sub(r"(\.(npz|jpg|jpeg|png))+$", "", name.rsplit("/", 1)[-1], flags=re.IGNORECASE)
    number = re.fullmatch(r"coco_[a-z]+20\d\d_(\d{12})", stem, flags=re.IGNORECASE)
    return str(int(number[1])) if number else stem


def text_of(value: bytes) -> str:
    """Bytes as a text, damaged or not."""
    return value.decode("utf-8", errors="replace")


def field(document: Any, name: str, where: str) -> Any:
    """A field of a document; RegionError where it has none of this name, or is no document at all."""
    found = document if isinstance(document, Mapping) else {}
    if name not in found:
        raise RegionError(f"{where} has no field {name!r}; it has {', '.join(map(str, found))}")
    return found[name]


def read_npz(file: Any, where: str) -> dict[str, np.ndarray]:
    """The arrays in an npz file, which is open or a path."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise RegionError(f"{where} cannot be read: {error}; is the download complete?") from error


def take(arrays: Mapping[str, np.ndarray], name: str, where: str, dimensions: int) -> np.ndarray:
    """An array of a file, with so many dimensions."""
    if name not in arrays:
        raise RegionError(f"{where} has no array {name!r}; it has {', '.join(arrays)}. Is it of this format?")
    if arrays[name].ndim != dimensions:
        raise RegionError(f"{where}: {name} has the shape {arrays[name].shape}; {dimensions} dimensions are expected")
    return arrays[name]


def decode(value: bytes | str, count: int, where: str, whole: bool = False) -> np.ndarray:
    """Numbers in base64 as (count, numbers of each); whole ones may be stored as int64 or as float32."""
    try:
        raw = base64.b64decode(value, validate=True)
        kind = np.dtype(np.int64) if whole and len(raw) == 8 * count else np.dtype(np.float32)
        array = np.frombuffer(raw, kind).reshape(count, -1)
    except (binascii.Error, ValueError) as error:
        raise RegionError(f"{where} is not {count} times the same number of values in base64: {error}") from error
    return array.astype(np.int32) if whole else array


def in_pixels(relative: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Boxes (R, 4) in pixels, from corners as shares of the width and height of an image."""
    return relative.astype(np.float32) * np.array([*size, *size], np.float32)


def uniter_regions(image_id: str, arrays: Mapping[str, np.ndarray], size: tuple[int, int], where: str) -> ImageRegions:
    """UNITER's choice of regions from the arrays that it stores of an image of this width and height, in pixels."""
    confidence = take(arrays, "conf", where, 2)[:, 0].astype(np.float32)
    count = min(max(int((confidence > _THRESHOLD).sum()), _LEAST), _MOST)
    return ImageRegions(
        image_id,
        *size,
        boxes=in_pixels(take(arrays, "norm_bb", where, 2)[:count, :4], size),
        features=take(arrays, "features", where, 2)[:count],
        confidence=confidence[:count],
    )
