"""Packages with plug-ins: captionlab itself, folders that a config names, and installed packages.

A package of plug-ins has the folders of the library: `mine/captioners/echo/` is the family `echo` of captioners, whose
modules are imported as `mine.captioners.echo.config`. Installed packages name themselves by an entry point of the group
GROUP. An environment variable holds the packages in use, so that processes that a process starts use the same.
"""

import json
import keyword
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import entry_points
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TypeVar, TypeVarTuple

VARIABLE = "CAPTIONLAB_PLUGINS"
GROUP = "captionlab.plugins"
LIBRARY = "captionlab"
Arguments = TypeVarTuple("Arguments")
Value = TypeVar("Value")


class PluginError(ValueError):
    """A plug-in or a package of plug-ins lacks something, which the message names."""


def packages() -> dict[str, Path]:
    """Return the folder of each package with plug-ins by the name of the package, the library first."""
    return {LIBRARY: Path(__file__).parent, **outside()}


def outside() -> dict[str, Path]:
    """Return the folder of each package with plug-ins outside the library, by the name of the package."""
    return {name: Path(folder) for name, folder in _in_use()}


def use(folders: Iterable[Path], parts: Iterable[str]) -> None:
    """Use the packages of plug-ins in these folders, and installed packages, in this process and those that it starts.

    Packages that were in use before are forgotten. A package must have one of the folders `parts`. Raises PluginError.
    """
    used: dict[str, Path] = {}
    for name, folder in [*map(_named, folders), *_installed()]:
        if not any((folder / part).is_dir() for part in parts):
            raise PluginError(f"{folder} has no plug-ins; folders of plug-ins are {', '.join(parts)}")
        _check_free(name, folder)
        if used.setdefault(name, folder) != folder:
            raise PluginError(f"{used[name]} and {folder} have the same name; rename one of them")
    if used:
        os.environ[VARIABLE] = json.dumps({name: str(folder) for name, folder in used.items()})
    else:
        os.environ.pop(VARIABLE, None)


def remembered(function: Callable[[*Arguments], Value]) -> Callable[[*Arguments], Value]:
    """Remember the values of a function of plug-ins for as long as the same packages are in use."""

    @cache
    def for_packages(used: object, *arguments: *Arguments) -> Value:
        return function(*arguments)

    @wraps(function)
    def value(*arguments: *Arguments) -> Value:
        return for_packages(_in_use(), *arguments)

    return value


def _in_use() -> tuple[tuple[str, str], ...]:
    return _read(os.environ.get(VARIABLE, "{}"))


@cache
def _read(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(json.loads(text).items())


def _named(folder: Path) -> tuple[str, Path]:
    """Return the name of the package in a folder, and the folder as an absolute path."""
    folder = folder.resolve()
    if not folder.is_dir():
        raise PluginError(f"there is no folder {folder}")
    if not folder.name.isidentifier() or keyword.iskeyword(folder.name):
        raise PluginError(f"{folder} cannot be imported as a package; rename it, with letters, digits and _ alone")
    return folder.name, folder


def _installed() -> Iterator[tuple[str, Path]]:
    """Yield the name and the folder of each installed package of plug-ins."""
    for entry in entry_points(group=GROUP):
        try:
            spec = find_spec(entry.value)
        except ImportError:
            spec = None
        if spec is None or not spec.submodule_search_locations:
            installed = entry.dist.name if entry.dist else "an installed package"
            raise PluginError(
                f"{installed} has the entry point {entry.name} = {entry.value} of {GROUP}, which is no package"
            )
        yield entry.value, Path(spec.submodule_search_locations[0]).resolve()


def _check_free(name: str, folder: Path) -> None:
    """Raise PluginError if a package of this name is imported from another folder."""
    imported, spec = sys.modules.get(name), None
    if imported is None and "." not in name:
        spec = PathFinder.find_spec(name)
    there = getattr(imported, "__path__", None) or (spec and spec.submodule_search_locations) or []
    taken = imported or spec
    if taken is not None and [Path(place).resolve() for place in there] != [folder]:
        place = next((str(one) for one in there if Path(one).resolve() != folder), None) or (
            spec.origin if spec else getattr(imported, "__file__", name)
        )
        raise PluginError(f"{folder} has the name of another package, {place}; rename it")


class _Finder(MetaPathFinder):
    """Finds packages of plug-ins in their folders. Other files beside these folders cannot be imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if (folder := outside().get(fullname)) is None:
            return None
        if (file := folder / "__init__.py").is_file():
            return spec_from_file_location(fullname, file, submodule_search_locations=[str(folder)])
        spec = ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        return spec


sys.meta_path.append(_Finder())
