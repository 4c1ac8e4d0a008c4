"""Imports of libraries without torch's compiler, which takes seconds and compiles nothing here."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class _Compiler(ModuleType):
    """Stands for the compiler: its decorators leave functions as they are."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _unchanged


def _unchanged(function: Any = None, *_: Any, **__: Any) -> Any:
    return function if callable(function) else _unchanged


@contextmanager
def without_compiler(*absent: str) -> Iterator[None]:
    """Hide torch's compiler from what is imported in the block, unless it is there already, and `absent` libraries."""
    stand_ins: dict[str, ModuleType | None] = dict.fromkeys(absent)
    if "torch._dynamo" not in sys.modules:
        utilities = ModuleType("torch._dynamo.utils")
        utilities.is_compile_supported = lambda device: False  # type: ignore[attr-defined]  # torchvision asks
        stand_ins |= {"torch._dynamo": _Compiler("torch._dynamo"), "torch._dynamo.utils": utilities}
    hidden = {name: sys.modules[name] for name in stand_ins if name in sys.modules}
    sys.modules.update(stand_ins)  # type: ignore[arg-type]  # None is how Python is told that there is none
    try:
        yield
    finally:
        for name in stand_ins:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
