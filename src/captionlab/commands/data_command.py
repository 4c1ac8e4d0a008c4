"""`captionlab data`: the files of a config that are missing, with sizes and licences; they are fetched if confirmed."""

import argparse
import logging
import sys
from collections.abc import Iterable
from pathlib import Path

from snakemake.utils import update_config

from captionlab.config.blocks import Block
from captionlab.config.config_files import check_readable
from captionlab.config.whole import ConfigError, checked, named_paths
from captionlab.graph.retrieving import retrieval
from captionlab.installation import PROJECT
from captionlab.sources.table import SourceError
from captionlab.storage.files import read_yaml

_QUIET = ("httpx", "httpx2", "filelock", "huggingface_hub")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.description = (
        "List the files of a config that are missing below its `data`, with sizes and licences, and fetch them if "
        "confirmed."
    )
    parser.add_argument("config", nargs="+", type=Path, help="config file; further ones go on top, as in a run")
    parser.add_argument("--data", help="folder of the data, in place of the key `data`")
    parser.add_argument("--yes", action="store_true", help="fetch without asking")


def run(arguments: argparse.Namespace) -> int:
    """List and fetch missing files; return 2 for a wrong config, and 1 if files are still missing."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for library in _QUIET:
        logging.getLogger(library).setLevel(logging.ERROR)
    try:
        config = merged(arguments.config)
        if arguments.data:
            config["data"] = str(Path(arguments.data).absolute())
        config = checked(config, PROJECT)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    needed = retrieval(config, named_paths(config), PROJECT).looked_up()
    print(needed.described(), end="")
    if needed.fetchable:
        if not (arguments.yes or agreed()):
            print("Nothing was fetched; with --yes it is, without a question.")
            return 1
        try:
            needed.fetch()
        except (SourceError, OSError) as error:
            print(error, file=sys.stderr)
            return 1
    return int(any(source.by_hand for source in needed.missing))


def merged(files: Iterable[Path]) -> Block:
    """Return the config of several files, later ones on top. Raises ConfigError if a file cannot be read."""
    config: Block = {}
    for path in files:
        try:
            check_readable(path)
        except ValueError as error:
            raise ConfigError(str(error)) from error
        update_config(config, read_yaml(path))
    return config


def agreed() -> bool:
    """Return whether a user at a terminal agrees."""
    if not sys.stdin.isatty():
        return False
    return input("Fetch them, and agree to their licences? [y/N] ").strip().lower() in ("y", "yes")
