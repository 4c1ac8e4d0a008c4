"""Readers of region features in databases of the LMDB kind, which UNITER and ViLBERT were trained from."""

import io
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

from captionlab.regions.arrays import Sizes, decode, image_name, uniter_regions
from captionlab.regions.plain_values import FormatError, decode_msgpack, decode_pickle
from captionlab.regions.tables import ImageRegions, RegionError

_ZIP = b"PK\x03\x04"


def read_uniter_lmdb(path: Path, images: Sizes) -> Iterator[ImageRegions]:
    """UNITER's databases, such as feat_th0.2_max100_min10 (github.com/ChenRocks/UNITER, scripts/convert_imgdir.py).

    A key is the name of a file, a value its arrays: in MessagePack, or as a compressed npz file.
    """
    with _open(path) as database:
        names = {image_name(_text(key)): key for key in database.cursor().iternext(values=False)}
        for image_id in images:
            if image_id in names:
                where, value = f"{path}: {_text(names[image_id])}", database.get(names[image_id])
                yield uniter_regions(image_id, _arrays(value, where), images[image_id], where)


def read_vilbert_lmdb(path: Path, images: Sizes) -> Iterator[ImageRegions]:
    """ViLBERT's databases, of either repository: a key is the number of an image, a value a pickle of what is known.

    In github.com/jiasenlu/vilbert_beta (script/convert_lmdb.py) that is a row of a bottom-up tsv file, with arrays in
    base64; in github.com/facebookresearch/vilbert-multi-task the arrays themselves.
    """
    with _open(path) as database:
        for image_id in images:
            if (value := database.get(image_id.encode())) is not None:
                where = f"{path}: image {image_id}"
                row = _value(decode_pickle, value, where)
                width, height = (int(_entry(row, (f"image_{side}",), where)) for side in "wh")
                count = int(_entry(row, ("num_boxes",), where))
                boxes, features = (
                    decode(found, count, f"{where}: {name}") if isinstance(found, (bytes, str)) else found
                    for name in ("boxes", "features")
                    for found in [_entry(row, (name,), where)]
                )
                boxes, features = (np.asarray(part, np.float32).reshape(count, -1) for part in (boxes, features))
                yield ImageRegions(image_id, width, height, boxes=boxes, features=features)


class _open:
    """A database that is only read, as a context."""

    def __init__(self, path: Path):
        self.path = path

    def __enter__(self) -> Any:
        try:
            self.environment = lmdb.open(
                str(self.path), subdir=self.path.is_dir(), readonly=True, lock=False, readahead=False
            )
        except lmdb.Error as error:
            raise RegionError(f"{self.path} cannot be read as an LMDB database: {error}") from error
        self.transaction = self.environment.begin(buffers=False)
        return self.transaction

    def __exit__(self, *error: object) -> None:
        self.transaction.abort()
        self.environment.close()


def _arrays(value: bytes, where: str) -> Mapping[str, np.ndarray]:
    """The arrays of an image, in either of UNITER's two forms."""
    if value.startswith(_ZIP):
        try:
            with np.load(io.BytesIO(value), allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
            raise RegionError(f"{where} cannot be read: {error}; is the download complete?") from error
    found = _value(decode_msgpack, value, where)
    if not isinstance(found, dict) or not all(isinstance(array, np.ndarray) for array in found.values()):
        raise RegionError(f"{where} holds no arrays; is it of this format?")
    return found


def _value(decoder: Any, value: bytes, where: str) -> Any:
    try:
        return decoder(value)
    except FormatError as error:
        raise RegionError(f"{where} cannot be read: {error}") from error


def _entry(row: Any, names: tuple[str, ...], where: str) -> Any:
    found = row if isinstance(row, dict) else {}
    if names[0] not in found:
        raise RegionError(f"{where} has no field {names[0]!r}; it has {', '.join(map(str, found))}")
    return found[names[0]]


def _text(key: bytes) -> str:
    return key.decode("utf-8", errors="replace")
