"""Plug-ins: folders of a package, each with a torch-free `config.py` and a module that does the work.

captioners/clipcap/config.py     the models of its blocks in a config, and FACTS, which the graph reads
captioners/clipcap/captioner.py  the work

There is no list of plug-ins. A plug-in has the name of its folder, with - for _. This is the one place that finds
modules by name.
"""

import ast
import importlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parent
CONFIG = "config"
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


class PluginError(ValueError):
    """A plug-in lacks a file or a definition, which the message names."""


@cache
def names(package: str) -> tuple[str, ...]:
    """Return the names of the plug-ins of a package, sorted."""
    inside = ROOT.joinpath(*package.split("."))
    folders = {path.parent.name for file in (CONFIG, WORK.get(package, CONFIG)) for path in inside.glob(f"*/{file}.py")}
    return tuple(sorted(folder.replace("_", "-") for folder in folders))


def config_module(package: str, name: str) -> ModuleType:
    """Import the module with the models of a plug-in; it needs no torch. Raises PluginError if there is none."""
    module = f"{_folder(package, name)}.{CONFIG}"
    path = ROOT.parent.joinpath(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        raise PluginError(f"there is no {path}; the config.py of another plug-in there shows what it has")
    return importlib.import_module(module)


@cache
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
    return f"{_folder(package, name)}.{WORK[package]}"


def defined(package: str, name: str, attribute: str) -> Any:
    """Return what the working module of a plug-in defines; ValueError if there is no plug-in of this name."""
    if name not in names(package):
        raise ValueError(f"{package} have no {name!r}; there are {', '.join(names(package))}")
    return getattr(importlib.import_module(work_module(package, name)), attribute)


def own_keys(package: str, family: str) -> tuple[str, ...]:
    """Return the keys that only the blocks of this family have when its models are imported."""
    return tuple(key for key in config_module(package, family).Imported.__annotations__ if key != "family")


@cache
def headline(package: str, name: str) -> str:
    """Return the first line of the docstring of a plug-in's working module, which is not imported."""
    path = ROOT.parent.joinpath(*work_module(package, name).split(".")).with_suffix(".py")
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]


def _folder(package: str, name: str) -> str:
    return f"captionlab.{package}.{name.replace('-', '_')}"


def family_class(package: str, family: str) -> Any:
    """Return the class of a family of models, which imports its module; ValueError if there is no such family."""
    return defined(package, family, "FAMILY")


class Member:
    """A model of a family, which has the name of the folder of the module that defines it, with hyphens."""

    @property
    def family(self) -> str:
        """Return the name of the family."""
        return type(self).__module__.split(".")[-2].replace("_", "-")
