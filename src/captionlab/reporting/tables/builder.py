"""Builder of tables with subjects as rows and measures as columns.

A row and a column each fill some fields of `Coordinates`, and each has the label that the paper uses for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.reporting.runs.values import Coordinates
from captionlab.reporting.tables.best import with_best
from captionlab.reporting.tables.render import MISSING, PAPER, Block, Cell, Column
from captionlab.reporting.tables.sheets import Sheet


@dataclass(frozen=True)
class Line:
    """A row of a table: its first cells, the fields of the place that it fills, and the paper's label, if any."""

    heads: Sequence[str]
    place: Mapping[str, Any]
    printed: str | None = None
    of_people: bool = False  # human captions, which are never marked as best


@dataclass(frozen=True)
class Number:
    """A measured number of each row, with its columns."""

    place: Mapping[str, Any]  # fields that it fills; they override the fields of the row
    group: str = ""
    heading: str = "this run"
    detail: str = ""
    printed: str | None = None  # the paper's label for the published number beside it
    images: bool = False  # whether a column shows the number of images
    against: str | None = None  # the subject that is subtracted; the subject's own cell stays empty
    decimals: int | None = None
    sign: str = "+"  # format sign of a difference: "+" shows the sign of positive values
    mark: Callable[[Coordinates], str] = lambda place: ""  # text that follows the number


def columns_of(heads: Sequence[str], numbers: Sequence[Number]) -> list[Column]:
    """Return the columns of a table: the headings of the first cells, then the columns of all numbers."""
    columns = [Column(head, numeric=False) for head in heads]
    for number in numbers:
        columns.append(Column(number.heading, number.detail, number.group))
        if number.printed is not None:
            columns.append(Column(PAPER, group=number.group))
        if number.images:
            columns.append(Column("images", group=number.group))
    return columns


def rows_of(
    sheet: Sheet, table: str | None, column: str, corpus: str, lines: Sequence[Line], numbers: Sequence[Number]
) -> list[list[Cell]]:
    """Return a row of cells for each line.

    The paper's numbers are taken from `column` of `table`; None for no table. If the lines differ only in their
    subject, the best value of each metric is marked.
    """
    rows = [list(map(Cell, line.heads)) for line in lines]
    rivals = len({tuple(sorted({**line.place, "subject": ""}.items())) for line in lines}) == 1
    aside = {index for index, line in enumerate(lines) if line.of_people}
    for number in numbers:
        start = len(rows[0]) if rows else 0
        for row, line in zip(rows, lines, strict=True):
            row += _cells(sheet, table, column, corpus, line, number)
        if rivals and number.against is None:
            rows = with_best(rows, start, number.place.get("measure"), aside)
    return rows


def blocks_of(sheet: Sheet, table: str | None, lines: Sequence[Line], numbers: Sequence[Number]) -> list[Block]:
    """Return a block of rows for each corpus of the paper."""
    return [
        Block(rows_of(sheet, table, label, corpus, lines, numbers), sheet.heading(label))
        for label, corpus in sheet.run.corpora.items()
    ]


def _cells(sheet: Sheet, table: str | None, column: str, corpus: str, line: Line, number: Number) -> list[Cell]:
    place = Coordinates(**{"corpus": corpus, **line.place, **number.place})
    if number.against is not None:
        if place.subject == number.against:
            return [Cell("")]
        return [sheet.difference(place, number.against, number.decimals, number.mark(place), number.sign)]
    theirs = None
    if table is not None and line.printed is not None and number.printed is not None:
        theirs = sheet.run.published.find(table, line.printed, column, number.printed)
    labels = {"paper_row": line.printed, "paper_column": column}
    cells = sheet.value(place, theirs, number.decimals, number.mark(place), **labels)
    value = sheet.run.value(place)
    images = [Cell(str(value.n) if value else MISSING)] if number.images else []
    return [*cells[: 1 if number.printed is None else 2], *images]
