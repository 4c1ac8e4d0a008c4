"""Plug-ins: folders of a package, each with a torch-free `config.py` and a module that does the work.

captioners/clipcap/config.py     the models of its blocks in a config, and FACTS, which the graph reads
captioners/clipcap/captioner.py  the work

There is no list of plug-ins. A plug-in has the name of its folder, with - for _. Packages outside captionlab may have
such folders too (captionlab.places). This is the one place that finds modules by name.
"""

import ast
import importlib
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from captionlab import places
from captionlab.places import LIBRARY, PluginError, remembered

CONFIG, PAPERS = "config", "papers"
# The packages of plug-ins, and the module of a plug-in that does the work.
WORK = {
    "captioners": "captioner",
    "encoders": "encoder",
    "scorers": "scorer",
    "corpora.readers": "reader",
    "judgements.readers": "reader",
    "questions.readers": "reader",
    "questions.answerers": "answerer",
    "training.objectives": "objective",
    "training.rewards": "reward",
    "evaluation.metrics": "metric",
}


# Names in a config that are no plug-ins, and that no plug-in may have.
TAKEN = {
    "captioners": ("constructed", "endpoint", "file", "human", "judged"),
    "corpora.readers": ("judged", "toyworld"),
}


def use(folders: Iterable[Path]) -> None:
    """Use the plug-ins of the packages in these folders, and of installed packages, from now on. Raises PluginError."""
    places.use(folders, [package.replace(".", "/") for package in (*WORK, PAPERS)])


@remembered
def _folders(package: str) -> dict[str, tuple[str, Path]]:
    """Return the name of the module and the folder of each plug-in of a package, by the name of the plug-in."""
    found: dict[str, tuple[str, Path]] = {}
    for owner, root in places.packages().items():
        inside = root.joinpath(*package.split("."))
        files = (CONFIG, WORK.get(package, CONFIG))
        for folder in sorted({path.parent for file in files for path in inside.glob(f"*/{file}.py")}):
            name = folder.name.replace("_", "-")
            if name in TAKEN.get(package, ()):
                raise PluginError(f"{folder}: {name!r} has another meaning in a config; rename the folder")
            if name in found:
                raise PluginError(f"{found[name][1]} and {folder} have the same name; rename one of them")
            found[name] = f"{owner}.{package}.{folder.name}", folder
    return dict(sorted(found.items()))


def names(package: str) -> tuple[str, ...]:
    """Return the names of the plug-ins of a package, sorted."""
    return tuple(_folders(package))


def is_built_in(package: str, name: str) -> bool:
    """Return whether a plug-in comes with captionlab."""
    return module_of(package, name).startswith(f"{LIBRARY}.")


def module_of(package: str, name: str) -> str:
    """Return the name of the Python package of a plug-in. Raises ValueError if there is no plug-in of this name."""
    return _plugin(package, name)[0]


def place_of(package: str, name: str) -> Path:
    """Return the folder of a plug-in. Raises ValueError if there is no plug-in of this name."""
    return _plugin(package, name)[1]


def _plugin(package: str, name: str) -> tuple[str, Path]:
    if name not in (known := _folders(package)):
        raise ValueError(f"{package} have no {name!r}; there are {', '.join(known)}")
    return known[name]


def config_module(package: str, name: str) -> ModuleType:
    """Import the module with the models of a plug-in; it needs no torch.

    Raises PluginError if there is none, or if it cannot be imported.
    """
    folder = place_of(package, name)
    if not (file := folder / f"{CONFIG}.py").is_file():
        raise PluginError(f"there is no {file}; the config.py of another plug-in there shows what it has")
    try:
        return importlib.import_module(f"{module_of(package, name)}.{CONFIG}")
    except PluginError:
        raise
    except Exception as error:  # whatever a module of a user raises is a mistake there
        raise PluginError(f"{_place(error, folder, file)}: {type(error).__name__}: {error}") from error


def _place(error: Exception, folder: Path, file: Path) -> str:
    """Return the file and the line at which the import of a module failed, the innermost below a folder."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if Path(one.filename).is_relative_to(folder)]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else str(file)


@remembered
def facts(package: str) -> Mapping[str, Any]:
    """Return FACTS of each plug-in of a package, by name. Raises PluginError for a plug-in without FACTS."""
    found = {}
    for name in names(package):
        module = config_module(package, name)
        if not hasattr(module, "FACTS"):
            raise PluginError(f"{module.__file__} has no FACTS; the config.py of another plug-in there shows them")
        found[name] = module.FACTS
    return found


def work_module(package: str, name: str) -> str:
    """Return the name of the module of a plug-in that does the work."""
    return f"{module_of(package, name)}.{WORK[package]}"


def module(name: str) -> ModuleType:
    """Import a module of a plug-in by its dotted name, as `work_module` gives it."""
    return importlib.import_module(name)


def defined(package: str, name: str, attribute: str) -> Any:
    """Return what the working module of a plug-in defines; ValueError if there is no plug-in of this name."""
    return getattr(module(work_module(package, name)), attribute)


def own_keys(package: str, family: str) -> tuple[str, ...]:
    """Return the keys that only the blocks of this family have when its models are imported."""
    return tuple(key for key in config_module(package, family).Imported.__annotations__ if key != "family")


@remembered
def headline(package: str, name: str) -> str:
    """Return the first line of the docstring of a plug-in's working module, which is not imported."""
    path = place_of(package, name) / f"{WORK[package]}.py"
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def family_class(package: str, family: str) -> Any:
    """Return the class of a family of models, which imports its module; ValueError if there is no such family."""
    return defined(package, family, "FAMILY")


class Member:
    """A model of a family, which has the name of the folder of the module that defines it, with hyphens."""

    @property
    def family(self) -> str:
        """Return the name of the family."""
        return type(self).__module__.split(".")[-2].replace("_", "-")
