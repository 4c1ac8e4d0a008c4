import csv
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Small cuts of public data sets beside the repository; tests that need them are skipped without them."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no data sets in {folder}")
    return folder


@pytest.fixture(scope="session")
def points() -> Callable[[Path], tuple[list[str], int]]:
    """What finds intervals of width 0, or with ends the wrong way round, in tables below a folder, and counts all."""

    def find(folder: Path) -> tuple[list[str], int]:
        found, intervals = [], 0
        for path in sorted(path for ending in ("parquet", "csv") for path in folder.rglob(f"*.{ending}")):
            for row in _rows(path):
                for name in (name for name in row if name.endswith("ci_low")):
                    low, high = row[name], row[name.removesuffix("low") + "high"]
                    if low not in (None, ""):
                        intervals += 1
                        if not float(low) < float(high):
                            found.append(f"{path.relative_to(folder)}: {row}")
        return found, intervals

    return find


def _rows(path: Path) -> list[dict]:
    if path.suffix == ".csv":
        with open(path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    names = [name for name in pq.read_schema(path).names if not name.startswith("embedding")]
    return pq.read_table(path, columns=names).to_pylist() if any(n.endswith("ci_low") for n in names) else []
