"""`captionlab try`: tables of a folder of photographs. Their config is written first, then run."""

import argparse
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from captionlab.commands.photographs import TryError, check_replaceable, name_of, written_config
from captionlab.commands.workflow import run_snakemake
from captionlab.installation import NAME, PROJECT, is_installed, start_of
from captionlab.storage import paths
from captionlab.storage.files import replacing

# Options of Snakemake that make nothing.
_DRY = re.compile(r"--dry-?run|-[a-zA-Z]*n[a-zA-Z]*")


def parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part words into arguments of the command and, after --, options of Snakemake."""
    at = words.index("--") if "--" in words else len(words)
    return [*words[:at]], [*words[at + 1 :]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command; options of Snakemake come after --."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.description = """\
Turn a folder of photographs into tables without writing a config: the config is generated, then run.

CAPTIONS is a CSV, TSV or JSON-lines file with `file` and `caption`. The config, a starting point for further work, and
the run are in runs/<name of the folder>/. Models are the published models below data/ if they exist, else the models of
the toy world that come with captionlab. Until somebody changes the config, another call for the same folder, with
other captions or models, replaces it and makes again what is affected. Options of Snakemake come after --."""
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of photographs")
    parser.add_argument("captions", type=Path, metavar="CAPTIONS", nargs="?", help="file of their captions")
    parser.add_argument("--directory", type=Path, help="where it runs; default: runs/<name of the folder>")
    parser.add_argument(
        "--data",
        type=Path,
        default=start_of(PROJECT) / "data",
        help="folder of published weights; default: data/ of the checkout, or of the current folder if there is none",
    )
    parser.add_argument(
        "--dry-run", "-n", action="store_true", help="write the config and show what would run, without running it"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the config and run it; return the exit status of Snakemake.

    Raises ValueError if the photographs cannot be tried.
    """
    for path, there in ((arguments.folder, Path.is_dir), (arguments.captions, Path.is_file)):
        if path and not there(path):
            raise TryError(f"there is no {'folder' if there is Path.is_dir else 'file'} {path}")
    text, models = written_config(arguments.folder, arguments.captions, arguments.data.absolute())
    place = (arguments.directory or start_of(PROJECT) / "runs" / name_of(arguments.folder)).absolute()
    config = place / "config.yaml"
    passed = [*arguments.passed, *["--dry-run"] * arguments.dry_run]
    options = ["--configfile", str(config), "--directory", str(place), *passed]
    command = shlex.join([NAME if is_installed() else str(PROJECT / "lab"), "tables", *options])
    check_replaceable(config, text, command)
    with replacing(config) as partial:
        partial.write_text(text, encoding="utf-8")
    print(f"{models}\nThe config is {config}; this runs it:\n  {command}", flush=True)
    status = run_snakemake(["--cores", "all", *options])
    if not status and not any(map(_DRY.fullmatch, passed)):
        print(f"Open {place / paths.ANSWER}; tables are in {place / paths.TABLES}/")
    return status
