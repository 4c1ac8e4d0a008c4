"""Imports of parts of libraries without the rest, which takes seconds and computes nothing here."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _Compiler(ModuleType):
    """Stands for the compiler: its decorators leave functions as they are."""

    def __getattr__(self, name: str) -> Any:
        _refuse_special(self, name)
        return _unchanged


class _Later(ModuleType):
    """Stands for a module whose functions are taken and not called yet: the first call of one imports it."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        _refuse_special(self, name)
        return lambda *given, **named: getattr(import_module(self.__name__), name)(*given, **named)


class _Package(ModuleType):
    """A package whose own code runs when a name is asked for that none of its imported modules gave it."""

    def __getattr__(self, name: str) -> Any:
        _refuse_special(self, name)
        self.__class__ = ModuleType  # type: ignore[assignment]  # its own type forgets this method
        self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]  # `open_packages` found it
        return getattr(self, name)


def _refuse_special(module: ModuleType, name: str) -> None:
    """AttributeError for a name that Python asks any module for."""
    if name.startswith("__") and name != "__version__":
        raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")


def _unchanged(function: Any = None, *_: Any, **__: Any) -> Any:
    return function if callable(function) else _unchanged


@contextmanager
def without(*absent: str, later: Sequence[str] = ()) -> Iterator[None]:
    """Hide `absent` libraries from imports in the block, and modules `later` until a function of theirs is called."""
    with _standing_in({**dict.fromkeys(absent), **{name: _Later(name) for name in later if name not in sys.modules}}):
        yield


@contextmanager
def without_compiler(*absent: str, later: Sequence[str] = ()) -> Iterator[None]:
    """The same, and hide torch's compiler, unless it is there already."""
    stand_ins: dict[str, ModuleType | None] = {}
    if "torch._dynamo" not in sys.modules:
        utilities = ModuleType("torch._dynamo.utils")
        utilities.is_compile_supported = lambda device: False  # type: ignore[attr-defined]  # torchvision asks
        stand_ins |= {"torch._dynamo": _Compiler("torch._dynamo"), "torch._dynamo.utils": utilities}
    # Shapes as formulas, for which the compiler needs an algebra system.
    with _standing_in(stand_ins), without(*absent, later=["torch.fx.experimental.symbolic_shapes", *later]):
        yield


@contextmanager
def _standing_in(stand_ins: Mapping[str, ModuleType | None]) -> Iterator[None]:
    """Let these be found under their names in the block; None is how Python is told that there is no such module."""
    hidden = {name: sys.modules[name] for name in stand_ins if name in sys.modules}
    sys.modules.update(stand_ins)  # type: ignore[arg-type]  # for None
    try:
        yield
    finally:
        for name in stand_ins:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)


def open_packages(*names: str) -> None:
    """Let modules of these packages be imported alone, without all that the packages import; an outer one comes first.

    Whoever wants more of a package than such modules, now or later, gets it: its own code runs then.
    """
    for name in names:
        if name not in sys.modules and (spec := find_spec(name)):
            package = module_from_spec(spec)
            package.__class__ = _Package
            sys.modules[name] = package
