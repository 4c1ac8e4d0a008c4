"""Files that users give: whether they are there, the encodings of texts, and a sentence for what cannot be read."""

import codecs
import io
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from captionlab.failures import locked

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class GivenError(ValueError):
    """A file that a user gives is no text, or no JSON; the message says which file and line, and what to do."""


def absent(path: Path, kind: str) -> str:
    """What is wrong where a `file`, a `folder` or a `file or folder` is wanted; nothing where it is there."""
    try:
        there = path.exists()
    except PermissionError:
        return locked(path)
    if not there:
        return f"no such {kind} {path}"
    found = "folder" if path.is_dir() else "file"
    return "" if found in kind else f"{path} is a {found}, and a {kind} is wanted"


def text_lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Lines of a text file without their ends, each with its place for messages; one line is in memory at a time.

    The text is in UTF-8, or in UTF-16 with its mark; a mark at the start is none of the text. A GivenError names the
    first line that is not.
    """
    yield from ((where, line.rstrip("\r\n")) for where, line in _decoded(path))


def whole_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Lines of such a file with their ends as they are."""
    yield from (line for _, line in _decoded(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """The whole text of such a file, with the ends of its lines as they are."""
    return "".join(whole_lines(path))


def read_json(path: str | os.PathLike[str], without: Sequence[str] = (), several: str = "") -> Any:
    """The document in a JSON file, without the fields named: polygons and tokens are most of some files.

    A GivenError says in which line and column the file is no JSON; `several` is what to do where more documents follow.
    """

    def drop(record: dict[str, Any]) -> dict[str, Any]:
        for name in without:
            record.pop(name, None)
        return record

    text = read_text(path)
    try:
        return json.loads(text, object_hook=drop if without else None)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise GivenError(f"{path} is empty; a JSON document is expected") from error
        what = _said(error, "the file ends in the middle of the document, is it complete?")
        if error.msg == "Extra data":
            what = f"a second JSON document begins here, and the file must be one{several and f'; {several}'}"
        raise GivenError(f"{path}, line {error.lineno}, column {error.colno}: {what}") from error


def json_line(line: str, where: str) -> Any:
    """The document in a line of a file that has one in each line; a GivenError names the line, which is `where`."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        what = _said(error, "each line must be a whole document")
        raise GivenError(f"{where}, column {error.colno}: {what}") from error


def _decoded(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Lines with their ends and places."""
    with open(path, "rb") as file:
        wide = file.read(2) in _WIDE
        file.seek(0)
        lines: Iterable[str | bytes] = io.TextIOWrapper(file, "utf-16", newline="\n") if wide else file
        number = 0
        try:
            for number, line in enumerate(lines, 1):
                text = line.decode("utf-8-sig" if number == 1 else "utf-8") if isinstance(line, bytes) else line
                if number == 1 and "\0" in text:
                    raise GivenError(f"{path}, line 1: holds zero bytes, as UTF-16 without its mark; save it as UTF-8")
                yield f"{path}, line {number}", text
        except UnicodeDecodeError as error:
            what = f", line {number}: not UTF-8 text from byte {error.start} of the line on"
            raise GivenError(f"{path}{' is no UTF-16 text' if wide else what}; save the file as UTF-8") from error


def _said(error: json.JSONDecodeError, cut_off: str) -> str:
    """What is wrong with JSON; where it ends too early, with the sentence for that."""
    rest = error.doc[error.pos :].strip()
    ends = not rest or error.msg.startswith("Unterminated string")
    return f"not valid JSON: {error.msg}{f'; {cut_off}' if ends else f', found {rest[:20]!r}'}"
