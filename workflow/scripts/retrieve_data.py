"""List the files of a config that are missing below its `data`, with sizes and licences, and fetch them if confirmed.

./lab data config/paper.yaml config/paper_variants.yaml --data /where/data/is --yes
"""

import argparse
import logging
import sys
from pathlib import Path

import yaml
from snakemake.utils import update_config

from captionlab.config.whole import ConfigError, checked, named_paths
from captionlab.graph.retrieving import retrieval
from captionlab.sources.table import SourceError
from captionlab.storage.files import read_yaml

ROOT = Path(__file__).absolute().parents[2]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="./lab data", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("config", nargs="+", type=Path, help="config file; further ones go on top, as in a run")
    parser.add_argument("--data", help="folder of the data, in place of the key `data`")
    parser.add_argument("--yes", action="store_true", help="fetch without asking")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for library in ("httpx", "httpx2", "filelock", "huggingface_hub"):
        logging.getLogger(library).setLevel(logging.ERROR)
    config: dict = {}
    for path in options.config:
        try:
            update_config(config, read_yaml(path))
        except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
            print(f"{path} cannot be read as a config: {' '.join(str(error).split())}", file=sys.stderr)
            return 2
    if options.data:
        config["data"] = str(Path(options.data).absolute())
    try:
        config = checked(config, ROOT)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    found = retrieval(config, named_paths(config), ROOT).looked_up()
    print(found.described(), end="")
    if found.fetchable:
        if not (options.yes or agreed()):
            print("Nothing was fetched; with --yes it is, without a question.")
            return 1
        try:
            found.fetch()
        except (SourceError, OSError) as error:
            print(error, file=sys.stderr)
            return 1
    return int(any(source.by_hand for source in found.missing))


def agreed() -> bool:
    """Return whether a user at a terminal agrees."""
    return sys.stdin.isatty() and input("Fetch them, and agree to their licences? [y/N] ").strip().lower() in (
        "y",
        "yes",
    )


if __name__ == "__main__":
    sys.exit(main())
