"""Snakemake with the workflow of this installation, and the options that commands add to it."""

import sys
from collections.abc import Sequence
from pathlib import Path

from captionlab.installation import PROJECT

SNAKEFILE = ["--snakefile", str(PROJECT / "Snakefile")]
_CONFIG_FILES = ("--configfile", "--configfiles")


def snakemake_or_help(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part words into a question for help and options of Snakemake."""
    asked = [word for word in words if word in ("-h", "--help")]
    return asked[:1], [*words]


def run_snakemake(arguments: Sequence[str]) -> int:
    """Run Snakemake in this process and return its exit status.

    Raises ValueError if Snakemake could not start jobs: it does not quote the path of Python.
    """
    from snakemake.cli import main

    if " " in sys.executable:
        raise ValueError(f"Snakemake starts no jobs by {sys.executable}; install where no path has a blank")
    try:
        main([*SNAKEFILE, *arguments])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def check_configs(words: Sequence[str]) -> None:
    """Raise ValueError if a config file among options of Snakemake is missing or cannot be read.

    Snakemake would show a traceback, or would not say which file and line it is.
    """
    from captionlab.config.config_files import check_readable

    is_config = False
    for word in words:
        option, equals, value = word.partition("=")
        if word in _CONFIG_FILES:
            is_config = True
            continue
        if equals and option in _CONFIG_FILES:
            is_config, word = True, value
        elif word.startswith("-"):
            is_config = False
        if is_config and (not Path(word).exists() or Path(word).is_dir()):
            raise ValueError(
                f"there is no config file {word}; two dashes come before targets, "
                "as in --configfile mine.yaml -- results/tables/"
            )
        if is_config:
            check_readable(Path(word))


def without_limit(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Part words into options of Snakemake and a value of the config for the last `--limit N`, if there is one.

    Raises ValueError if N is missing.
    """
    options, limit, rest = list[str](), list[str](), [*words]
    while rest:
        word = rest.pop(0)
        if word == "--limit":
            if not rest:
                raise ValueError("--limit needs a number of images")
            limit = [f"limit={rest.pop(0)}"]
        elif word.startswith("--limit="):
            limit = [word.removeprefix("--")]
        elif word.startswith("--config="):
            options += word.split("=", 1)
        else:
            options.append(word)
    return options, limit


def with_limit(options: Sequence[str], limit: Sequence[str], before: Sequence[str]) -> list[str]:
    """Return options of Snakemake after others, and with a limit, which is a value of the config.

    Nothing that may be a target follows `--config`, and there is one `--config`: Snakemake knows the last one alone.
    """
    configs = [at for at, option in enumerate(options) if option in ("--config", "-C")]
    if limit and configs:
        return [*before, *options[: configs[-1] + 1], *limit, *options[configs[-1] + 1 :]]
    return [*(["--config", *limit] if limit else []), *before, *options]
