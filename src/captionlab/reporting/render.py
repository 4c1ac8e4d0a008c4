"""A table to read: columns in groups, blocks of rows, cells with a small second line, footnotes.

The layout is for people. For programs there are `records`, one row for each number, in full precision. What a table
looks like in a file is said in captionlab.reporting.formats.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

Value = str | int | float | bool | None

PAPER = "paper"  # the heading of a column of what a paper prints
MISSING = "\N{EN DASH}"  # shown where a number is missing; a note on the cell says why
# Columns that fit on a page of text.
PANEL = 10
BEST = "Bold: the best value of its column in this run, captions by people aside."
# Of the tables of papers; a table that no paper has needs no LaTeX.
FORMATS = ("csv", "md", "tex", "html")


@dataclass(frozen=True)
class Link:
    """A text that leads to an address, from the folder of all tables; the title says what is there."""

    text: str
    address: str
    title: str


@dataclass(frozen=True)
class Cell:
    """What stands in one place: a text, a small second line, and perhaps a note that becomes a footnote.

    In HTML only: `link` is where the text leads, from the folder of all tables, `links` has what follows each line of
    the text, and `place` is the name of the number's place (captionlab.reporting.cells), by which a link finds it.
    """

    text: str
    detail: str = ""
    note: str = ""
    link: str = ""
    value: float | None = field(default=None, compare=False)  # the number that it is sorted by, else the text is read
    best: bool = False  # of its column, among those that can be compared
    links: Sequence[Sequence[Link]] = ()
    place: str = ""


def interval_cell(ends: Sequence[float], form: str, mark: str = "", link: str = "") -> Cell:
    """A value with its interval below it, from the value and the two ends; the mark follows the value."""
    value, low, high = ends
    return Cell(f"{value:{form}}{mark}", f"[{low:{form}}, {high:{form}}]", value=value, link=link)


def p_text(p_value: float) -> str:
    """A p-value with three decimals."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


@dataclass(frozen=True)
class Column:
    """A column: its heading, a small second line of it, the group that it stands in, and how it is aligned."""

    heading: str
    detail: str = ""
    group: str = ""
    numeric: bool = True

    @property
    def of_paper(self) -> bool:
        """Whether it has what a paper prints."""
        return self.heading == PAPER


@dataclass(frozen=True)
class Block:
    """Rows below a common heading; the first cell of a row is its heading. `image` is a PNG of what they are about."""

    rows: Sequence[Sequence[Cell]]
    heading: str = ""
    image: bytes = b""


@dataclass(frozen=True)
class Table:
    """A table to read: `blocks` for people, `records` for programs. `name` is the stem of its files."""

    name: str
    title: str
    description: str
    columns: Sequence[Column]
    blocks: Sequence[Block]
    records: Sequence[Mapping[str, Value]]
    record_columns: Sequence[str]
    footnotes: Sequence[str] = field(default=())
    made: Sequence[str] = field(default=())  # sentences on how it was made, which a page folds

    def __post_init__(self) -> None:
        width = len(self.columns)
        for row in (row for block in self.blocks for row in block.rows):
            if len(row) != width:
                raise ValueError(
                    f"{self.name}: the row {row[0].text!r} has {len(row)} cells, the table {width} columns"
                )

    def places(self) -> dict[str, Cell]:
        """The cells of numbers by the names of their places; of two of the same place the first."""
        cells = [cell for block in self.blocks for row in block.rows for cell in row if cell.place]
        return {cell.place: cell for cell in reversed(cells)}


def notes_of(table: Table) -> dict[str, str]:
    """The notes of the cells in reading order, each with its mark: a, b, ..., z, a2, b2, ..."""
    notes: dict[str, str] = {}
    for cell in (cell for block in table.blocks for row in block.rows for cell in row if cell.note):
        turn, letter = divmod(len(notes), 26)
        notes.setdefault(cell.note, chr(ord("a") + letter) + (str(turn + 1) if turn else ""))
    return notes


def groups_of(columns: Sequence[Column]) -> Iterator[tuple[int, str, int]]:
    """Neighbouring columns of the same group: the first of them, the group's name and how many they are."""
    start = 0
    for group, found in groupby(columns, key=lambda column: column.group):
        count = len(list(found))
        yield start, group, count
        start += count


def panels_of(table: Table) -> list[list[int]]:
    """Columns of each panel: pages do not scroll, so a wide table is cut between groups and its head is repeated."""
    head: list[int] = []
    panels: list[list[int]] = []
    for start, group, count in groups_of(table.columns):
        columns = list(range(start, start + count))
        if not group and not panels:
            head = columns
        elif panels and len(panels[-1]) + count <= PANEL:
            panels[-1] += columns
        else:
            panels.append(head + columns)
    return panels or [head]


def remarks_of(table: Table) -> list[str]:
    """What stands below a table beside the notes of its cells and how it was made."""
    marked = any(cell.best for block in table.blocks for row in block.rows for cell in row)
    return [*table.footnotes, *([BEST] if marked else [])]
