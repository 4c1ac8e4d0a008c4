"""Delimited files as spreadsheets and programs write them, with commas, semicolons or tabs; the header tells which."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from captionlab.userfiles.reading import GivenError

# Characters that may separate the columns.
SEPARATORS = ",;\t"
# Values by which a line of a text differs from a row: numbers, and names of files with their endings.
_FORMS = (re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?|nan", re.IGNORECASE), re.compile(r".*\w\.[a-z]\w{1,4}", re.IGNORECASE))


def delimited(
    path: str | Path, lines: Iterable[str], columns: Collection[str]
) -> tuple[list[str], Iterator[tuple[str, dict[str, str | None]]]]:
    """Return the column names in the header of a file, and each row as a dict with its position for messages.

    `lines` are the lines of the file with their line ends; a row may span several lines. The separator is the character
    by which the header has most of `columns`; the caller checks whether it has enough. Fields that a row lacks at its
    end are None. Iterating over the rows raises GivenError, which names the row, if a row has more fields than the
    header or is not valid CSV, or if a quote makes one field of several lines that could all be rows.

    A quote that somebody forgot to close swallows the next rows up to the next quote, and the result is valid CSV. So a
    field of several lines is read only if something tells that its lines are no rows: their number of fields, a space
    behind a separator, line breaks unlike the break at the end of the row, quotes inside that are written twice, or a
    line with a text where the row has a number or the name of a file. Otherwise such a field is an error, although its
    quotes may be correct: nothing in the file tells.
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
        if fields and len(lines) > 1 and _may_be_rows(lines, fields, mark, len(header)):
            raise GivenError(
                f"{where}: a quote that opens in this row closes {len(lines) - 1} lines below, and each of these "
                "lines could be a row; close the quote in this row, or take it out, or, if this is one text with line "
                "breaks, write it in one line"
            )
        if fields and reader.line_num > len(lines):
            yield where, dict(zip_longest(header, fields))


def _may_be_rows(lines: Sequence[str], fields: Sequence[str], mark: str, width: int) -> bool:
    """Return whether the lines of one row may be several rows, if quotes are taken as characters.

    `fields` are the fields of the one row, and `width` is the number of columns.
    """
    rows = [line.rstrip("\r\n").split(mark) for line in lines]
    *inner, last = (line[len(line.rstrip("\r\n")) :] for line in lines)
    if not all(max(len(fields), 2) <= len(row) <= width for row in rows):
        return False
    if any(field.startswith(" ") for row in rows for field in row[1:]):  # prose has a space behind a comma or semicolon
        return False
    # Spreadsheets and the module csv end rows by other line breaks than the lines of a text.
    if last and last not in inner:
        return False
    if re.search(r'\w""|""\w', "".join(lines)):
        return False
    return not _differ(rows, next(place for place, field in enumerate(fields) if re.search(r"[\r\n]", field)))


def _differ(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a column of rows, but for the column `place` of texts, has a text beside a number or file name.

    In front of `place` the value of the first row is certain, behind it the value of the last row. Rows that lack a
    value do not count.
    """
    for column in {*range(max(map(len, rows)))} - {place}:
        values = [row[column].strip('" ') for row in rows if column < len(row)]
        certain, *others = values if column < place else reversed(values)
        for form in _FORMS:
            if form.fullmatch(certain) and any(value and not form.fullmatch(value) for value in others):
                return True
    return False
