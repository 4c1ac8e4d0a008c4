"""`captionlab compare`: differences between every two files of captions, with intervals and tests."""

import argparse
import sys

from captionlab.commands.scoring_options import add_scoring_arguments, named, options_of
from captionlab.scoring.output import differences_table, written
from captionlab.scoring.scores import ScoringError, difference_rows, measure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_scoring_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the differences between every two files. Raises ScoringError if there is one file of captions."""
    if len(arguments.captions) < 2:
        raise ScoringError("a comparison needs two files of captions or more, and the file of references last")
    options = options_of(arguments)
    results = measure(named(arguments.captions), arguments.references, options)
    sys.stdout.write(written(arguments.form, [differences_table(difference_rows(results), options.splits_by)]))
