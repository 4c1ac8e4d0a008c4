"""A table as LaTeX, for \\input in a paper with one or two columns.

A float cannot break across pages, and longtable does not work on a page with two columns. So a wide table is cut into
panels of columns and a long table is cut between rows, with as many floats as pages need. A tabular that is still too
wide is scaled down.
"""

import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from captionlab.reporting.tables.render import Cell, Table, groups_of, notes_of, panels_of, remarks_of
from captionlab.storage.paths import PICTURES

# Lines that the rows of a tabular may take, and lines of a float in total. A page of an article has 43 at 10 pt.
ROWS, PAGE = 36.0, 47.0
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
_NUMBERED = re.compile(r"(?P<where>[^:]+, (?:table|figure)s? [^:]+): (?P<what>.+)")


def escape_latex(text: str) -> str:
    """Return text that LaTeX prints unchanged. Line breaks become spaces, and long words may be broken."""
    return " ".join(map(_word, text.split()))


def pictures_of(table: Table) -> dict[str, bytes]:
    """Return the PNG pictures of a table by the names of their files in the folder PICTURES."""
    return {f"{table.name}-{place}.png": block.image for place, block in enumerate(table.blocks, 1) if block.image}


def latex(table: Table) -> str:
    """Return the floats of a table with booktabs rules. Comments name required packages and how it was made."""
    shape = _Shape(table)
    numbered = _NUMBERED.fullmatch(table.title)
    title = numbered["what"][0].upper() + numbered["what"][1:] if numbered else table.title
    caption = f"{escape_latex(title)}. {escape_latex(table.description)}"
    label = f"tab:{re.sub('[^A-Za-z0-9-]', '-', table.name)}"
    notes = [rf"\textsuperscript{{{letter}}} {escape_latex(note)}" for note, letter in notes_of(table).items()]
    notes += map(escape_latex, remarks_of(table))
    notes += [f"As in {escape_latex(numbered['where'])}."] if numbered else []
    first = [rf"\caption{{{caption}}}", rf"\label{{{label}}}\medskip"]
    again = [rf"\textit{{Table~\ref{{{label}}}, continued}}\par\medskip"]
    lines = [r"% Packages: adjustbox, amssymb, array, booktabs, graphicx; \usepackage[T1]{fontenc}"]
    if pictures_of(table):
        lines.append(
            rf"% Pictures are in {PICTURES}/ beside this file, whose folder is to be named: \graphicspath{{{{.../}}}}"
        )
    lines += [f"% {' '.join(sentence.split())}" for sentence in table.made]
    parts = [*shape.tabulars(), *_below(notes, shape.characters)]
    for place, held in enumerate(_floats(parts, len(caption) / shape.characters + 2)):
        lines += [rf"\begin{{{shape.environment}}}", r"\centering", *(again if place else first)]
        lines += [line for part in held for line in part.lines]
        lines.append(rf"\end{{{shape.environment}}}")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Part:
    """A tabular or a note, and how many lines of the page it takes."""

    lines: Sequence[str]
    height: float


def _floats(parts: Sequence[_Part], caption: float) -> list[list[_Part]]:
    """Return the parts that stand on each page together; the caption is on the first page."""
    pages: list[list[_Part]] = [[]]
    for part in parts:
        if pages[-1] and caption + sum(one.height for one in pages[-1]) + part.height > PAGE:
            pages.append([])
            caption = 2.0
        pages[-1].append(part)
    return pages


def _below(notes: Sequence[str], characters: int) -> Iterator[_Part]:
    """Yield the notes as parts, so that no note is broken across pages."""
    for note in notes:
        text = [r"\begin{minipage}{\linewidth}\footnotesize\raggedright", rf"{note}\strut", r"\end{minipage}\par"]
        yield _Part(text, 0.85 * math.ceil(len(note) / characters) + 0.1)


class _Shape:
    """The layout of a table: across the page or in a column, and the widths of its columns."""

    def __init__(self, table: Table):
        self.table, self.notes = table, notes_of(table)
        cells = [cell for block in table.blocks for row in block.rows for cell in row]
        narrow = len(table.columns) <= 4 and not pictures_of(table) and all(len(cell.text) <= SHORT for cell in cells)
        self.environment, self.characters = ("table", COLUMN) if narrow else ("table*", ACROSS)
        # Intervals stand below their values, or beside them if the table is too long for that.
        self.stacked = sum(len(block.rows) for block in table.blocks) <= 12

    def tabulars(self) -> Iterator[_Part]:
        """Yield panels of columns, each cut between rows if it is longer than a page."""
        for columns in panels_of(self.table):
            widths = self._widths(columns)
            head, kinds = self._head(columns, widths), "".join(self._kind(index, widths) for index in columns)
            pictures = iter(pictures_of(self.table))
            rows: list[tuple[str, str, float]] = []  # heading of the block, the row, its number of lines
            for block in self.table.blocks:
                heading = self._heading(block.heading, len(columns), next(pictures) if block.image else "")
                tall = (6.0 if block.image else 0.2) + math.ceil(len(block.heading) / self.characters)
                for place, row in enumerate(block.rows):
                    height = max(self._height(row[index], widths.get(index)) for index in columns)
                    text = " & ".join(self._cell(row[index], index) for index in columns) + r" \\"
                    rows.append((heading, text, height + (0 if place else tall)))
            for held in _cut(rows):
                yield self._tabular(kinds, head, held)

    def _tabular(self, kinds: str, head: Sequence[str], rows: Sequence[tuple[str, str, float]]) -> _Part:
        lines = [
            r"\begin{adjustbox}{max width=\linewidth, max totalheight=.85\textheight}\small",
            rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *head,
        ]  # fmt: skip
        for heading, held in groupby(rows, key=lambda row: row[0]):
            lines += [r"\midrule", *([heading] if heading else []), *(text for _, text, _ in held)]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}\par\medskip"]
        of_head = sum(1 + max(cell.count(r" \\ ") for cell in line.split(" & ")) for line in head)
        return _Part(lines, 0.95 * sum(height for *_, height in rows) + of_head + 2)

    def _widths(self, columns: Sequence[int]) -> dict[int, float]:
        """Return the share of the line for each column of long texts, from the width that other columns leave."""
        lengths = {}
        for index in columns:
            cells = [row[index] for block in self.table.blocks for row in block.rows]
            lengths[index] = max((max(len(cell.text), 0.7 * len(cell.detail)) for cell in cells), default=0.0)
        long = {index: min(lengths[index], 120.0) for index in columns if self._is_long(index, lengths[index])}
        others = sum(length / self.characters + 0.04 for index, length in lengths.items() if index not in long)
        left = max(0.94 - others - 0.04 * len(long), 0.25 * len(long))
        narrowest = 1.8 * WORD / self.characters  # a piece of capital letters fits in
        return {index: max(narrowest, left * length / sum(long.values())) for index, length in long.items()}

    def _is_long(self, index: int, length: float) -> bool:
        return not self.table.columns[index].numeric and length > SHORT

    def _kind(self, index: int, widths: dict[int, float]) -> str:
        if index in widths:
            return rf">{{\raggedright\arraybackslash}}p{{{widths[index]:.3f}\linewidth}}"
        return "r" if self.table.columns[index].numeric else "l"

    def _head(self, columns: Sequence[int], widths: Mapping[int, float]) -> list[str]:
        """Return the rows of the head: groups with a rule below each, if there are any, and the columns."""
        shown = [self.table.columns[index] for index in columns]
        groups, lines = list(groups_of(shown)), []
        if any(group for _, group, _ in groups):
            heads = [
                rf"\multicolumn{{{count}}}{{c}}{{{_stack(_wrapped(group, 12 * count), 'b', 'c')}}}"
                if group
                else " & " * (count - 1)
                for _, group, count in groups
            ]
            rules = [rf"\cmidrule(lr){{{start + 1}-{start + count}}}" for start, group, count in groups if group]
            lines = [" & ".join(heads) + r" \\", "".join(rules)]
        headings = []
        for index, column in zip(columns, shown, strict=True):
            texts = [*_wrapped(column.heading, 16), *_small(column.detail, 18)]
            stacked = _stack(texts, "b", "r" if column.numeric else "l")
            headings.append(" ".join(texts) if index in widths else stacked)
        return [*lines, " & ".join(headings) + r" \\"]

    def _heading(self, text: str, columns: int, picture: str) -> str:
        """Return a block's heading across the table, below its picture."""
        if not text:
            return ""
        kind = r"p{.95\linewidth}" if len(text) > 2 * SHORT else "l"
        image = rf"\includegraphics[height=6em]{{{PICTURES}/{picture}}}"
        above = rf"\multicolumn{{{columns}}}{{l}}{{{image}}} \\" + "\n" if picture else ""
        return above + rf"\multicolumn{{{columns}}}{{{kind}}}{{\textit{{{escape_latex(text)}}}}} \\*"

    def _cell(self, cell: Cell, index: int) -> str:
        text = rf"\textbf{{{escape_latex(cell.text)}}}" if cell.best else escape_latex(cell.text)
        text += rf"\textsuperscript{{{self.notes[cell.note]}}}" if cell.note else ""
        if self.stacked and self.table.columns[index].numeric:
            return _stack([text, *_small(cell.detail, 24)], "t", "r")
        return " ".join([text, *_small(cell.detail, 10**6)])

    def _height(self, cell: Cell, width: float | None) -> float:
        """Return the number of lines of a cell."""
        if width is not None:
            return math.ceil((len(cell.text) + 0.7 * len(cell.detail)) / (width * self.characters * 0.85))
        return 1.0 + (0.75 * math.ceil(len(cell.detail) / 24) if self.stacked else 0.0)


def _cut(rows: Sequence[tuple[str, str, float]]) -> Iterator[Sequence[tuple[str, str, float]]]:
    """Yield as many rows at a time as a page holds, without cutting short blocks.

    Without rows, yields one empty sequence.
    """
    start = 0
    while sum(height for *_, height in rows[start:]) > ROWS:
        heights = list(accumulate(height for *_, height in rows[start:]))
        end = start + max(1, sum(height <= ROWS for height in heights))
        block = next((place for place in range(end, start, -1) if rows[place][0] != rows[place - 1][0]), end)
        end = block if heights[block - start - 1] > ROWS / 2 else end
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
    if character.isascii() or ord(character) in _LATEX or _KNOWN.match(character):
        return character.translate(_LATEX)
    return rf"\texttt{{U+{ord(character):04X}}}"


def _wrapped(text: str, width: int) -> list[str]:
    return [escape_latex(line) for line in textwrap.wrap(text, width, break_long_words=False)]


def _small(text: str, width: int) -> list[str]:
    return [rf"{{\scriptsize {line}}}" for line in _wrapped(text, width)]


def _stack(lines: Sequence[str], place: str, side: str) -> str:
    """Return lines stacked in a cell."""
    if len(lines) <= 1:
        return "".join(lines)
    stacked = r" \\ ".join(lines)
    return rf"\begin{{tabular}}[{place}]{{@{{}}{side}@{{}}}}{stacked}\end{{tabular}}"
