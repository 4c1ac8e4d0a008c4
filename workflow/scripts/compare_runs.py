"""Compare two finished runs by hand: the parameters that differ, and the table cells that changed.

python workflow/scripts/compare_runs.py runs/a runs/b > comparison.md
"""

import argparse
from pathlib import Path

from captionlab.reporting.documents.comparison import ComparisonError, compare, read_run


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="folder of a run, the one that holds results/")
    parser.add_argument("after", type=Path, help="folder of the run that it is compared with")
    parser.add_argument("--costs", action="store_true", help="what the two cost, too")
    options = parser.parse_args(arguments)
    try:
        print(compare(read_run(options.before), read_run(options.after), options.costs), end="")
    except ComparisonError as error:
        parser.exit(1, f"{error}\n")


if __name__ == "__main__":
    main()
