"""A stand-in for conda: it makes an environment as an empty folder, and runs in it what follows."""

from pathlib import Path

PROGRAM = """#!/bin/bash
echo "$@" >> {folder}/said
if [ "$1" = env ]; then
    [ -e {folder}/broken ] && { echo "no such package: $(cat "${@: -1}")"; exit 1; }
    mkdir "$5"
else
    [ -d "$4" ] && exec "${@:5}"
fi
"""


def write_conda(folder: Path) -> Path:
    """Write the program and return its folder; it notes arguments in `folder`/said, and fails by `folder`/broken."""
    program = folder / "bin" / "conda"
    program.parent.mkdir()
    program.write_text(PROGRAM.replace("{folder}", str(folder)))
    program.chmod(0o755)
    return program.parent
