"""Delimited files as spreadsheets and programs write them, with commas, semicolons or tabs; the header tells which."""

import csv
import io
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

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
    header or is not valid CSV.
    """
    # For the module csv, a line may also end in a carriage return alone.
    parts = chain.from_iterable(io.StringIO(line, newline="") for line in lines)
    first = next(parts, "")
    headers = {mark: next(csv.reader([first], delimiter=mark), []) for mark in SEPARATORS}
    mark = max(headers, key=lambda mark: len({*columns} & {*headers[mark]}))
    return headers[mark], _rows(path, headers[mark], csv.reader(chain([first], parts), delimiter=mark, strict=True))


def _rows(path: str | Path, header: list[str], reader: Any) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Yield the rows of a file whose reader starts at the first line."""
    fields: list[str] | None = []
    while fields is not None:
        line = reader.line_num + 1  # a row is named by its first line
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise GivenError(f"{path}, line {line}: the row that begins here is no valid CSV: {error}") from error
        if fields and len(fields) > len(header):
            raise GivenError(
                f"{path}, line {line} has {len(fields)} fields, more than the {len(header)} of the header; put "
                f"texts that hold {reader.dialect.delimiter!r} in double quotes"
            )
        if fields and line > 1:
            yield f"{path}, line {line}", dict(zip_longest(header, fields))
