"""Environments of external commands: virtual environments, or conda environments made from a description file.

The scripts of rules run in captionlab's own environment, which can read the tables, and start an external command in
another environment. Snakemake assigns environments to whole jobs, so it cannot make the environment of a command. Each
conda environment is made once per machine and shared by all runs.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from captionlab.evaluation.processes import CommandError, run
from captionlab.storage.cache import cache_folder
from captionlab.storage.files import digest

# Time limit, in seconds, for conda to make an environment.
MAKING = 3600.0
# The file that every virtual environment has.
VENV = "pyvenv.cfg"
# This file marks a complete environment.
DONE = "captionlab-made"


def within(file: str | None, who: str) -> tuple[list[str], Mapping[str, str]]:
    """Return the prefix of a command that runs in an environment, and variables to add to the environment of programs.

    `file` is the `pyvenv.cfg` of a virtual environment, or the description of a conda environment, which is made if it
    does not exist. If `file` is None, the command runs with the programs of this process. `who` names the user of the
    environment in messages. Raises CommandError if there is no conda, or if conda cannot make the environment.
    """
    if file is None:
        return [], {}
    file = os.path.abspath(file)
    if os.path.basename(file) != VENV:
        return _made_by_conda(file, who), {}
    folder = os.path.dirname(file)
    path = os.pathsep.join([os.path.join(folder, "bin"), os.environ.get("PATH", os.defpath)])
    return [], {"PATH": path, "VIRTUAL_ENV": folder}


def _made_by_conda(file: str, who: str) -> list[str]:
    """Make the conda environment of a description file if needed; return the prefix of a command that runs in it."""
    conda = shutil.which("conda")
    if conda is None:
        raise CommandError(
            f"{who} wants the environment of {file}, and there is no `conda` on PATH; install it, or make a virtual "
            "environment and name its folder by `venv` in place of `conda`"
        )
    try:
        folder = cache_folder() / "environments" / digest(file)
    except RuntimeError as error:
        raise CommandError(
            f"{who} wants the environment of {file}, and this user has no home folder to keep it in; set "
            "XDG_CACHE_HOME to a folder that may be written"
        ) from error
    with _locked(folder):
        if not (folder / DONE).is_file():
            shutil.rmtree(folder, ignore_errors=True)  # a killed job may have left an incomplete environment
            making = [conda, "env", "create", "--quiet", "--prefix", str(folder), "--file", os.path.abspath(file)]
            run(making, folder.parent, MAKING, f"{who}: making the environment of {file}")
            (folder / DONE).touch()
    return [conda, "run", "--no-capture-output", "--prefix", str(folder)]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock for this folder, so that only one process at a time makes it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
