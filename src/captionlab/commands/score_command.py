"""`captionlab score`: files of captions against references; of several files, the differences, too."""

import argparse
import sys

from captionlab.commands.scoring_options import add_scoring_arguments, named, options_of
from captionlab.scoring.output import differences_table, values_table, written
from captionlab.scoring.scores import difference_rows, measure, value_rows


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_scoring_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Print the scores of each file, and the differences between every two files."""
    options = options_of(arguments)
    results = measure(named(arguments.captions), arguments.references, options)
    tables = [values_table(value_rows(results), options.splits_by)]
    if len(results) > 1:
        tables.append(differences_table(difference_rows(results), options.splits_by))
    sys.stdout.write(written(arguments.form, tables))
