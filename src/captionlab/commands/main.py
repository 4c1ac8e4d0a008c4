"""The program `captionlab`, which imports the module of the command that is asked for and nothing else."""

import argparse
import sys
from importlib import import_module

# Each command is a module of this package with `add_arguments(parser)` and `run(arguments)`.
COMMANDS = {
    "score": "score files of captions against references",
    "compare": "test the differences between files of captions",
    "tables": "make the tables of a config",
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
    parser = argparse.ArgumentParser(prog="captionlab", description="Train, score and compare image captioners.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if name in words[:1]:
            module = import_module(f"captionlab.commands.{name.replace('-', '_')}_command")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    parsed = parser.parse_args(words)
    try:
        parsed.run(parsed)
    except (ValueError, OSError) as mistake:
        print(f"captionlab {words[0]}: {mistake}", file=sys.stderr)
        return 1
    return 0
