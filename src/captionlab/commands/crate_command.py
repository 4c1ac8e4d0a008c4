"""The command `captionlab crate`: describe a run as an RO-Crate."""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("folder", metavar="RUN", type=Path, help="folder of a finished run, which holds results/")
    parser.add_argument("--output", type=Path, help="folder, or file that ends in .zip (default: RUN-crate.zip)")
    parser.add_argument("--author", metavar="NAME", help="who ran it, with an ORCID address last if there is one")
    parser.add_argument("--licence", help="licence of the crate, an address or a text (default: none is stated)")
    parser.add_argument("--with-models", action="store_true", help="copy weights, tokenizers and model cards, too")


def run(arguments: argparse.Namespace) -> None:
    """Write the crate, and print what is inside."""
    from captionlab.records.crate import Notes, write_crate

    folder = arguments.folder.resolve()
    output = arguments.output or Path(f"{folder.name}-crate.zip")
    crate = write_crate(folder, output, Notes(arguments.licence, arguments.author), arguments.with_models)
    inside, named = (sum(files.values()) / 1e6 for files in (crate.copied, crate.named))
    print(
        f"{output}: {len(crate.contents.jobs)} jobs, {len(crate.copied)} files of the run inside ({inside:.1f} MB), "
        f"{len(crate.named)} named only ({named:.1f} MB)"
    )
