"""Estimate the cost of a run by hand: the pending jobs, and the cost of their last run or of jobs of the same rule.

python workflow/scripts/estimate_cost.py --jobs 4 --gpus 1 -- --configfile config/mine.yaml --directory runs/mine

Arguments after `--` go to Snakemake, as for the run itself. Without `--earlier`, costs are read from the folder of the
run itself.
"""

import argparse
from pathlib import Path

from captionlab.reporting.documents.costs import estimate, estimate_text, measured_jobs
from captionlab.reporting.documents.plan import read_plan


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    earlier = "folder of a run that was measured, several times; by default that of the run itself"
    parser.add_argument("--earlier", type=Path, action="append", help=earlier)
    parser.add_argument("--jobs", type=int, default=1, help="jobs that run at once")
    parser.add_argument("--gpus", type=int, default=1, help="GPUs")
    parser.add_argument("snakemake", nargs="*", help="arguments of Snakemake, after --")
    options = parser.parse_args(arguments)
    plan = read_plan(options.snakemake)
    measured = [folder / "results" for folder in options.earlier or ()] or [plan.folder / plan.results]
    jobs = [job for results in measured for job in measured_jobs(results)]
    print(estimate_text(estimate(plan.pending, jobs), options.jobs, options.gpus), end="")


if __name__ == "__main__":
    main()
