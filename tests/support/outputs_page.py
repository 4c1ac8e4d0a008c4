"""The generator of docs/outputs.md, which is no module of the package."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

PATH = Path(__file__).parents[2] / "docs" / "outputs.py"


def generator() -> ModuleType:
    """Return the module docs/outputs.py."""
    spec = importlib.util.spec_from_file_location("outputs", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def files() -> list[Any]:
    """Return all files that the page lists."""
    return [file for of_stage in generator().stages().values() for file in of_stage]
