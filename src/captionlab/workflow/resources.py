"""What a job needs of a machine: memory that grows with what it reads."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from captionlab import paths

# Of these tables a job holds something else than what its rule says of its features: of regions a few groups of rows,
# however many there are (`base` has room for them); of tags, objects of Python.
HELD = {"regions": 0.0, "tags": 10.0}


def memory(
    base: int, held: Callable[[Any, Mapping[str, Any]], int] | None = None, **factors: float
) -> Callable[[Any, Mapping[str, Any], int], int]:
    """`mem_mb` of a rule: `base` MB and, for each named input, so many times the size of its files.

    A file that is an input twice counts once, and regions and tags by what a job holds of them (HELD). `held` gives the
    bytes that the job holds beside that, from wildcards and inputs. Each further attempt at a job (`retries`) asks for
    as much again. Snakemake calls this when the inputs exist; before that, a dry run says that it is to be determined.
    """

    def mem_mb(wildcards: Any, input: Mapping[str, Any], attempt: int) -> int:
        factor_of: dict[str, float] = {}
        for name, factor in factors.items():
            files = input[name]
            for path in [files] if isinstance(files, str) else files:
                factor_of[path] = HELD.get(paths.stage_of(path) or "", factor)
        size = sum(factor * os.path.getsize(path) for path, factor in factor_of.items())
        return attempt * int(base + (size + (held(wildcards, input) if held else 0)) / 1e6)

    return mem_mb
