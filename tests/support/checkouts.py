"""Copies of the checkout, as somebody else gets it."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_checkout(folder: Path) -> Path:
    """Copy into a new folder what git has or would take of the checkout, as it is now, and return that folder."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():  # one that was deleted is still listed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def make_repository(folder: Path, tag: str) -> Path:
    """A repository of that copy, with one commit that has this tag."""
    copy_checkout(folder)
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    for command in (
        ["init", "--quiet"],
        ["add", "."],
        [*identity, "commit", "--quiet", "-m", "A release"],
        ["tag", tag],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
    return folder
