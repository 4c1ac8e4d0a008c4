"""Values in two binary formats, decoded without running anything: MessagePack, and the plain part of Python's pickles.

Published databases of region features hold them. A pickle is a small program that calls what it names; here no name is
looked up: those of arrays, their types, bytes and ordered mappings stand for what is below, any other is an error.
"""

import io
import pickle
from collections import OrderedDict
from typing import Any

import msgpack
import numpy as np

from captionlab.regions.tables import RegionError


def decode_msgpack(data: bytes, where: str) -> Any:
    """The value in MessagePack bytes; a mapping as msgpack_numpy writes an array becomes that array. RegionError."""
    try:
        return msgpack.unpackb(data, object_hook=_mapping, strict_map_key=False)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        said = f"{type(error).__name__}: {error}"
        raise RegionError(f"{where} cannot be read: no MessagePack value: {said}") from error


def _mapping(found: dict[Any, Any]) -> Any:
    """A mapping, or the array that it stands for (github.com/lebedov/msgpack-numpy)."""
    named = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
    if named.get("nd") is not True:
        return named
    return np.frombuffer(named["data"], _numbers(named["type"])).reshape([int(size) for size in named["shape"]])


def decode_pickle(data: bytes, where: str) -> Any:
    """The plain value in a pickle; RegionError when it names anything but ordered mappings and arrays of numbers."""
    try:
        return _Unpickler(io.BytesIO(data)).load()
    except _SAID as error:
        said = f"{type(error).__name__}: {error}"
        raise RegionError(f"{where} cannot be read: no pickle of plain values: {said}") from error


# What the standard library raises of bytes that are no pickle, or are damaged; a length in them may be of any size.
_SAID = pickle.UnpicklingError, EOFError, ValueError, LookupError, TypeError, AttributeError, OverflowError, MemoryError


class _Type:
    """The type of an array's values; the state that follows it begins with a version and the order of bytes."""

    def __init__(self, code: str, *_: Any):
        self.code = code

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.code = state[1] + self.code


class _Array(np.ndarray):
    """An array whose values follow; numpy is given types of numbers alone."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        version, shape, kind, by_columns, raw = state
        super().__setstate__((version, shape, _numbers(kind.code), by_columns, raw))


class _Unpickler(pickle.Unpickler):
    """One that knows no module."""

    def find_class(self, module: str, name: str) -> Any:
        if f"{module}.{name}" not in _KNOWN:
            raise ValueError(f"it names {module}.{name}, which is not looked up because it could run code")
        return _KNOWN[f"{module}.{name}"]


def _numbers(kind: Any) -> np.dtype:
    """A type of numbers; ValueError for any other kind of values."""
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
