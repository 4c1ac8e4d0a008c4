"""Report which files of a run are made, which jobs would run and why, and how long they took last time.

./lab status --configfile config/mine.yaml --directory runs/mine

Every argument goes to Snakemake, as for the run itself. Nothing is run, and a run in progress is not disturbed.
"""

import argparse

from captionlab.reporting.documents.costs import measured_jobs
from captionlab.reporting.documents.plan import read_plan, status_text


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="./lab status",
        usage="./lab status [options and targets of Snakemake]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    plan = read_plan(parser.parse_known_args(arguments)[1])
    print(status_text(plan, measured_jobs(plan.folder / plan.results)), end="")


if __name__ == "__main__":
    main()
