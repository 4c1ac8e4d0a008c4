"""One table, four formats: CSV for programs, Markdown, LaTeX and HTML for people.

The layout (columns in groups, blocks of rows, cells with a small second line, footnotes) is for people. The CSV holds
`records`: one row for each number, in full precision. Names and labels come from configs and data sets, so every text
is escaped in the way of its format.
"""

import base64
import csv
import html as html_escapes
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from captionlab.files import replacing

Value = str | int | float | bool | None

MISSING = "\N{EN DASH}"  # shown where a number is missing; a note on the cell says why
# Columns that fit on a page of text.
PANEL = 10
# Of the tables of papers; a table that no paper has needs no LaTeX.
FORMATS = ("csv", "md", "tex", "html")


@dataclass(frozen=True)
class Cell:
    """What stands in one place: a text, a small second line, and perhaps a note that becomes a footnote.

    `link`, in HTML only, is where the text leads, from the folder of all tables.
    """

    text: str
    detail: str = ""
    note: str = ""
    link: str = ""


def interval_cell(ends: Sequence[float], form: str, mark: str = "", link: str = "") -> Cell:
    """A value with its interval below it, from the value and the two ends; the mark follows the value."""
    value, low, high = ends
    return Cell(f"{value:{form}}{mark}", f"[{low:{form}}, {high:{form}}]", link=link)


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


@dataclass(frozen=True)
class Block:
    """Rows below a common heading; the first cell of a row is its heading. `image`, a PNG, is shown in HTML only."""

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

    def __post_init__(self) -> None:
        width = len(self.columns)
        for row in (row for block in self.blocks for row in block.rows):
            if len(row) != width:
                raise ValueError(
                    f"{self.name}: the row {row[0].text!r} has {len(row)} cells, the table {width} columns"
                )


def write_table_files(table: Table, paths: Sequence[str | os.PathLike[str]]) -> None:
    """Write a table to files whose endings name the formats (.csv, .md, .tex, .html)."""
    renderers = {".csv": csv_text, ".md": markdown, ".tex": latex, ".html": html}
    for path in map(Path, paths):
        if path.suffix not in renderers:
            raise ValueError(f"{path}: a table is written as {', '.join(renderers)}")
        write_text(path, renderers[path.suffix](table))


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file beside its place and rename it."""
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def csv_text(table: Table) -> str:
    """The records, one row each; a missing value is an empty field, floats are written in full."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.record_columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.records)
    return stream.getvalue()


# ------------------------------------------------------------------------------------------------------ markdown
def markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown page: title, description, the table, its notes."""
    notes = _notes(table)

    def cell(cell: Cell) -> str:
        mark = f" ({notes[cell.note]})" if cell.note else ""
        return escape_markdown(" ".join(filter(None, (cell.text, cell.detail)))) + mark

    lines = [f"# {escape_markdown(table.title)}", "", escape_markdown(table.description), ""]
    for columns in _panels(table):
        shown = [table.columns[index] for index in columns]
        headings = ["<br>".join(map(escape_markdown, filter(None, (c.group, c.heading, c.detail)))) for c in shown]
        rows = []
        for block in table.blocks:
            if block.heading:
                rows.append([f"**{escape_markdown(block.heading)}**", *[""] * (len(shown) - 1)])
            rows += [[cell(row[index]) for index in columns] for row in block.rows]
        lines += [*markdown_rows(headings, [c.numeric for c in shown], rows), ""]
    lines += [f"- ({letter}) {escape_markdown(note)}" for note, letter in notes.items()]
    lines += [f"- {escape_markdown(note)}" for note in table.footnotes]
    return "\n".join(lines) + "\n"


def escape_markdown(text: str) -> str:
    """Text that Markdown shows as it is, also inside a table; line breaks become spaces."""
    text = re.sub(r"([\\`*_|~])", r"\\\1", " ".join(text.split())).replace("](", r"]\(")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_rows(headings: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table of texts that are Markdown already; columns of numbers are aligned to the right."""
    rules = ["---:" if right else "---" for right in numeric]
    return [f"| {' | '.join(row)} |" for row in (headings, rules, *rows)]


# --------------------------------------------------------------------------------------------------------- latex
_LATEX = str.maketrans(
    {
        **{character: f"\\{character}" for character in "{}&%$#_"},
        # After the end of a row they would be read as arguments.
        **{character: f"{{{character}}}" for character in "[]*"},
        "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
        ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
        "\N{EN DASH}": "--", "\N{MINUS SIGN}": "$-$", "\N{MULTIPLICATION SIGN}": r"$\times$",
        "≈": r"$\approx$", "≠": r"$\neq$", "±": r"$\pm$", "≥": r"$\geq$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
        "✓": r"$\checkmark$", "○": r"$\circ$",
    }
)  # fmt: skip


def escape_latex(text: str) -> str:
    """Text that LaTeX sets as it is; line breaks become spaces."""
    return " ".join(text.split()).translate(_LATEX)


def latex(table: Table) -> str:
    """A table environment with booktabs rules, for \\input; a comment names the packages that it needs."""
    notes = _notes(table)

    def cell(cell: Cell, stack: bool) -> str:
        text = escape_latex(cell.text) + (rf"\textsuperscript{{{notes[cell.note]}}}" if cell.note else "")
        detail = rf"{{\scriptsize {escape_latex(cell.detail)}}}" if cell.detail else ""
        if detail and stack:
            return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{text}\\{detail}\end{{tabular}}"
        return " ".join(filter(None, (text, detail)))

    # Intervals stand below their values, and beside them where the table is too long for that.
    stacked = sum(len(block.rows) for block in table.blocks) <= 12
    panels = _panels(table)
    environment = "table*" if max(map(len, panels)) > 7 else "table"
    lines = [
        r"% Packages: booktabs, adjustbox, amssymb; \usepackage[T1]{fontenc}",
        rf"\begin{{{environment}}}",
        r"\centering",
        rf"\caption{{{escape_latex(table.title)}. {escape_latex(table.description)}}}",
        rf"\label{{tab:{re.sub('[^A-Za-z0-9-]', '-', table.name)}}}",
    ]
    for columns in panels:
        shown = [table.columns[index] for index in columns]
        kinds = "".join(_latex_column(table, index) for index in columns)
        lines += [r"\begin{adjustbox}{max width=\textwidth}", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
        groups = list(_groups(shown))
        if any(group for _, group, _ in groups):
            heads = [
                rf"\multicolumn{{{count}}}{{c}}{{{escape_latex(group)}}}" if group else " & " * (count - 1)
                for _, group, count in groups
            ]
            rules = [rf"\cmidrule(lr){{{start + 1}-{start + count}}}" for start, group, count in groups if group]
            lines += [" & ".join(heads) + r" \\", "".join(rules)]
        lines.append(" & ".join(cell(Cell(c.heading, c.detail), stack=True) for c in shown) + r" \\")
        for block in table.blocks:
            lines.append(r"\midrule")
            if block.heading:
                lines.append(rf"\multicolumn{{{len(shown)}}}{{l}}{{\textit{{{escape_latex(block.heading)}}}}} \\")
            for row in block.rows:
                cells = [cell(row[index], stack=stacked and table.columns[index].numeric) for index in columns]
                lines.append(" & ".join(cells) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}", r"\par\medskip"]
    below = [rf"\textsuperscript{{{letter}}} {escape_latex(note)}" for note, letter in notes.items()]
    below += [escape_latex(note) for note in table.footnotes]
    if below:
        notes_of = [rf"{note}\par" for note in below]
        lines += [r"\begin{minipage}{\linewidth}\footnotesize\raggedright", *notes_of, r"\end{minipage}"]
    return "\n".join([*lines, rf"\end{{{environment}}}"]) + "\n"


def _latex_column(table: Table, index: int) -> str:
    """Numbers to the right, short texts to the left, long texts broken into lines."""
    if table.columns[index].numeric:
        return "r"
    longest = max((len(row[index].text) for block in table.blocks for row in block.rows), default=0)
    return "l" if longest <= 40 else r"p{.4\linewidth}"


# ---------------------------------------------------------------------------------------------------------- html
_STYLE = """
:root { color-scheme: light dark; --ink: #1c1f23; --soft: #5b6470; --line: #c9ced6; --head: #f3f4f6; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7eb; --soft: #a3acb8; --line: #454c57; --head: #23272e; --paper: #16191d; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem clamp(1rem, 4vw, 3rem); background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .5rem; text-wrap: balance; }
h2 { font-size: 1.05rem; margin: 1.5rem 0 .25rem; }
p, ul { max-width: 75ch; margin: .25rem 0 1rem; }
a { color: inherit; }
a.captions { text-decoration: underline dotted; text-underline-offset: 3px; }
a.captions:not([href]) { text-decoration: none; }
.scroll { overflow-x: auto; max-width: 100%; }
.scroll:focus-visible { outline: 2px solid var(--soft); outline-offset: 4px; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0 0 .75rem; color: var(--soft); position: sticky; left: 0;
  max-width: min(75ch, 100vw - 2 * clamp(1rem, 4vw, 3rem)); }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top; font-weight: normal; }
th.number, td.number { text-align: right; white-space: nowrap; }
thead th { background: var(--head); font-weight: 600; vertical-align: bottom; }
thead tr:first-child th { border-top: 2px solid var(--ink); }
thead tr:last-child th { border-bottom: 1px solid var(--ink); }
thead tr:first-child th[rowspan] { border-bottom: 1px solid var(--ink); }
th[scope="colgroup"] { text-align: center; border-bottom: 1px solid var(--line); }
th[scope="rowgroup"] { font-weight: 600; padding-top: .8rem; border-bottom: 1px solid var(--line); }
th[scope="rowgroup"] img { display: block; width: 240px; max-width: 100%; margin-bottom: .3rem; }
tbody th[scope="row"] { white-space: nowrap; }
td.text { min-width: 12ch; max-width: 62ch; white-space: pre-line; }
tbody tr:last-child > * { border-bottom: 1px solid var(--line); }
tbody:last-child tr:last-child > * { border-bottom: 2px solid var(--ink); }
.first { border-left: 1px solid var(--line); }
tbody th, thead tr:first-child th:first-child { position: sticky; left: 0; }
tbody th { background: var(--paper); }
small { display: block; color: var(--soft); font-size: .82em; font-weight: normal; }
.notes { color: var(--soft); font-size: .9em; padding-left: 1.2rem; margin-top: 1rem; }
""".strip()


# Links lead from the folder of all tables; where a page lies elsewhere, as in Snakemake's report, there are none.
_UNLINK = """<script>
if (!/\\/results\\/tables\\/[^\\/]*$/.test(location.pathname)) {
  for (const link of document.querySelectorAll("a.captions")) link.removeAttribute("href");
}
</script>"""


def html(table: Table) -> str:
    """A self-contained page with the table: caption, scopes, notes; light or dark as the reader's system is."""
    notes, groups, escape = _notes(table), list(_groups(table.columns)), html_escapes.escape
    firsts = {start for start, group, _ in groups if group}

    def content(cell: Cell) -> str:
        mark = f"<sup>{notes[cell.note]}</sup>" if cell.note else ""
        text = escape(cell.text)
        if cell.link:
            text = f'<a class="captions" href="{escape(cell.link)}" title="the captions behind this">{text}</a>'
        return text + mark + (f"<small>{escape(cell.detail)}</small>" if cell.detail else "")

    def classes(index: int) -> str:
        names = ["number" if table.columns[index].numeric else "text"] + ["first"] * (index in firsts)
        return f' class="{" ".join(names)}"'

    upper, lower = list[str](), list[str]()
    for start, group, count in groups:
        span = ' rowspan="2"' if firsts and not group else ""
        headings = [
            f'<th scope="col"{classes(index)}{span}>{content(Cell(column.heading, column.detail))}</th>'
            for index, column in enumerate(table.columns[start : start + count], start)
        ]
        if group:
            upper.append(f'<th colspan="{count}" scope="colgroup" class="first">{escape(group)}</th>')
        (lower if group else upper).extend(headings)
    parts = [
        f'<div class="scroll" role="region" aria-label="{escape(table.title)}" tabindex="0">\n<table>',
        f"<caption>{escape(table.description)}</caption>\n<thead>",
        *(f"<tr>{''.join(row)}</tr>" for row in (upper, lower) if row),
        "</thead>",
    ]
    for block in table.blocks:
        parts.append("<tbody>")
        if block.heading:
            heading = escape(block.heading)
            if block.image:
                picture = base64.b64encode(block.image).decode("ascii")
                heading = f'<img src="data:image/png;base64,{picture}" alt="{heading}">{heading}'
            parts.append(f'<tr><th colspan="{len(table.columns)}" scope="rowgroup">{heading}</th></tr>')
        for first, *others in block.rows:
            cells = (f"<td{classes(index)}>{content(cell)}</td>" for index, cell in enumerate(others, start=1))
            parts.append(f'<tr><th scope="row">{content(first)}</th>{"".join(cells)}</tr>')
        parts.append("</tbody>")
    parts += ["</table>", "</div>"]
    below = [f"<li><sup>{letter}</sup> {escape(note)}</li>" for note, letter in notes.items()]
    below += [f"<li>{escape(note)}</li>" for note in table.footnotes]
    if below:
        parts += ['<ul class="notes">', *below, "</ul>"]
    if any(cell.link for block in table.blocks for row in block.rows for cell in row):
        parts.append(_UNLINK)
    return html_page(table.title, "\n".join(parts))


def html_page(title: str, body: str) -> str:
    """A self-contained page around a body that is already HTML."""
    title = html_escapes.escape(title)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n"
        f"{body}\n</main>\n</body>\n</html>\n"
    )


# -------------------------------------------------------------------------------------------------------- shared
def _notes(table: Table) -> dict[str, str]:
    """The notes of the cells in reading order, each with its mark: a, b, ..., z, a2, b2, ..."""
    notes: dict[str, str] = {}
    for cell in (cell for block in table.blocks for row in block.rows for cell in row if cell.note):
        turn, letter = divmod(len(notes), 26)
        notes.setdefault(cell.note, chr(ord("a") + letter) + (str(turn + 1) if turn else ""))
    return notes


def _groups(columns: Sequence[Column]) -> Iterator[tuple[int, str, int]]:
    """Neighbouring columns of the same group: the first of them, the group's name and how many they are."""
    start = 0
    for group, found in groupby(columns, key=lambda column: column.group):
        count = len(list(found))
        yield start, group, count
        start += count


def _panels(table: Table) -> list[list[int]]:
    """Columns of each panel: pages do not scroll, so a wide table is cut between groups and its head is repeated."""
    head: list[int] = []
    panels: list[list[int]] = []
    for start, group, count in _groups(table.columns):
        columns = list(range(start, start + count))
        if not group and not panels:
            head = columns
        elif panels and len(panels[-1]) + count <= PANEL:
            panels[-1] += columns
        else:
            panels.append(head + columns)
    return panels or [head]
