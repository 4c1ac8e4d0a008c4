"""The program `captionlab`, which imports the module of the command that is asked for and nothing else."""

import argparse
import sys
from importlib import import_module
from typing import Any

from captionlab.jobs.failures import explanation

# Each command is a module of this package with `add_arguments(parser)` and `run(arguments)`, which may return an exit
# status. A module with a function `parted(words)` parses only the first of the two lists that it returns; the second
# one is `passed` of the arguments.
COMMANDS = {
    "score": "score files of captions against references",
    "compare": "test the differences between files of captions",
    "compare-runs": "show finished runs side by side, as a static site",
    "tables": "make the tables of a config",
    "number": "compute a number of a run again",
    "status": "show what a config has made and what would run",
    "try": "make tables of a folder of photographs",
    "data": "show and fetch the data that a config lacks",
    "export": "write the captions of a run as COCO results",
    "new": "start a plug-in from a template",
    "crate": "describe a run as an RO-Crate",
    "push": "send a captioner or captions of a run to the hub",
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status: 0, or 1 for wrong input, whose message is printed."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        parsed = _parsed(words)
        return parsed.run(parsed) or 0
    except (ValueError, OSError) as mistake:
        print(f"captionlab {words[0]}: {mistake}", file=sys.stderr)
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package in ("", "captionlab"):
            raise
        print(f"captionlab {words[0]}: {package} is not installed; pip install 'captionlab[workflow]'", file=sys.stderr)
    except RuntimeError as failure:  # of a program or a model, as by Java
        if not (sentence := explanation(failure, None)):
            raise
        print(f"captionlab {words[0]}: {sentence}", file=sys.stderr)
    return 1


class _Version(argparse.Action):
    """Prints the version and ends the program."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from captionlab.installation import version

        print(f"captionlab {version()}")
        parser.exit()


def _parsed(words: list[str]) -> argparse.Namespace:
    """Return the arguments of the command that the words ask for, and its function `run`."""
    parser = argparse.ArgumentParser(prog="captionlab", description="Train, score and compare image captioners.")
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    own, passed = words, list[str]()
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in words[:1]:
            module = import_module(f"captionlab.commands.{name.replace('-', '_')}_command")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
            if hasattr(module, "parted"):
                read, passed = module.parted(words[1:])
                own = [name, *read]
    parsed = parser.parse_args(own)
    parsed.passed = passed
    return parsed
