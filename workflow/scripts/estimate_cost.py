"""Before a run, by hand: how many jobs are pending and what they cost when they, or jobs of the same rule, ran last.

python workflow/scripts/estimate_cost.py --jobs 4 --gpus 1 -- --configfile config/mine.yaml --directory runs/mine

What follows `--` goes to Snakemake, as for the run itself. Without `--earlier`, what jobs took is read where it runs.
"""

import argparse
import logging
from pathlib import Path

from captionlab import paths
from captionlab.reporting.costs import estimate, estimate_text, measured_jobs


def pending_jobs(arguments: list[str]) -> list[tuple[str, str]]:
    """(rule, name of its log) of every job that Snakemake would run."""
    from snakemake.cli import main as snakemake

    found = []

    def watch(record: logging.LogRecord) -> bool:
        """Note a job that a dry run announces, and keep all but errors quiet."""
        if logs := getattr(record, "log", None):
            found.append((record.rule_name, paths.job_of(logs[0])))
        return record.levelno >= logging.ERROR

    logger = logging.getLogger("snakemake.logging")
    logger.addFilter(watch)
    try:
        snakemake(["--dry-run", *arguments])
    except SystemExit as end:
        if end.code:
            raise SystemExit("Snakemake cannot plan this") from None
    finally:
        logger.removeFilter(watch)
    return found


def main(arguments: list[str] | None = None) -> None:
    from snakemake.cli import parse_args

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    earlier = "folder of a run that was measured, several times; by default that of the run itself"
    parser.add_argument("--earlier", type=Path, action="append", help=earlier)
    parser.add_argument("--jobs", type=int, default=1, help="jobs that run at once")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs")
    parser.add_argument("snakemake", nargs="*", help="arguments of Snakemake, after --")
    options = parser.parse_args(arguments)
    # Where Snakemake would run: `--directory`, in a profile too, or the working directory.
    folders = options.earlier or [Path(parse_args(options.snakemake)[1].directory or ".")]
    jobs = [job for folder in folders for job in measured_jobs(folder / "results")]
    print(estimate_text(estimate(pending_jobs(options.snakemake), jobs), options.jobs, options.gpus), end="")


if __name__ == "__main__":
    main()
