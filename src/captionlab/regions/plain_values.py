"""Values in two binary formats, decoded without running anything: MessagePack, and the plain part of Python's pickles.

Published databases of region features hold them. A pickle is a small program that builds objects; here only the
instructions that build numbers, texts, lists, mappings and arrays of numbers are followed, and any other is an error.
"""

import pickletools
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np


class FormatError(ValueError):
    """Bytes are not of the format, or ask for more than plain values."""


# ------------------------------------------------------------------------------------------------- MessagePack
def decode_msgpack(data: bytes) -> Any:
    """The value in MessagePack bytes; a mapping as msgpack_numpy writes an array becomes that array. FormatError."""
    try:
        return msgpack.unpackb(data, object_hook=_mapping, strict_map_key=False)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise FormatError(f"no MessagePack value: {type(error).__name__}: {error}") from error


def _mapping(found: dict[Any, Any]) -> Any:
    """A mapping, or the array that it stands for (github.com/lebedov/msgpack-numpy)."""
    named = {key.decode() if isinstance(key, bytes) else key: value for key, value in found.items()}
    if named.get("nd") is not True:
        return named
    return _array(named["type"], named["shape"], named["data"], "C")


# ----------------------------------------------------------------------------------------------------- pickles
_MARK = object()
# Instructions that push what stands beside them.
_PUSHED = {
    "BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES",
    "SHORT_BINBYTES", "BINBYTES8",
}  # fmt: skip
_EMPTY: dict[str, Callable[[], Any]] = {
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "MARK": lambda: _MARK,
}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _Global(str):
    """The name of a class or function; it is never looked up."""


class _Unfinished(dict[str, Any]):
    """An array or its type, of which the state is still to come."""


def decode_pickle(data: bytes) -> Any:
    """The plain value in a pickle; FormatError when it names anything but ordered mappings and arrays of numbers."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    try:
        for instruction, argument, _ in pickletools.genops(data):
            _follow(instruction.name, argument, stack, memo)
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise FormatError(f"no pickle of plain values: {error}") from error
    if len(stack) != 1:
        raise FormatError("no pickle of plain values: it does not end with one value")
    return _finished(stack[0])


def _follow(name: str, argument: Any, stack: list[Any], memo: dict[int, Any]) -> None:
    if name in ("PROTO", "FRAME", "STOP"):
        return
    if name in _PUSHED:
        stack.append(argument)
    elif name in _EMPTY:
        stack.append(_EMPTY[name]())
    elif name in ("BINPUT", "LONG_BINPUT"):
        memo[argument] = stack[-1]
    elif name == "MEMOIZE":
        memo[len(memo)] = stack[-1]
    elif name in ("BINGET", "LONG_BINGET"):
        stack.append(memo[argument])
    elif name == "GLOBAL":
        stack.append(_Global(argument))
    elif name == "STACK_GLOBAL":
        stack[-2:] = [_Global(f"{stack[-2]} {stack[-1]}")]
    elif name in _TUPLES:
        stack[-_TUPLES[name] :] = [tuple(stack[-_TUPLES[name] :])]
    elif name == "TUPLE":
        stack.append(tuple(_above_mark(stack)))
    elif name in ("SETITEM", "SETITEMS"):
        items = _above_mark(stack) if name == "SETITEMS" else [stack.pop(-2), stack.pop()]
        stack[-1].update((key, _finished(value)) for key, value in zip(items[::2], items[1::2], strict=True))
    elif name in ("APPEND", "APPENDS"):
        stack[-1].extend(map(_finished, _above_mark(stack) if name == "APPENDS" else [stack.pop()]))
    elif name == "REDUCE":
        arguments = stack.pop()
        stack[-1] = _call(stack[-1], arguments)
    elif name == "BUILD":
        state = stack.pop()
        stack[-1]["state"] = state
    else:
        raise ValueError(f"the instruction {name} makes no plain value")


def _above_mark(stack: list[Any]) -> list[Any]:
    place = max(number for number, value in enumerate(stack) if value is _MARK)
    values = stack[place + 1 :]
    del stack[place:]
    return values


def _call(name: Any, arguments: tuple[Any, ...]) -> Any:
    if not isinstance(name, _Global):
        raise ValueError("something is called that has no name")
    if name == "collections OrderedDict":
        return {key: _finished(value) for key, value in (arguments[0] if arguments else [])}
    if name in ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct"):
        return _Unfinished(kind="array")
    if name == "numpy dtype":
        return _Unfinished(kind="type", code=arguments[0])
    if name == "_codecs encode" and arguments[1] == "latin1":
        return arguments[0].encode("latin1")
    raise ValueError(f"it names {name.replace(' ', '.')}, which is not looked up because it could run code")


def _finished(value: Any) -> Any:
    """A value of which all is known; an array from what was noted of it."""
    if isinstance(value, _Global):
        raise ValueError(f"it names {value.replace(' ', '.')}")
    if isinstance(value, _Unfinished):
        if value["kind"] != "array":
            raise ValueError("it holds a type and no value")
        _, shape, kind, by_columns, raw = value["state"]
        return _array(kind["state"][1] + kind["code"], shape, raw, "F" if by_columns else "C")
    return value


def _array(kind: str, shape: Any, raw: bytes, order: Any) -> np.ndarray:
    """An array of numbers; ValueError for any other kind of values."""
    stored = np.dtype(kind.replace("|", "")) if isinstance(kind, str) else None
    if stored is None or stored.kind not in "biuf":
        raise ValueError(f"an array of {kind!r}; numbers are expected")
    return np.frombuffer(raw, stored).reshape([int(size) for size in shape], order=order)
