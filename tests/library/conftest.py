"""A tiny run for all tests of the library."""

from pathlib import Path

import pytest
from support.tiny_run import write_run


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tiny") / "run"
    write_run(folder)
    return folder
