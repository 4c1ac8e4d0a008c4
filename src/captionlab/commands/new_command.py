"""The command `captionlab new`: a plug-in that works, as a start for one's own."""

import argparse
import json
import keyword
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from captionlab import plugins
from captionlab.installation import PROJECT
from captionlab.storage.paths import RESOURCES

TEMPLATES = RESOURCES / "templates"
README = "NAME.md"
# The package of plug-ins by the kind that is asked for.
KINDS = {
    "captioner": "captioners",
    "reader": "corpora.readers",
    "reward": "training.rewards",
    "objective": "training.objectives",
    "metric": "evaluation.metrics",
    "paper": plugins.PAPERS,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("name", metavar="NAME", help="name of the plug-in in a config, such as my-reward")
    parser.add_argument("--folder", default=".", help="folder that gets the files; the current folder by default")


def run(arguments: argparse.Namespace) -> None:
    """Write the files and print their paths."""
    for path in write_plugin(arguments.kind, arguments.name, Path(arguments.folder)):
        print(path)


def write_plugin(kind: str, name: str, folder: Path) -> list[Path]:
    """Write a plug-in with a test, a config and a page of commands into a folder, and return the files.

    Raises ValueError if the name cannot be a name of a plug-in, or if a file is there already.
    """
    _check(kind, name)
    module = name.replace("-", "_")
    words = {
        "DATA_FOLDER": json.dumps(str(folder.resolve())),
        "SNAKEFILE": str(PROJECT / "Snakefile"),
        "PLUGIN": f"`mine/{KINDS[kind].replace('.', '/')}/{module}/`",
        "MODULE": module,
        "KIND": kind,
        "NAME": name,
    }
    sources = {path.relative_to(TEMPLATES / kind): path for path in (TEMPLATES / kind).rglob("*") if path.is_file()}
    sources = {path: source for path, source in sources.items() if "__pycache__" not in path.parts}
    sources[Path(README)] = TEMPLATES / README
    files = {folder / _filled(str(path), words): source for path, source in sorted(sources.items())}
    if there := [file for file in files if file.exists()]:
        raise ValueError(f"{there[0]} is there already; choose another name or --folder")
    for file, source in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_filled(source.read_text(encoding="utf-8"), words), encoding="utf-8")
    return [*files]


def _check(kind: str, name: str) -> None:
    """Raise ValueError if the name cannot be a name of a plug-in of a kind."""
    pattern, signs = ("[a-z][a-z0-9]*", "digits") if kind == "paper" else ("[a-z][a-z0-9-]*", "digits and hyphens")
    # YAML reads a bare `off` as false.
    if not re.fullmatch(pattern, name) or keyword.iskeyword(name) or yaml.safe_load(name) != name:
        raise ValueError(f"{name!r} is no name for a {kind}; write lower-case letters, {signs}, as in myown")
    taken = (*plugins.names(KINDS[kind]), *plugins.TAKEN.get(KINDS[kind], ()))
    if name in taken:
        raise ValueError(f"captionlab has a {kind} {name!r} already; choose another name")


def _filled(text: str, words: Mapping[str, str]) -> str:
    """Return a text with words in capital letters replaced."""
    for word, replacement in words.items():
        text = text.replace(word, replacement)
    return text
