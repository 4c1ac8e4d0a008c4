"""A table as LaTeX, for \\input in a paper with one or two columns.

A float cannot break across pages, and longtable does not work on a page with two columns. So a wide table is cut into
panels of columns and a long table is cut between rows, with as many floats as pages need, but not more than PAGES. A
tabular that is still too wide is scaled down. A table of more pages has smaller letters, then fewer of the rows without
a value of this run, then only the first rows of each block.
"""

import math
import re
import textwrap
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, takewhile

from captionlab.reporting.tables.render import MISSING, Cell, Table, groups_of, notes_of, panels_of, remarks_of
from captionlab.reporting.tables.shortening import shortened
from captionlab.reporting.templates import template

# Lines that the rows of a tabular may take, and lines of a float in total. A page of an article has 43 at 10 pt.
ROWS, PAGE = 36.0, 47.0
# The same in small letters, of 7 pt, and the lines of a tabular that is scaled down to 85 % of a page.
SMALL_ROWS, SMALL_PAGE, SCALED = 44.0, 43.5, 36.5
PAGES = 2  # the most pages of a table
CONTINUED = 2.0  # lines of the heading of a page that continues a table
# Characters of \small per line: across the page, and in a column.
ACROSS, COLUMN = 76, 46
# Texts longer than this are broken into lines.
SHORT = 26
# Words longer than WORD may be broken after punctuation, and after PIECE letters.
WORD, PIECE = 14, 12
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "{}&%$#_"},
        # After the end of a row, LaTeX would read these as arguments.
        **{character: f"{{{character}}}" for character in "[]*"},
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
        "\N{EN DASH}": "--", "\N{MINUS SIGN}": "$-$", "\N{MULTIPLICATION SIGN}": r"$\times$",
        "≈": r"$\approx$", "≠": r"$\neq$", "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$", "↑": r"$\uparrow$",
        "↓": r"$\downarrow$", "→": r"$\rightarrow$", "✓": r"$\checkmark$", "○": r"$\circ$",
    }
)  # fmt: skip
# Characters that pdfLaTeX prints besides ASCII and the characters above. For others the code point is printed.
_KNOWN = re.compile(r"[\u00a1-\u00ac\u00ae-\u017f\u2013-\u2014\u2018-\u201d\u2026]")
# What stands for a text in letters that pdfLaTeX does not print, and the note that explains it.
LEFT_OUT = "[other script]"
OTHER_SCRIPTS = "{left_out}: a text in other letters than Latin, which is left out here; {name}.csv has it."
_NUMBERED = re.compile(r"(?P<where>[^:]+, (?:table|figure)s? [^:]+): (?P<what>.+)")


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints unchanged. Line breaks become spaces, and long words may be broken."""
    return " ".join(map(_word, text.split()))


def plain_latex(text: str) -> str:
    """Return text that LaTeX prints unchanged, without places where words may be broken. Line breaks become spaces."""
    return "".join(map(_character, " ".join(text.split())))


def printed_characters() -> tuple[dict[str, str], str]:
    """Return LaTeX by character, and a pattern of the other characters beyond ASCII that pdfLaTeX prints."""
    return {chr(code): written for code, written in _LATEX.items()}, _KNOWN.pattern


def _cell(text: str) -> str:
    """Return the text of a cell as LaTeX. A text of hundreds of words is shortened, so that a page can hold it."""
    return escape_latex(" ".join(shortened(text.split())))


def pictures_of(table: Table) -> dict[str, bytes]:
    """Return the PNG pictures of a table by the names of their files in the folder PICTURES."""
    return {f"{table.name}-{place}.png": block.image for place, block in enumerate(table.blocks, 1) if block.image}


def latex(table: Table) -> str:
    """Return the floats of a table with booktabs rules. Comments name required packages and how it was made.

    A table that is longer than PAGES leaves out rows, and a note names the CSV that has them.
    """
    layout = _layout(table)
    return template("table.tex.jinja", tex=_cell, wrapped=_wrapped).render(
        table=layout.table,
        shape=layout.shape,
        caption=layout.caption,
        label=f"tab:{re.sub('[^A-Za-z0-9-]', '-', table.name)}",
        notes=notes_of(layout.table),
        pictures=pictures_of(layout.table),
        floats=layout.floats,
    )


def _layout(table: Table) -> "_Layout":
    """Return the most complete layout of at most PAGES."""
    for small in (False, True):
        layout = _Layout(table, small)
        if len(layout.floats) <= PAGES:
            return layout
    measured = _measured(table)
    limits = [*_limits(measured)]

    def shorter(limit: "_Limit") -> _Layout:
        return _Layout(_shortened(table, measured, limit), small=True)

    first = bisect_left(limits, True, key=lambda limit: len(shorter(limit).floats) <= PAGES)
    return shorter(limits[min(first, len(limits) - 1)])


def _measured(table: Table) -> list[list[bool]]:
    """Return whether each row of each block counts as a row with a value of this run.

    All rows count if none has a value, and in a table with pictures, whose names follow from the order of blocks.
    """
    found = [[_is_measured(table, row) for row in block.rows] for block in table.blocks]
    every = bool(pictures_of(table)) or not any(map(any, found))
    return [[every or one for one in rows] for rows in found]


def _is_measured(table: Table, row: Sequence[Cell]) -> bool:
    """Return whether a row has a text beside its headings that is not a published value."""
    headings = max(1, len([*takewhile(lambda column: not (column.numeric or column.group), table.columns)]))
    cells = zip(row[headings:], table.columns[headings:], strict=True)
    return any(cell.text not in ("", MISSING) for cell, column in cells if not column.of_paper)


def _printable(table: Table) -> Table:
    """Return a table without texts that are mostly in letters that pdfLaTeX does not print; a note says so."""
    blocks = [
        replace(
            block,
            heading=_if_printable(block.heading),
            rows=[
                [replace(cell, text=_if_printable(cell.text), detail=_if_printable(cell.detail)) for cell in row]
                for row in block.rows
            ],
        )
        for block in table.blocks
    ]
    if blocks == [*table.blocks]:
        return table
    note = OTHER_SCRIPTS.format(left_out=LEFT_OUT, name=table.name)
    return replace(table, blocks=blocks, footnotes=[*table.footnotes, note])


def _if_printable(text: str) -> str:
    letters = [character for character in text if character.isalpha()]
    others = 0 if text.isascii() else sum(not _is_known(letter) for letter in letters)
    return LEFT_OUT if others > len(letters) / 2 else text


def _is_known(character: str) -> bool:
    """Return whether pdfLaTeX prints a character."""
    return character.isascii() or ord(character) in _LATEX or _KNOWN.match(character) is not None


@dataclass(frozen=True)
class _Limit:
    """How many rows of each block may be printed, with and without a value of this run, and of how many blocks."""

    with_value: int
    without: int
    blocks: int


def _limits(measured: Sequence[Sequence[bool]]) -> Iterator[_Limit]:
    """Yield limits from all rows to a single row: rows without a value go first, then the last rows of each block."""
    with_value, blocks = max((sum(rows) for rows in measured), default=0), len(measured)
    without = max((len(rows) - sum(rows) for rows in measured), default=0)
    yield from (_Limit(with_value, number, blocks) for number in range(without, -1, -1))
    yield from (_Limit(number, 0, blocks) for number in range(with_value - 1, 0, -1))
    yield from (_Limit(1, 0, number) for number in range(blocks - 1, 0, -1))


def _shortened(table: Table, measured: Sequence[Sequence[bool]], limit: _Limit) -> Table:
    """Return a table with the rows of a limit, and with a note on the rows that are left out, if any are."""
    blocks, every = [], sum(len(block.rows) for block in table.blocks)
    for block, of_block in list(zip(table.blocks, measured, strict=True))[: limit.blocks]:
        left, rows = {True: limit.with_value, False: limit.without}, []
        for row, one in zip(block.rows, of_block, strict=True):
            if left[one]:
                left[one] -= 1
                rows.append(row)
        blocks += [replace(block, rows=rows)] if rows else []
    if (printed := sum(len(block.rows) for block in blocks)) == every:
        return table
    which = _which(limit, measured)
    note = f"Printed are {printed} of {every} rows, {which}; {table.name}.csv has all."
    return replace(table, blocks=blocks, footnotes=[*table.footnotes, note])


def _which(limit: _Limit, measured: Sequence[Sequence[bool]]) -> str:
    """Return which rows a limit prints, in words."""
    group = " of each group" if len(measured) > 1 else ""
    if limit.without:
        others = "other" if limit.without == 1 else f"{limit.without} others"
        return f"those with a value of this run and the first {others}{group}"
    of_run = "" if all(map(all, measured)) else " with a value of this run"
    if limit.blocks < len(measured):
        return f"the first of each of the first {limit.blocks} groups{of_run}"
    if limit.with_value >= max(map(sum, measured)):
        return f"those{of_run}"
    first = f"the first {limit.with_value}" if group and limit.with_value > 1 else "the first"
    return f"{first}{group}{of_run}"


class _Layout:
    """A table with its caption, its shape, and the parts that stand on each page.

    In small letters, more rows stand on a page, intervals stand beside their values, and each note stands on the first
    page that has room for it.
    """

    def __init__(self, table: Table, small: bool):
        self.table = table = _printable(table)
        self.shape = _Shape(table, small)
        numbered = _NUMBERED.fullmatch(table.title)
        title = numbered["what"][0].upper() + numbered["what"][1:] if numbered else table.title
        self.caption = f"{escape_latex(title)}. {escape_latex(table.description)}"
        notes = [rf"\textsuperscript{{{letter}}} {escape_latex(note)}" for note, letter in notes_of(table).items()]
        notes += map(escape_latex, remarks_of(table))
        notes += [f"As in {escape_latex(numbered['where'])}."] if numbered else []
        characters = self.shape.characters
        caption, tabulars = len(self.caption) / characters + 2, [*self.shape.tabulars()]
        parts = [_Note(note, small, characters) for note in notes]
        if small:
            self.floats = _floats(tabulars, parts, caption, SMALL_PAGE)
        else:
            self.floats = _floats([*tabulars, *parts], [], caption, PAGE)


@dataclass(frozen=True)
class _Note:
    """A note below a table, as LaTeX, in small letters or not, and how many characters of \\small a line has."""

    note: str
    small: bool
    characters: int

    @property
    def height(self) -> float:
        """The lines of the page that the note takes."""
        size = 0.75 if self.small else 1.0
        return 0.85 * size * math.ceil(size * len(self.note) / self.characters) + 0.1


@dataclass(frozen=True)
class _Row:
    """A row with the heading and the picture of its block, and how many lines it takes."""

    block: tuple[str, str]
    cells: Sequence[Cell]
    height: float


@dataclass(frozen=True)
class _Panel:
    """Columns that stand beside each other, by their indices, with their head.

    `widths` has the share of the line for each column of long texts. `groups` has the first column, the number of
    columns and the lines of the heading of each group, or nothing if no column has a group. `headings` has the lines
    of each column's heading, and the lines of its detail.
    """

    columns: Sequence[int]
    widths: Mapping[int, float]
    groups: Sequence[tuple[int, int, Sequence[str]]]
    headings: Mapping[int, tuple[Sequence[str], Sequence[str]]]

    @property
    def height(self) -> int:
        """The lines that the head takes."""
        stacks = [
            len(lines) + len(small) for index, (lines, small) in self.headings.items() if index not in self.widths
        ]
        groups = 1 + max(1, *(len(lines) for *_, lines in self.groups)) if self.groups else 0
        return groups + max([1, *stacks])


@dataclass(frozen=True)
class _Tabular:
    """Some rows of a panel."""

    panel: _Panel
    rows: Sequence[_Row]

    @property
    def height(self) -> float:
        """The lines of the page that the tabular takes, scaled down if it is high."""
        return min(0.95 * sum(row.height for row in self.rows) + self.panel.height + 2, SCALED)

    def blocks(self) -> Iterator[tuple[tuple[str, str], list[_Row]]]:
        """Yield heading and picture of each block with its rows."""
        for block, rows in groupby(self.rows, key=lambda row: row.block):
            yield block, list(rows)


def _floats(
    parts: Sequence[_Note | _Tabular], fillers: Sequence[_Note], caption: float, full: float
) -> list[list[_Note | _Tabular]]:
    """Return the parts that stand on each page together; the caption is on the first page, and `full` lines on a page.

    `fillers` follow in order, from the first page that has room for them.
    """
    pages: list[list[_Note | _Tabular]] = [[]]
    heights = [caption]
    for part in parts:
        if pages[-1] and heights[-1] + part.height > full:
            pages.append([])
            heights.append(CONTINUED)
        pages[-1].append(part)
        heights[-1] += part.height
    at = 0
    for note in fillers:
        while heights[at] + note.height > full and pages[at]:
            at += 1
            if at == len(pages):
                pages.append([])
                heights.append(CONTINUED)
        pages[at].append(note)
        heights[at] += note.height
    return pages


class _Shape:
    """The layout of a table: across the page or in a column, and the widths of its columns."""

    detail = 24  # characters in a line of small text below a number
    long_heading = 2 * SHORT  # characters of a block's heading from which it is broken into lines

    def __init__(self, table: Table, small: bool):
        self.table, self.longest = table, SMALL_ROWS if small else ROWS
        cells = [cell for block in table.blocks for row in block.rows for cell in row]
        narrow = len(table.columns) <= 4 and not pictures_of(table) and all(len(cell.text) <= SHORT for cell in cells)
        self.environment, self.characters = ("table", COLUMN) if narrow else ("table*", ACROSS)
        # Intervals stand below their values, or beside them if the table is too long for that.
        self.stacked = not small and sum(len(block.rows) for block in table.blocks) <= 12

    def tabulars(self) -> Iterator[_Tabular]:
        """Yield panels of columns, each cut between rows if it is longer than a page."""
        for columns in panels_of(self.table):
            panel = self._panel(columns)
            pictures = iter(pictures_of(self.table))
            rows: list[_Row] = []
            for block in self.table.blocks:
                heading = block.heading, next(pictures) if block.image else ""
                tall = (6.0 if block.image else 0.2) + math.ceil(len(block.heading) / self.characters)
                for place, row in enumerate(block.rows):
                    height = max(self._height(row[index], panel.widths.get(index)) for index in columns)
                    rows.append(_Row(heading, row, height + (0 if place else tall)))
            for held in _cut(rows, self.longest):
                yield _Tabular(panel, held)

    def _panel(self, columns: Sequence[int]) -> _Panel:
        shown = {index: self.table.columns[index] for index in columns}
        groups = list(groups_of([*shown.values()]))
        return _Panel(
            columns,
            self._widths(columns),
            [(start, count, _wrapped(group, 12 * count)) for start, group, count in groups]
            if any(group for _, group, _ in groups)
            else [],
            {index: (_wrapped(column.heading, 16), _wrapped(column.detail, 18)) for index, column in shown.items()},
        )

    def _widths(self, columns: Sequence[int]) -> dict[int, float]:
        """Return the share of the line for each column of long texts, from the width that other columns leave."""
        lengths = {}
        for index in columns:
            cells = [row[index] for block in self.table.blocks for row in block.rows]
            lengths[index] = max((max(len(cell.text), 0.7 * len(cell.detail)) for cell in cells), default=0.0)
        long = {
            index: min(length, 120.0)
            for index, length in lengths.items()
            if length > SHORT and not self.table.columns[index].numeric
        }
        others = sum(length / self.characters + 0.04 for index, length in lengths.items() if index not in long)
        left = max(0.94 - others - 0.04 * len(long), 0.25 * len(long))
        narrowest = 1.8 * WORD / self.characters  # a piece of capital letters fits in
        return {index: max(narrowest, left * length / sum(long.values())) for index, length in long.items()}

    def _height(self, cell: Cell, width: float | None) -> float:
        """Return the number of lines of a cell."""
        if width is not None:
            printed = len(" ".join(shortened(cell.text.split()))) + 0.7 * len(cell.detail)
            return math.ceil(printed / (width * self.characters * 0.85))
        return 1.0 + (0.75 * math.ceil(len(cell.detail) / self.detail) if self.stacked else 0.0)


def _cut(rows: Sequence[_Row], longest: float) -> Iterator[Sequence[_Row]]:
    """Yield as many rows at a time as `longest` lines hold, without cutting short blocks.

    Without rows, yields one empty sequence.
    """
    start = 0
    while start < len(rows) - 1 and sum(row.height for row in rows[start:]) > longest:
        heights = list(accumulate(row.height for row in rows[start:]))
        end = start + max(1, sum(height <= longest for height in heights))
        block = next((place for place in range(end, start, -1) if rows[place].block != rows[place - 1].block), end)
        end = block if heights[block - start - 1] > longest / 2 else end
        yield rows[start:end]
        start = end
    yield rows[start:]


def _word(word: str) -> str:
    """Return an escaped word; a long word may be broken after its punctuation, or after PIECE letters."""
    if len(word) <= WORD:
        return "".join(map(_character, word))
    pieces = re.findall(rf"[^-_/.:=+|)]{{1,{PIECE}}}[-_/.:=+|)]*|[-_/.:=+|)]+", word)
    return r"\allowbreak{}".join("".join(map(_character, piece)) for piece in pieces)


def _character(character: str) -> str:
    if _is_known(character):
        return character.translate(_LATEX)
    return rf"\texttt{{U+{ord(character):04X}}}"


def _wrapped(text: str, width: int) -> list[str]:
    return [escape_latex(line) for line in textwrap.wrap(text, width, break_long_words=False)]
