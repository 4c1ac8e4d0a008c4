"""The command `captionlab number`: a number of a run, computed again from the scores of single captions."""

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from captionlab.library import numbers, paper_numbers
from captionlab.library.runs import open_run

# Largest relative difference of numbers that are the same but for the order of floating-point sums.
SAME = 1e-9


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    for name, what in (
        ("captioner", "captioner, as the config names it; with --paper the label of its role"),
        ("corpus", "corpus"),
        ("metric", "metric, as evaluation.csv names it; with --paper the measure, as the CSV of its table names it"),
    ):
        parser.add_argument(f"--{name}", required=True, metavar="NAME", help=what)
    parser.add_argument("--evaluation", metavar="NAME", help="evaluation; needed without --paper")
    parser.add_argument("--paper", metavar="NAME", help="paper whose tables have the number, which is no metric")
    parser.add_argument(
        "--retriever",
        metavar="NAME",
        help="retriever, scorer or encoder; needed if there are several; with --paper the label of the scorer",
    )
    parser.add_argument(
        "--candidates", metavar="SET", help="candidates, such as '100 file-order'; if there are several"
    )
    parser.add_argument("--against", metavar="NAME", help="captioner whose value is subtracted; default: none")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="trainings that it is a mean of; default: 1")
    parser.add_argument(
        "--directory", type=Path, default=Path(), metavar="RUN", help="folder in which Snakemake ran; default: this one"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the number as it is stored and as it is computed again; return 1 if the two differ, else 0.

    Raises RunError if the run has no such number.
    """
    run, where = open_run(arguments.directory), vars(arguments)
    if arguments.paper:
        place = [where[name] for name in ("paper", "captioner", "corpus", "metric", "retriever", "against")]
        of_paper = paper_numbers.PaperNumber(*place)
        return compare(of_paper.columns, paper_numbers.stored(run, of_paper), paper_numbers.recomputed(run, of_paper))
    number = numbers.Number(**{one.name: where[one.name] for one in fields(numbers.Number)})
    row = numbers.stored(run, number)
    return compare(number.columns, row, numbers.recomputed(run, row))


def compare(columns: Sequence[str], row: Mapping[str, Any], again: Mapping[str, Any]) -> int:
    """Print the columns of a number as stored and as computed again; return 1 if a column differs, else 0."""
    print(f"{'':12}{'stored':>20}{'computed again':>20}")
    for column in columns:
        print(f"{column:12}{_text(row[column]):>20}{_text(again[column]):>20}")
    if all(math.isclose(row[column], again[column], rel_tol=SAME, abs_tol=SAME) for column in columns):
        return 0
    print("They differ: the scores or the code changed after the summary was made.")
    return 1


def _text(number: float) -> str:
    return f"{number:.10g}"
