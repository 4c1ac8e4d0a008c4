"""Decoding of MessagePack and of plain Python pickles without running code from the data.

Published databases of region features contain both formats. A pickle is a small program that calls the objects that it
names. Here, no name is looked up: the names of arrays, dtypes, bytes and ordered mappings have stand-ins in this
module, and any other name raises an error.
"""

import io
import pickle
from collections import OrderedDict
from typing import Any

import msgpack
import numpy as np

from captionlab.regions.tables import RegionError


def decode_msgpack(data: bytes, where: str) -> Any:
    """Return the value in MessagePack bytes, with arrays in the format of msgpack_numpy decoded.

    Raises RegionError if the bytes are no MessagePack value.
    """
    try:
        return msgpack.unpackb(data, object_hook=_mapping, strict_map_key=False)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        said = f"{type(error).__name__}: {error}"
        raise RegionError(f"{where} cannot be read: no MessagePack value: {said}") from error


def _mapping(found: dict[Any, Any]) -> Any:
    """Return a mapping, or the array that it encodes (github.com/lebedov/msgpack-numpy)."""
    named = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
    if named.get("nd") is not True:
        return named
    return np.frombuffer(named["data"], _numbers(named["type"])).reshape([int(size) for size in named["shape"]])


def decode_pickle(data: bytes, where: str) -> Any:
    """Return the plain value in a pickle.

    Raises RegionError if the pickle is damaged or names anything but ordered mappings and numeric arrays.
    """
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except _SAID as error:
        said = f"{type(error).__name__}: {error}"
        raise RegionError(f"{where} cannot be read: no pickle of plain values: {said}") from error


# Errors that the standard library raises for bytes that are no pickle or are damaged. A damaged length may be of any
# size.
_SAID = pickle.UnpicklingError, EOFError, ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError


class _Type:
    """The dtype of an array; its pickled state begins with a version and the byte order."""

    def __init__(self, code: str, *_: Any):
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.code = state[1] + self.code


class _Array(np.ndarray):
    """An array whose values follow in its state; only numeric dtypes are passed to numpy."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        version, shape, kind, by_columns, raw = state
        super().__setstate__((version, shape, _numbers(kind.code), by_columns, raw))


class _Unpickler(pickle.Unpickler):
    """An unpickler that imports no module."""

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _KNOWN:
            raise ValueError(f"it names {module}.{name}, which is not looked up because it could run code")
        return _KNOWN[f"{module}.{name}"]


def _numbers(kind: Any) -> np.dtype:
    """Return a numeric or boolean dtype. Raises ValueError for any other kind of values."""
    if not isinstance(kind, str) or np.dtype(kind).kind not in "biuf":
        raise ValueError(f"an array of {kind!r}; numbers are expected")
    return np.dtype(kind)


_KNOWN: dict[str, Any] = {
    "collections.OrderedDict": OrderedDict,
    "numpy.core.multiarray._reconstruct": lambda *_: _Array(0),
    "numpy._core.multiarray._reconstruct": lambda *_: _Array(0),
    "numpy.ndarray": None,
    "numpy.dtype": _Type,
    "_codecs.encode": str.encode,
}
