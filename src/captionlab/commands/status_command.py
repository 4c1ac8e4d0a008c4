"""`captionlab status`: which files of a run are made, which jobs would run and why, and how long they took."""

import argparse

from captionlab.commands.workflow import SNAKEFILE, check_configs, snakemake_or_help, with_limit, without_limit
from captionlab.reporting.documents.costs import measured_jobs
from captionlab.reporting.documents.plan import read_plan, status_text

parted = snakemake_or_help


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the arguments of the command, which are options of Snakemake and --limit."""
    parser.usage = "captionlab status [--limit N] [options and targets of Snakemake]"
    parser.description = (
        "Show what is made, what would run and why, and how long it took last time. Give the options of the run, such "
        "as --configfile mine.yaml --directory runs/mine. Nothing is run, and a run in progress is not disturbed."
    )
    parser.add_argument("--limit", metavar="N", help="as of the run: N images of each split")


def run(arguments: argparse.Namespace) -> None:
    """Print the plan of a run. Raises ValueError if a config file is missing or cannot be read."""
    check_configs(arguments.passed)
    options, limit = without_limit(arguments.passed)
    plan = read_plan(with_limit(options, limit, SNAKEFILE))
    print(status_text(plan, measured_jobs(plan.folder / plan.results)), end="")
