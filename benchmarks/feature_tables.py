"""Write a table of features and read it in a random order, against a plain copy of the same file.

    python benchmarks/feature_tables.py FOLDER [--gigabytes 4] [--dimensions 512] [--precision float32] [--rounds 1]

FOLDER must have room for two such files, which are deleted in the end. The copy reads and writes 16 MiB at a time. What
is written goes to the disk (fsync), and what is read comes from there where the system lets go of its cache. Each step
is a process of its own, so that its peak of memory can be told; with several rounds, times are medians. Exit code 1: a
ratio is below 0.5, or a peak above 500 MB.
"""

import argparse
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.groups import Groups
from captionlab.tables import Kind, TableWriter, embeddings_kind

BLOCK = 16 << 20
LOWEST_RATIO, LARGEST_PEAK_MB = 0.5, 500


def main() -> int:
    """Run all steps and print speeds, ratios and peaks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files go; on the disk that is to be measured")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--precision", choices=["float16", "float32"], default="float32")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    size = arguments.gigabytes * 1e9
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(arguments.folder).free) < 2.1 * size:
        sys.exit(f"{arguments.folder} has {free / 1e9:.1f} GB left, and two files of {size / 1e9:.1f} GB are written")
    table, copied = arguments.folder / "features.parquet", arguments.folder / "copied.parquet"
    kind = embeddings_kind(arguments.dimensions, arguments.precision)
    steps: dict[str, tuple[Callable[..., None], Any]] = {
        "copy": (copy, copied),
        "write": (write, int(size)),
        "read shuffled": (read_shuffled, None),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    try:
        in_a_process(write, table, kind, int(size))
        for _ in range(arguments.rounds):
            for name, (step, argument) in steps.items():
                found[name].append(in_a_process(step, table, kind, argument))
        size = table.stat().st_size
    finally:
        table.unlink(missing_ok=True)
        copied.unlink(missing_ok=True)
    return report(size, found)


def report(size: float, found: dict[str, list[tuple[float, float]]]) -> int:
    """Print what was found; the exit code."""
    speeds = {name: size / 1e6 / median(seconds for seconds, _ in runs) for name, runs in found.items()}
    peaks = {name: max(peak for _, peak in runs) for name, runs in found.items()}
    code = 0
    for name, speed in speeds.items():
        ratio = speed / speeds["copy"]
        print(f"{name:14} {speed:7.0f} MB/s  ratio {ratio:5.2f}  peak {peaks[name]:4.0f} MB of {size / 1e9:.2f} GB")
        code |= ratio < LOWEST_RATIO or (name != "copy" and peaks[name] > LARGEST_PEAK_MB)
    return int(code)


def in_a_process(step: Callable[..., None], table: Path, kind: Kind, argument: Any) -> tuple[float, float]:
    """Seconds and peak of memory (MB) of a step in a new process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measured, step, table, kind, argument).result()


def measured(step: Callable[..., None], table: Path, kind: Kind, argument: Any) -> tuple[float, float]:
    """The same in this process."""
    if table.exists():
        forget(table)
    start = time.perf_counter()
    step(table, kind, argument)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def write(table: Path, kind: Kind, size: int) -> None:
    """Write a table of so many bytes, a group of rows at a time, with random numbers."""
    stored = kind.columns["embedding"].type
    values = np.random.default_rng(0).standard_normal((kind.group_rows, stored.list_size))
    numbers = pa.array(values.astype(stored.value_type.to_pandas_dtype()).reshape(-1))
    features = pa.FixedSizeListArray.from_arrays(numbers, type=stored)
    rows = size // (numbers.nbytes // kind.group_rows)
    with TableWriter(table, kind) as writer:
        for start in range(0, rows, kind.group_rows):
            names = [f"image-{row:09d}" for row in range(start, min(start + kind.group_rows, rows))]
            writer.write(pa.table({"image_id": names, "embedding": features[: len(names)]}))
    synchronise(table)


def read_shuffled(table: Path, kind: Kind, _: Any) -> None:
    """Read all rows in a random order, as arrays."""
    rows = 0
    for part in Groups([table], kind).shuffled(seed=1):
        numbers = part["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        rows += len(numbers.reshape(len(part), -1))
    if rows != Groups([table], kind).rows:
        raise RuntimeError(f"{rows} rows were read of {Groups([table], kind).rows}")


def copy(table: Path, kind: Kind, copied: Path) -> None:
    """Copy the file."""
    with open(table, "rb", buffering=0) as source, open(copied, "wb", buffering=0) as target:
        while block := source.read(BLOCK):
            target.write(block)
    synchronise(copied)


def synchronise(path: Path) -> None:
    """Wait until a file is on the disk."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())


def forget(path: Path) -> None:
    """Ask the system to drop a file from its cache."""
    if hasattr(os, "posix_fadvise"):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    sys.exit(main())
