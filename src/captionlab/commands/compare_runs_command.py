"""The command `captionlab compare-runs`: one static site of two finished runs or more, side by side."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "runs",
        metavar="[NAME=]RUN",
        nargs="+",
        help="folder of a finished run, which holds results/; the others are compared with the first",
    )
    parser.add_argument("--output", type=Path, required=True, help="folder of the site; open its index.html")


def run(arguments: argparse.Namespace) -> None:
    """Write the site, and print where it is."""
    from captionlab.side_by_side.runs import read_runs
    from captionlab.side_by_side.site import write_site

    write_site(read_runs(arguments.runs), arguments.output)
    print(f"open {arguments.output / 'index.html'}")
