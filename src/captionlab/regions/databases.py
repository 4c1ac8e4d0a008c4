"""Readers of region features in databases of the LMDB kind, which UNITER and ViLBERT were trained from."""

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb
import numpy as np

from captionlab.regions.arrays import Sizes, decode, field, image_name, read_npz, text_of, uniter_regions
from captionlab.regions.plain_values import FormatError, decode_msgpack, decode_pickle
from captionlab.regions.tables import ImageRegions, RegionError

_ZIP = b"PK\x03\x04"


def read_uniter_lmdb(path: Path, images: Sizes) -> Iterator[ImageRegions]:
    """UNITER's databases, such as feat_th0.2_max100_min10 (github.com/ChenRocks/UNITER, scripts/convert_imgdir.py).

    A key is the name of a file, a value its arrays: in MessagePack, or as a compressed npz file.
    """
    with _open(path) as database:
        names = {image_name(text_of(key)): key for key in database.cursor().iternext(values=False)}
        for image_id in images:
            if image_id in names:
                where, value = f"{path}: {text_of(names[image_id])}", database.get(names[image_id])
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
                width, height, count = (int(field(row, name, where)) for name in ("image_w", "image_h", "num_boxes"))
                arrays: dict[str, Any] = {}
                for name in ("boxes", "features"):
                    found = field(row, name, where)
                    if isinstance(found, (bytes, str)):
                        found = decode(found, count, f"{where}: {name}")
                    arrays[name] = np.asarray(found, np.float32).reshape(count, -1)
                yield ImageRegions(image_id, width, height, **arrays)


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    try:
        environment = lmdb.open(str(path), subdir=path.is_dir(), readonly=True, lock=False, readahead=False)
    except lmdb.Error as error:
        raise RegionError(f"{path} cannot be read as an LMDB database: {error}") from error
    with environment, environment.begin(buffers=False) as transaction:
        yield transaction


def _arrays(value: bytes, where: str) -> Mapping[str, np.ndarray]:
    """The arrays of an image, in either of UNITER's two forms."""
    if value.startswith(_ZIP):
        return read_npz(io.BytesIO(value), where)
    found = _value(decode_msgpack, value, where)
    if not isinstance(found, dict) or not all(isinstance(array, np.ndarray) for array in found.values()):
        raise RegionError(f"{where} holds no arrays; is it of this format?")
    return found


def _value(decoder: Any, value: bytes, where: str) -> Any:
    try:
        return decoder(value)
    except FormatError as error:
        raise RegionError(f"{where} cannot be read: {error}") from error
