"""What every rule script shares: its log, its threads, and the device it runs on."""

import logging
import os
import sys
from collections.abc import Callable
from typing import Any


def run(main: Callable[[Any], None], namespace: dict[str, Any]) -> None:
    """Run a script's `main` with the `snakemake` object that Snakemake put into the script's namespace.

    Everything that is printed or logged, a traceback included, goes to the rule's log file.
    """
    if "snakemake" not in namespace:
        raise SystemExit("This script is run by Snakemake; to use it alone, import its main() and pass such an object.")
    snakemake = namespace["snakemake"]
    # One thread count, whatever the machine: the order of floating-point sums depends on it.
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(snakemake.threads)
    with open(snakemake.log[0], "w", buffering=1, encoding="utf-8") as log:
        sys.stdout = sys.stderr = log
        logging.basicConfig(stream=log, level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", force=True)
        try:
            main(snakemake)
        except Exception:
            logging.exception("%s failed", snakemake.rule)
            raise
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


def device() -> str:
    """Where torch computes: "cuda" when a GPU is visible, else "cpu"."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"
