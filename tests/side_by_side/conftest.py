"""Two small runs and their site, for all tests of runs side by side."""

from pathlib import Path

import pytest
from support.two_runs import write_run

from captionlab.side_by_side.runs import read_runs
from captionlab.side_by_side.site import write_site


@pytest.fixture(scope="session")
def two_runs(tmp_path_factory) -> tuple[Path, Path]:
    """A run, and a run with a higher CIDEr, another learning rate and another seed."""
    folder = tmp_path_factory.mktemp("runs")
    return write_run(folder / "first"), write_run(folder / "second", gain=0.5, config={"seed": 2})


@pytest.fixture(scope="session")
def site(two_runs, tmp_path_factory) -> Path:
    first, second = two_runs
    folder = tmp_path_factory.mktemp("site") / "site"
    write_site(read_runs([f"before={first}", f"after={second}"]), folder)
    return folder
