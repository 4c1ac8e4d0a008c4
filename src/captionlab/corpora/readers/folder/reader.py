"""A folder of photographs, with or without captions."""

import hashlib
import logging
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import Entry, take, take_texts
from captionlab.corpora.readers.gathered import Gathered
from captionlab.corpora.readers.marks import MarkedCaptions
from captionlab.corpora.readers.passed_over import PassedOver
from captionlab.images.locations import ImageLocation
from captionlab.images.pixels import ENDINGS
from captionlab.userfiles.delimited import delimited
from captionlab.userfiles.ids import file_id
from captionlab.userfiles.reading import json_line, text_lines, whole_lines

logger = logging.getLogger(__name__)

# Largest difference between the sum of the shares of splits and 1.
ROUNDED = 1e-6
_EXPECTED = "`file` and `caption`, and `split` if you like"


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the photographs of a folder and its subfolders, or the photographs that a file of captions names.

    An image is known by its path below the folder, without extension. Rows of the captions file about one file are
    captions of one image, and images keep the order of their first rows. Hidden files and folders and links to folders
    are ignored, files that do not end like images are counted in the log. Raises CorpusError if the shares of splits do
    not add up to 1, if a row, name or split is not usable, or if a folder has other files only.
    """
    folder, shares = root / config["images"], config.get("splits")
    if isinstance(shares, Mapping) and abs(sum(shares.values()) - 1) > ROUNDED:
        raise CorpusError(f"splits are shares of the images of {folder}, and add up to {sum(shares.values()):g}, not 1")
    if config.get("captions") is None:
        for name in _photographs(folder):
            yield _entry(folder, name, "", None, shares)
        return
    gathered, marked, path = Gathered[str | None](), MarkedCaptions(), root / config["captions"]
    for position, (where, row) in enumerate(_rows(path)):
        name, split = _file_and_split(row, where)
        if split and shares == "folders":
            raise CorpusError(
                f"{where}: the split is {split!r}, and with `splits: folders` the folders in {folder} are the splits; "
                "take the column `split` out, or `splits` out of the config"
            )
        # A row may have no caption, but it adds its image to the corpus.
        captions: list[str | None] = [None] if marked.leave_out(row, where) else [*_captions(row, where)]
        first = gathered.add(position, name, captions, split)
        if split not in ("", first):
            raise CorpusError(
                f"{where}: the split of {name!r} is {split!r} here and {first!r} in its first row; rows of one image "
                "need one split"
            )
    for name, split, of_image in gathered.images():
        if (usable := marked.usable(of_image)) is not None:
            yield _entry(folder, name, split, usable, shares)
    marked.log(path)
    if unnamed := sum(name not in gathered for name in photographs(folder, "", PassedOver())):
        logger.info("%d photographs in %s are left out, as %s does not name them", unnamed, folder, path)


def _photographs(folder: Path) -> Iterator[str]:
    """Yield the paths of the images in a folder as `photographs` does, then log the count of other files.

    Raises CorpusError if there are other files and no image.
    """
    passed_over, is_empty = PassedOver(), True
    for name in photographs(folder, "", passed_over):
        is_empty = False
        yield name
    if is_empty and passed_over:
        raise CorpusError(
            f"{folder} has no file that ends like an image, only {passed_over}; convert pictures to .jpg or .png, or "
            "name another folder"
        )
    passed_over.log(folder)


def photographs(folder: Path, below: str, passed_over: PassedOver) -> Iterator[str]:
    """Yield the paths of the images in a folder and its subfolders, relative to `folder` and sorted by name.

    Files that do not end like images are added to `passed_over`. Only the names in one folder and its parents are in
    memory.
    """
    with os.scandir(folder / below) as found:
        inside = sorted((entry for entry in found if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in inside:
        name = os.path.join(below, entry.name)
        if entry.is_dir(follow_symlinks=False):
            yield from photographs(folder, name, passed_over)
        elif (ending := Path(name).suffix.lower()) in ENDINGS:
            yield name
        else:
            passed_over.add(ending)


def _file_and_split(row: Any, where: str) -> tuple[str, str]:
    """Return the normalized file name of a row (./a.jpg becomes a.jpg) and its split, "" if it has none."""
    name = os.path.normpath(take(row, "file", str, where, _EXPECTED))
    if not Path(name).name:
        raise CorpusError(f"{where}: 'file' is empty, or no file; write the name of an image, or take the row out")
    split = take({**row, "split": row.get("split") or ""}, "split", str, where, _EXPECTED)
    for key, text in (("file", name), ("split", split)):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise CorpusError(f"{where}: {key!r} is {text!r}, which holds half a character; correct it") from error
    return name, split


def _entry(folder: Path, name: str, split: str, captions: list[str] | None, shares: Any) -> Entry:
    image_id = file_id(name)
    try:
        image_id.encode()
    except UnicodeEncodeError as error:
        raise CorpusError(f"{str(folder / name)!r} has a name that is no UTF-8; rename it") from error
    if shares == "folders":
        if "/" not in name:
            raise CorpusError(
                f"{folder / name} lies in no folder of its own, and with `splits: folders` the folders in {folder} are "
                "the splits; put it into one of them"
            )
        split = name.partition("/")[0]
    elif shares and not split:
        split = _dealt(image_id, shares)
    return Entry(image_id, split or "test", ImageLocation(str(folder / name)), captions)


def _dealt(image_id: str, shares: Mapping[str, float]) -> str:
    """Return the split of an image by a hash of its id, so that adding other images does not change the split."""
    drawn = int.from_bytes(hashlib.blake2b(image_id.encode(), digest_size=8).digest()) / 2**64
    for split, share in shares.items():
        drawn -= share
        if drawn < 0:
            return split
    return [*shares][-1]


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a file of captions, each with its location for error messages."""
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from ((where, json_line(line, where)) for where, line in text_lines(path) if line.strip())
        return
    if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
        raise CorpusError(f"{path}: captions are read from .csv, .tsv, .txt and .jsonl files; they have {_EXPECTED}")
    header, rows = delimited(path, whole_lines(path), {"file", "caption", "split"})
    if missing := [name for name in ("file", "caption") if name not in header]:
        raise CorpusError(
            f"{path}, line 1: the header has no column {missing[0]!r}; write {_EXPECTED}, with commas, semicolons or "
            f"tabs between them; it is {','.join(header)[:80]!r}"
        )
    for where, row in rows:
        if row["caption"] is None:
            raise CorpusError(f"{where} ends before its caption; the columns are {', '.join(header)}")
        yield where, row


def _captions(row: Mapping[str, Any], where: str) -> list[str]:
    """Return the captions of a row; a missing caption becomes "", and its image may become a reject."""
    found = take({**row, "caption": row.get("caption") or ""}, "caption", (str, list), where, _EXPECTED)
    return take_texts(row, "caption", where, _EXPECTED) if isinstance(found, list) else [found]
