"""What every run on a machine would fetch or compute alike is kept for the next one, below the user's cache folder.

That is `captionlab` in XDG_CACHE_HOME, or else in ~/.cache; it can be deleted at any time. What is kept is named by all
that it depends on and is put there as a whole, so runs at the same time do not disturb each other.
"""

import hashlib
import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from captionlab.files import digest, replacing

logger = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Where it is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "captionlab"


def once(key: Any, files: Sequence[str | os.PathLike[str]], make: Callable[[], None], link: bool = False) -> None:
    """Put files where they belong: those kept under the key, or those that `make` puts there, which are kept then.

    `key` is all that their content depends on, as JSON can have it, and their names differ. With `link` they and those
    that are kept are the same on disk. What was damaged since, or cannot be kept, is made as if there were no cache.
    """
    try:
        folder = _folder([key, [Path(file).name for file in files]])
    except RuntimeError as error:  # a user without a home, as in some pods
        logger.warning("Not kept for other runs: %s", error)
        make()
        return
    try:
        digests = json.loads((folder / "digests.json").read_text())
        kept = all(digest(folder / Path(file).name) == digests[Path(file).name] for file in files)
    except (OSError, ValueError, KeyError):
        kept = False
    if kept:
        for file in files:
            with replacing(file) as partial:
                _place(folder / Path(file).name, partial, link)
        logger.info("Taken from %s, where an earlier run left it.", folder)
        return
    make()
    try:
        shutil.rmtree(folder, ignore_errors=True)  # damaged, if it is there
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            for file in files:
                _place(Path(file), Path(temporary, "all", Path(file).name), link)
            digests = {Path(file).name: digest(Path(temporary, "all", Path(file).name)) for file in files}
            Path(temporary, "all", "digests.json").write_text(json.dumps(digests))
            os.replace(Path(temporary, "all"), folder)
    except OSError as error:
        if not folder.exists():  # else another run was first
            logger.warning("Not kept for other runs: %s", error)


def kept_parts(key: Any) -> list[Path]:
    """The files that `keep_part` kept under a key; each is whole, though a disk may have damaged it since."""
    try:
        return sorted(path for path in _folder(key).iterdir() if not path.name.startswith("."))
    except (RuntimeError, OSError):  # no home, or nothing kept yet
        return []


def keep_part(key: Any, file: Path) -> None:
    """Keep a copy of a file under a key, beside those that are there; without an error where that cannot be."""
    try:
        with replacing(_folder(key) / f"{digest(file)}{file.suffix}") as partial:
            _place(file, partial, link=False)
    except (RuntimeError, OSError) as error:
        logger.warning("Not kept for other runs: %s", error)


def _folder(key: Any) -> Path:
    text = json.dumps(key, sort_keys=True)
    return cache_folder() / hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _place(source: Path, target: Path, link: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if link:
        with suppress(OSError):  # another disk
            os.link(source, target)
            return
    shutil.copyfile(source, target)
