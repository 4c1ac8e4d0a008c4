"""Environments of others: a virtual environment by its folder, or one of conda by the file that describes it.

The scripts of rules run in captionlab's own environment, which knows the tables, and start a command in its own. So
Snakemake, which gives an environment to a whole job, cannot make it. It is made once for all runs on a machine.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from captionlab.cache import cache_folder
from captionlab.evaluation.processes import CommandError, run
from captionlab.files import digest

# Seconds that conda has to make an environment.
MAKING = 3600.0
# The file that every virtual environment has, and variables that would bring our own libraries into another one.
VENV, OWN = "pyvenv.cfg", ("PYTHONPATH", "PYTHONHOME")
# An environment that has this file was made to its end.
DONE = "captionlab-made"


def within(file: str | None, who: str) -> tuple[list[str], Mapping[str, str] | None]:
    """What to put before a command that is to run in an environment, and the variables of its process, if others.

    The environment is that of the file: the `pyvenv.cfg` of a virtual environment, or a description for conda, by which
    it is made if need be; without one it is that of this process. `who` wants it, for the CommandError where there
    is no conda, or it cannot make the environment.
    """
    if file is None:
        return [], None
    file = os.path.abspath(file)
    foreign = {name: value for name, value in os.environ.items() if name not in OWN}
    if os.path.basename(file) != VENV:
        return _made_by_conda(file, foreign, who), foreign
    folder = os.path.dirname(file)
    path = os.pathsep.join([os.path.join(folder, "bin"), os.environ.get("PATH", os.defpath)])
    return [], {**foreign, "PATH": path, "VIRTUAL_ENV": folder}


def _made_by_conda(file: str, variables: Mapping[str, str], who: str) -> list[str]:
    """What to put before a command that runs in the environment of this file."""
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
            shutil.rmtree(folder, ignore_errors=True)  # of a job that was killed
            making = [conda, "env", "create", "--quiet", "--prefix", str(folder), "--file", os.path.abspath(file)]
            run(making, folder.parent, MAKING, f"{who}: making the environment of {file}", variables)
            (folder / DONE).touch()
    return [conda, "run", "--no-capture-output", "--prefix", str(folder)]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time makes this folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
