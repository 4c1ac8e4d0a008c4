"""Versions of the libraries that scripts compute with."""

import importlib.metadata
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from captionlab.storage.files import read_yaml


@cache  # for each a file is parsed
def library_version(name: str, root: Path) -> str:
    """Return the version of a library that is installed here or, if it is not, that envs/captionlab.yaml has.

    So a machine that only plans jobs needs no library but Snakemake.
    """
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return _conda_pins(root / "envs" / "captionlab.yaml")[canonicalize_name(name)]


@cache
def _conda_pins(file: Path) -> dict[str, str]:
    """Return the versions of the pip packages of a conda environment, by name."""
    python, *_, packages = read_yaml(file)["dependencies"]
    there = {"python_full_version": f"{python.split('=')[1]}.0"}
    pins = map(Requirement, packages["pip"])
    return {
        canonicalize_name(pin.name): str(pin.specifier).removeprefix("==")
        for pin in pins
        if not pin.marker or pin.marker.evaluate(there)
    }
