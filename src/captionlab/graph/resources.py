"""The memory of jobs, from the files that they read."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from captionlab.storage import paths

# Factors of tables for which the factor of the rule does not hold. Of regions, a job holds a few groups of rows at a
# time, for which `base` has room. Tags become objects of Python.
HELD = {"regions": 0.0, "tags": 10.0}


def memory(
    base: int, held: Callable[[Any, Mapping[str, Any]], int] | None = None, **factors: float
) -> Callable[[Any, Mapping[str, Any], int], int]:
    """Return a function for `mem_mb` of a rule: `base` MB and, for each named input, a multiple of its size.

    A file that is an input twice counts once. Regions and tags count by HELD. `held` returns the bytes that the job
    holds beside, from wildcards and inputs. Each further attempt at a job (`retries`) asks for as much again. Snakemake
    calls the function when the inputs exist; before that, a dry run says that memory is to be determined.
    """

    def mem_mb(wildcards: Any, input: Mapping[str, Any], attempt: int) -> int:
        factor_of: dict[str, float] = {}
        for name, factor in factors.items():
            files = input[name]
            for path in [files] if isinstance(files, str) else files:
                factor_of[path] = HELD.get(paths.stage_of(path) or "", factor)
        size = sum(factor * _size(path) for path, factor in factor_of.items())
        return attempt * int(base + (size + (held(wildcards, input) if held else 0)) / 1e6)

    return mem_mb


def _size(path: str) -> int:
    """Return the bytes of a file, or of all files in a folder, such as a model of the hub."""
    folder = Path(path)
    if folder.is_dir():
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return os.path.getsize(path)


def rows_of(table: str) -> int:
    """Return the number of rows of a Parquet file."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(table).num_rows)


def distinct(table: str, column: str) -> int:
    """Return the number of different values in a column of a Parquet file."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    return int(pc.count_distinct(pq.read_table(table, columns=[column])[column]).as_py())
