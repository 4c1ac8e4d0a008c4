"""Delimited files as spreadsheets and programs write them, with commas, semicolons or tabs; the header tells which."""

import csv
import io
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path

from captionlab.userfiles.reading import GivenError

# Characters that may separate the columns.
SEPARATORS = ",;\t"


def delimited(
    path: str | Path, lines: Iterable[str], columns: Collection[str]
) -> tuple[list[str], Iterator[tuple[str, dict[str, str | None]]]]:
    """Return the column names in the header of a file, and each row as a dict with its position for messages.

    `lines` are the lines of the file with their line ends; a row may span several lines. The separator is the character
    by which the header has most of `columns`; the caller checks whether it has enough. Fields that a row lacks at its
    end are None. Iterating over the rows raises GivenError, which names the row, if a row has more fields than the
    header or is not valid CSV, or if a quote makes one field of several lines that could all be rows.
    """
    # For the module csv, a line may also end in a carriage return alone.
    parts = chain.from_iterable(io.StringIO(line, newline="") for line in lines)
    first = next(parts, "")
    headers = {mark: next(csv.reader([first], delimiter=mark), []) for mark in SEPARATORS}
    mark = max(headers, key=lambda mark: len({*columns} & {*headers[mark]}))
    return headers[mark], _rows(path, headers[mark], mark, chain([first], parts))


def _rows(
    path: str | Path, header: list[str], mark: str, parts: Iterable[str]
) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the rows of a file from its lines, of which the first is the header."""
    lines: list[str] = []  # of the row that is being read

    def noted() -> Iterator[str]:
        for part in parts:
            lines.append(part)
            yield part

    reader = csv.reader(noted(), delimiter=mark, strict=True)
    fields: list[str] | None = []
    while fields is not None:
        where = f"{path}, line {reader.line_num + 1}"  # a row is named by its first line
        lines.clear()
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise GivenError(
                f"{where}: the row that begins here is no valid CSV: {error}; a field that begins with a quote must "
                "end with a quote, and quotes inside it are written twice"
            ) from error
        if fields and len(fields) > len(header):
            raise GivenError(
                f"{where} has {len(fields)} fields, more than the {len(header)} of the header; put texts that hold "
                f"{mark!r} in double quotes"
            )
        if fields and len(lines) > 1 and _are_rows(lines, mark, len(fields), len(header)):
            raise GivenError(
                f"{where}: a quote that opens in this row closes {len(lines) - 1} lines below, and each of these "
                "lines could be a row; close the quote in this row, or take it out"
            )
        if fields and reader.line_num > len(lines):
            yield where, dict(zip_longest(header, fields))


def _are_rows(lines: Iterable[str], mark: str, least: int, most: int) -> bool:
    """Return whether each line has `least` to `most` fields, two at least, if quotes are taken as characters.

    In prose, a space follows a comma or semicolon. Such lines are no rows.
    """
    fields = [line.rstrip("\r\n").split(mark) for line in lines]
    prose = any(field.startswith(" ") for line in fields for field in line[1:])
    return not prose and all(max(least, 2) <= len(line) <= most for line in fields)
