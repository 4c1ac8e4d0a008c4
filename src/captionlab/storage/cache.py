"""A cache, in the user's cache folder, of files that every run on a machine would fetch or compute alike.

The folder is `captionlab` in XDG_CACHE_HOME, or else in ~/.cache. It can be deleted at any time. An entry is named by
everything that it depends on, and it appears as a whole, so concurrent runs do not disturb each other.
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

from captionlab.storage.files import digest, replacing

logger = logging.getLogger(__name__)


def cache_folder() -> Path:
    """Return the cache folder. Raises RuntimeError if XDG_CACHE_HOME is not set and the user has no home folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "captionlab"


def once(key: Any, files: Sequence[str | os.PathLike[str]], make: Callable[[], None], link: bool = False) -> None:
    """Put files in their places: from the cache if they are kept under the key, else by `make`, and keep them.

    `key` is everything that the content of the files depends on, as JSON. The names of the files must differ. If `link`
    is set, the files are hard links to the kept files, where possible. Files that are damaged in the cache are made
    again, and files that cannot be kept are only made.
    """
    try:
        folder = _folder([key, [Path(file).name for file in files]])
    except RuntimeError as error:  # a user without a home folder, as in some pods
        logger.warning("Not kept for other runs: %s", error)
        make()
        return
    try:
        digests = json.loads((folder / "digests.json").read_text(encoding="utf-8"))
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
        shutil.rmtree(folder, ignore_errors=True)  # if it exists, it is damaged
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            for file in files:
                _place(Path(file), Path(temporary, "all", Path(file).name), link)
            digests = {Path(file).name: digest(Path(temporary, "all", Path(file).name)) for file in files}
            Path(temporary, "all", "digests.json").write_text(json.dumps(digests), encoding="utf-8")
            os.replace(Path(temporary, "all"), folder)
    except OSError as error:
        if not folder.exists():  # if it exists, another run was faster
            logger.warning("Not kept for other runs: %s", error)


def kept_parts(key: Any) -> list[Path]:
    """Return the files that `keep_part` kept under a key. They are complete, unless the disk was damaged later."""
    try:
        return sorted(path for path in _folder(key).iterdir() if not path.name.startswith("."))
    except (RuntimeError, OSError):  # no home folder, or nothing in the cache yet
        return []


def keep_part(key: Any, file: Path) -> None:
    """Keep a copy of a file under a key, beside the files that are there. If that fails, log a warning."""
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
        with suppress(OSError):  # the source is on another disk
            os.link(source, target)
            return
    shutil.copyfile(source, target)
