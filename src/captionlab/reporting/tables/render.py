"""Data model of a table: columns in groups, blocks of rows, cells with a small second line, and footnotes.

The layout is for readers. Programs read `records`, with a row for each number in full precision.
captionlab.reporting.tables.formats writes tables to files.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from urllib.parse import urlencode

from captionlab.reporting.runs.links import printed_link

Value = str | int | float | bool | None

PAPER = "paper"  # heading of a column of published values
MISSING = "\N{EN DASH}"  # shown for a missing number; the cell's note says why
# Number of columns that fit on a page of text.
PANEL = 10
BEST = "Bold: the best value of its column in this run, captions by people aside."
# File formats of a paper's tables. Tables that belong to no paper need no LaTeX.
FORMATS = ("csv", "md", "tex", "html")


@dataclass(frozen=True)
class Link:
    """A text that links to an address, relative to the folder of all tables. The title says what is there."""

    text: str
    address: str
    title: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a text, a small second line, and an optional note that becomes a footnote.

    Only HTML uses `link` (the address that the text links to, relative to the folder of all tables), `links` (the links
    that follow each line of the text) and `place` (the name of the number's place, reporting.tables.cells, by which
    links find the cell).
    """

    text: str
    detail: str = ""
    note: str = ""
    link: str = ""
    value: float | None = field(default=None, compare=False)  # sort key; if it is None, the text is read
    best: bool = False  # whether it is the best of its column among comparable cells
    links: Sequence[Sequence[Link]] = ()
    place: str = ""


def interval_cell(ends: Sequence[float], form: str, mark: str = "", link: str = "") -> Cell:
    """Return a cell with a value and its interval below.

    `ends` are the value, the lower end and the upper end; `form` is a format specification; `mark` follows the value.
    """
    value, low, high = ends
    text, interval = f"{value:{form}}", f"[{low:{form}}, {high:{form}}]"
    return Cell(text + mark, interval, value=value, link=link and printed_link(link, f"{text} {interval}"))


def p_text(p_value: float) -> str:
    """Return a p-value as text with three decimals."""
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def p_cell(p_value: float | None) -> Cell:
    """Return the cell of a p-value in a column of p-values; nothing was tested if it is None."""
    if p_value is None:
        return Cell(MISSING)
    return Cell("< 0.001" if p_value < 0.001 else f"{p_value:.3f}", value=p_value)


@dataclass(frozen=True)
class Column:
    """A column: its heading, a small second line of the heading, its group, and whether it is aligned as numbers."""

    heading: str
    detail: str = ""
    group: str = ""
    numeric: bool = True

    @property
    def of_paper(self) -> bool:
        """True if the column has published values."""
        return self.heading == PAPER


@dataclass(frozen=True)
class Block:
    """Rows below a common heading. The first cell of a row is its heading. `image` is a PNG of the block's subject."""

    rows: Sequence[Sequence[Cell]]
    heading: str = ""
    image: bytes = b""


@dataclass(frozen=True)
class Table:
    """A table: `blocks` for readers, `records` for programs. `name` is the stem of its files.

    Raises ValueError if a row has another number of cells than the table has columns.
    """

    name: str
    title: str
    description: str
    columns: Sequence[Column]
    blocks: Sequence[Block]
    records: Sequence[Mapping[str, Value]]
    record_columns: Sequence[str]
    footnotes: Sequence[str] = field(default=())
    made: Sequence[str] = field(default=())  # sentences on how it was made, folded in HTML
    files: Sequence[str] = field(default=())  # its other formats, as endings, which HTML links
    figures: Mapping[str, str] = field(default_factory=dict)  # title -> address of figures with its numbers

    def __post_init__(self) -> None:
        width = len(self.columns)
        for row in (row for block in self.blocks for row in block.rows):
            if len(row) != width:
                raise ValueError(
                    f"{self.name}: the row {row[0].text!r} has {len(row)} cells, the table {width} columns"
                )

    def ids(self) -> dict[tuple[int, int, int], str]:
        """Return the id in HTML of each cell with a number, by the indices of its block, row and column.

        A cell has the name of its place; of cells with the same place, the first. Other cells are named by the heading
        of their block, their row and their column, so that an address stays the same when rows are added.
        """
        named: dict[str, tuple[int, int, int]] = {}
        for b, block in enumerate(self.blocks):
            for r, row in enumerate(block.rows):
                for c, (cell, column) in enumerate(zip(row, self.columns, strict=True)):
                    names = [cell.place, _cell_name(block, row[0], column) if c and column.numeric else ""]
                    if cell.text and (free := [name for name in names if name and name not in named]):
                        named[free[0]] = b, r, c
        return {indices: name for name, indices in named.items()}

    def places(self) -> dict[str, Cell]:
        """Return the cells of numbers by the names of their places. Of cells with the same place, the first counts."""
        cells = [cell for block in self.blocks for row in block.rows for cell in row if cell.place]
        return {cell.place: cell for cell in reversed(cells)}


def _cell_name(block: Block, head: Cell, column: Column) -> str:
    """Return a name of a cell that has no place, from what a reader sees around it."""
    row = " ".join(filter(None, (head.text, head.detail)))
    measure = " ".join(filter(None, (column.group, column.heading, column.detail)))
    return urlencode({"block": block.heading, "row": row, "column": measure})


def notes_of(table: Table) -> dict[str, str]:
    """Return the notes of the cells in reading order, each with its mark: a, b, ..., z, a2, b2, ..."""
    notes: dict[str, str] = {}
    for cell in (cell for block in table.blocks for row in block.rows for cell in row if cell.note):
        turn, letter = divmod(len(notes), 26)
        notes.setdefault(cell.note, chr(ord("a") + letter) + (str(turn + 1) if turn else ""))
    return notes


def groups_of(columns: Sequence[Column]) -> Iterator[tuple[int, str, int]]:
    """Yield (index of the first column, name, number of columns) for each run of columns of the same group."""
    start = 0
    for group, found in groupby(columns, key=lambda column: column.group):
        count = len(list(found))
        yield start, group, count
        start += count


def panels_of(table: Table) -> list[list[int]]:
    """Return the column indices of each panel.

    Pages do not scroll, so a wide table is cut between groups, and its leading columns without a group are repeated.
    """
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
    """Return the notes below a table, other than the notes of its cells and how it was made."""
    marked = any(cell.best for block in table.blocks for row in block.rows for cell in row)
    return [*table.footnotes, *([BEST] if marked else [])]
