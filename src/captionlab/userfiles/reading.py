"""Files that users provide: whether they exist, their encodings, and messages for files that cannot be read."""

import codecs
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from captionlab.jobs.failures import locked

_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# First bytes of compressed files, with the program that unpacks them.
_COMPRESSED = {
    b"\x1f\x8b": "gunzip",
    b"PK\x03\x04": "unzip",
    b"1AY&SY": "bunzip2",  # behind BZh and a digit
    b"\xfd7zXZ\x00": "unxz",
    b"\x28\xb5\x2f\xfd": "unzstd",
}
# A name in braces, which stands for any text in a path of Snakemake.
_WILDCARD = re.compile(r"\{\s*\w[^{}]*\}")


class GivenError(ValueError):
    """A file that a user provides is not valid text or JSON. The message names file and line, and says what to do."""


def absent(path: Path, kind: str) -> str:
    """Return what is wrong with a path that should be a `file`, a `folder` or a `file or folder`; else ""."""
    try:
        there = path.exists()
    except PermissionError:
        return locked(path)
    if not there:
        return f"no such {kind} {path}"
    found = "folder" if path.is_dir() else "file"
    return unusual(path) if found in kind else f"{path} is a {found}, and a {kind} is wanted"


def unusual(path: Path) -> str:
    """Return what is wrong with a path of which a part is in braces, so that no rule can read it; else ""."""
    if not (braces := _WILDCARD.search(str(path))):
        return ""
    return f"{path} has {braces[0]} in its name, which Snakemake takes for a wildcard; rename it without braces"


def check_unpacked(path: str | os.PathLike[str]) -> None:
    """Raise a GivenError, which names the program to unpack it, if a file is compressed."""
    with open(path, "rb") as file:
        head = file.read(10)
    head = head[4:] if head.startswith(b"BZh") else head
    for mark, program in _COMPRESSED.items():
        if head.startswith(mark):
            raise GivenError(f"{path} is compressed; unpack it, with {program} for example, and name the unpacked file")


def text_lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a text file without line ends, each after its position for messages.

    The file is read line by line. The text is in UTF-8, or in UTF-16 with a byte order mark. A byte order mark at the
    start is not part of the text. Raises GivenError, which names the first line that cannot be decoded.
    """
    yield from ((where, line.rstrip("\r\n")) for where, line in _decoded(path))


def whole_lines(path: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the lines of a text file with their line ends. Encodings and errors are as for `text_lines`."""
    yield from (line for _, line in _decoded(path))


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a file with its line ends. Encodings and errors are as for `text_lines`."""
    return "".join(whole_lines(path))


def read_json(path: str | os.PathLike[str], without: Sequence[str] = (), several: str = "") -> Any:
    """Return the document in a JSON file, without the fields in `without`, which can be most of a file.

    Raises GivenError, which names line and column, if the file is not valid JSON. `several` is advice for a file with
    more than one document.
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
    """Return the document in a line of a JSON-lines file. Raises GivenError, which begins with the position `where`."""
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        what = _said(error, "each line must be a whole document")
        raise GivenError(f"{where}, column {error.colno}: {what}") from error


def _decoded(path: str | os.PathLike[str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a file with their line ends and positions."""
    check_unpacked(path)
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
    """Return what is wrong with JSON text; if the text ends too early, followed by the sentence `cut_off`."""
    rest = error.doc[error.pos :].strip()
    ends = not rest or error.msg.startswith("Unterminated string")
    return f"not valid JSON: {error.msg}{f'; {cut_off}' if ends else f', found {rest[:20]!r}'}"
