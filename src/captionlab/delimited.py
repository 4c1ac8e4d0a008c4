"""Delimited files as spreadsheets and programs write them, with commas, semicolons or tabs, of which a header tells."""

import csv
import io
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any

from captionlab.given import GivenError

# What may separate the columns.
SEPARATORS = ",;\t"


def delimited(
    path: str | Path, lines: Iterable[str], columns: Collection[str]
) -> tuple[list[str], Iterator[tuple[str, dict[str, str | None]]]]:
    """The names in the header of a file, and each row below it by these names, with its place for messages.

    `lines` are those of the file with their ends, of which one row may have several. The separator is the one by which
    the header has most of `columns`; whether that is enough is for the caller to say. Fields that a row lacks at its
    end are None. A GivenError names a row with more fields than the header, and one that is no valid CSV.
    """
    # A line as csv wants it may also end in a carriage return alone.
    parts = chain.from_iterable(io.StringIO(line, newline="") for line in lines)
    first = next(parts, "")
    headers = {mark: next(csv.reader([first], delimiter=mark), []) for mark in SEPARATORS}
    mark = max(headers, key=lambda mark: len({*columns} & {*headers[mark]}))
    return headers[mark], _rows(path, headers[mark], csv.reader(chain([first], parts), delimiter=mark, strict=True))


def _rows(path: str | Path, header: list[str], reader: Any) -> Iterator[tuple[str, dict[str, str | None]]]:
    """The rows of a file whose lines are read from the first one on."""
    fields: list[str] | None = []
    while fields is not None:
        line = reader.line_num + 1  # a row may have several; it is known by its first
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
