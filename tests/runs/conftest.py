import json
import time
from pathlib import Path
from typing import NamedTuple

import pytest
from filelock import FileLock
from support.small import SMALL, start


class SmallRun(NamedTuple):
    """The folder of a finished run, and how long it took."""

    folder: Path
    seconds: float


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> SmallRun:
    """Run the small DAG to its tables, once for all processes of this session; tests compare their runs with it."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "small"
    folder, output, done = place / "run", place / "output", place / "seconds.json"
    with FileLock(place.with_name("small.lock")):
        if not done.exists():
            folder.mkdir(parents=True, exist_ok=True)  # a run that failed is tried again
            started = time.monotonic()
            process = start(folder, SMALL, "--cores", "2", "results/tables/", output=output)
            assert process.wait() == 0, output.read_text()[-4000:]
            done.write_text(json.dumps(time.monotonic() - started))
    return SmallRun(folder, json.loads(done.read_text()))
