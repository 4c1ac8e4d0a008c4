"""`captionlab tables`: the tables and figures of a config, by Snakemake."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from captionlab.commands.workflow import check_configs, run_snakemake, snakemake_or_help, with_limit, without_limit
from captionlab.storage import paths

parted = snakemake_or_help
# Snakemake looks for new jobs once in such a span for each job that ended; the default of 1 s keeps a processor busy.
_PACE = ["--cores", "all", "--max-jobs-per-timespan", "300/3s"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of the command, which are options of Snakemake and --limit."""
    parser.usage = "captionlab tables [--limit N] [options and targets of Snakemake]"
    parser.description = (
        "Make every table and figure of a config, by default of the toy world, in the folder results/. All options of "
        "Snakemake are known: --configfile mine.yaml, --directory runs/mine, --dry-run (what would run), --cores 4."
    )
    parser.add_argument("--limit", metavar="N", help="for a first look: use N images of each split")


def run(arguments: argparse.Namespace) -> None:
    """Run the workflow and print which page to open. Raises ValueError if not all was made."""
    check_configs(arguments.passed)
    options, limit = without_limit(arguments.passed)
    if run_snakemake(arguments_of_run(options, limit)):
        raise ValueError("not all was made, see above; docs/troubleshooting.md explains common errors")
    if not options or (options[0] == "--directory" and len(options) == 2):
        folder = Path(*options[1:])
        print(f"captionlab: open {folder / paths.ANSWER}; tables are in {folder / paths.TABLES}/", file=sys.stderr)


def arguments_of_run(options: Sequence[str], limit: Sequence[str]) -> list[str]:
    """Return all arguments of Snakemake, for which the limit is a value of the config.

    In a terminal bars show the run and its rules. Elsewhere, and with a logger of the user's own, lines are plain.
    """
    has_logger = any(option.startswith("--logger") for option in options)
    return with_limit(
        options, limit, [*_PACE, *(["--logger", "rich"] if sys.stdout.isatty() and not has_logger else [])]
    )
