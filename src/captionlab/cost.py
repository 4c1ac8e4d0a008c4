"""What a job costs beside the time and memory that Snakemake's benchmark of it says: a table of one row."""

import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.schemas import COST
from captionlab.tables import write_table


@contextmanager
def measured(rule: str, log: str | os.PathLike[str]) -> Iterator[None]:
    """Measure the work in the block and, when it ends without an error, write it beside its log.

    results/logs/{rule}/{job}.log gives results/cost/{rule}/{job}.parquet, which is no declared output of any rule: it
    is overwritten when the job runs again, and nothing depends on it. An interrupted job counts from its resumption.
    Where results live in a bucket, both are below Snakemake's local copy of it.
    """
    start = time.perf_counter()
    yield
    seconds = time.perf_counter() - start
    logs = next(folder for folder in Path(log).parents if folder.parts[-2:] == Path(paths.LOGS).parts)
    name = Path(log).relative_to(logs).with_suffix("")
    row: dict[str, Any] = {"rule": rule, "job": "/".join(name.parts[1:]), "seconds": seconds}
    # A job that did not import torch used no GPU, and importing it would cost more than most of them.
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        row |= {"gpu_seconds": 0.0, "gpu_memory_mb": 0.0, "device": f"CPU ({platform.machine()})"}
    else:
        row["gpu_seconds"] = seconds * int(os.environ.get("WORLD_SIZE", 1))
        row["gpu_memory_mb"] = torch.cuda.max_memory_reserved() / 1e6
        row["device"] = torch.cuda.get_device_name()
    write_table(logs.with_name("cost") / f"{name}.parquet", COST, {column: [value] for column, value in row.items()})
