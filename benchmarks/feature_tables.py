"""Write a table of regions and read it in the random order of a training, against a plain copy of the same file.

    python benchmarks/feature_tables.py FOLDER [--gigabytes 4] [--precision float32] [--rounds 1]

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
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import numpy as np

from captionlab.order import Order
from captionlab.regions.batches import RegionTable
from captionlab.regions.tables import ImageRegions, write_regions

BLOCK = 16 << 20
# As the published features of bottom-up attention, and a batch of images as the scorers are trained with.
REGIONS, DIMENSIONS, BATCH = 36, 2048, 64
LOWEST_RATIO, LARGEST_PEAK_MB = 0.5, 500


def main() -> int:
    """Run all steps and print speeds, ratios and peaks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the files go; on the disk that is to be measured")
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--precision", choices=["float16", "float32"], default="float32")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    size = arguments.gigabytes * 1e9
    arguments.folder.mkdir(parents=True, exist_ok=True)
    if (free := shutil.disk_usage(arguments.folder).free) < 2.1 * size:
        sys.exit(f"{arguments.folder} has {free / 1e9:.1f} GB left, and two files of {size / 1e9:.1f} GB are written")
    table, copied = arguments.folder / "features.parquet", arguments.folder / "copied.parquet"
    images = int(size / (REGIONS * DIMENSIONS * np.dtype(arguments.precision).itemsize))
    writing = partial(write, images=images, precision=arguments.precision)
    steps: dict[str, Callable[[Path], None]] = {
        "copy": partial(copy, copied=copied),
        "write": writing,
        "read shuffled": partial(read_shuffled, images=images),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    try:
        in_a_process(writing, table)
        for _ in range(arguments.rounds):
            for name, step in steps.items():
                if name == "write":
                    table.unlink()  # it would stand beside the new one until that is whole
                found[name].append(in_a_process(step, table))
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


def in_a_process(step: Callable[[Path], None], table: Path) -> tuple[float, float]:
    """Seconds and peak of memory (MB) of a step in a new process."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measured, step, table).result()


def measured(step: Callable[[Path], None], table: Path) -> tuple[float, float]:
    """The same in this process."""
    if table.exists():
        forget(table)
    start = time.perf_counter()
    step(table)
    return time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def write(table: Path, images: int, precision: str) -> None:
    """Write the regions of so many images, with random numbers as features."""
    generator = np.random.default_rng(0)
    features = generator.standard_normal((64, REGIONS, DIMENSIONS)).astype(precision)
    boxes = generator.random((REGIONS, 4), np.float32)
    write_regions(
        table, (ImageRegions(name(image), 640, 480, boxes, features[image % len(features)]) for image in range(images))
    )
    synchronise(table)


def read_shuffled(table: Path, images: int) -> None:
    """Read the regions of all images once, as batches in the order of an epoch."""
    names = [name(image) for image in range(images)]
    regions = RegionTable(table)
    order = Order(images, BATCH, seed=1, places=regions.places(names))
    for step in range(order.per_epoch):
        regions.arrays([names[row] for row in order[step]])


def name(image: int) -> str:
    """The identifier of an image."""
    return f"image-{image:09d}"


def copy(table: Path, copied: Path) -> None:
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
