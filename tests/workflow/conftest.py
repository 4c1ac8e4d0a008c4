"""What tests of the graph share."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A copy of the package and the workflow, to which families can be added."""
    for folder in ("src/captionlab", "workflow"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path
