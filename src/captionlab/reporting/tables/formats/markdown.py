"""A table as a Markdown page."""

import re
from collections.abc import Sequence

from captionlab.reporting.tables.render import Cell, Table, notes_of, panels_of, remarks_of


def markdown(table: Table) -> str:
    """Return a page in GitHub-flavoured Markdown: title, description, the table, and its notes."""
    notes = notes_of(table)

    def cell(cell: Cell) -> str:
        mark = f" ({notes[cell.note]})" if cell.note else ""
        text = f"**{escape_markdown(cell.text)}**" if cell.best else escape_markdown(cell.text)
        return " ".join(filter(None, (text, escape_markdown(cell.detail)))) + mark

    lines = [f"# {escape_markdown(table.title)}", "", escape_markdown(table.description), ""]
    for columns in panels_of(table):
        shown = [table.columns[index] for index in columns]
        headings = ["<br>".join(map(escape_markdown, filter(None, (c.group, c.heading, c.detail)))) for c in shown]
        rows = []
        for block in table.blocks:
            if block.heading:
                rows.append([f"**{escape_markdown(block.heading)}**", *[""] * (len(shown) - 1)])
            rows += [[cell(row[index]) for index in columns] for row in block.rows]
        lines += [*markdown_rows(headings, [c.numeric for c in shown], rows), ""]
    lines += [f"- ({letter}) {escape_markdown(note)}" for note, letter in notes.items()]
    lines += [f"- {escape_markdown(note)}" for note in [*remarks_of(table), *table.made]]
    return "\n".join(lines) + "\n"


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows unchanged, also inside a table. Line breaks become spaces."""
    text = re.sub(r"([\\`*_|~])", r"\\\1", " ".join(text.split())).replace("](", r"]\(")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_rows(headings: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose cells are Markdown already. Numeric columns are aligned to the right."""
    rules = ["---:" if right else "---" for right in numeric]
    return [f"| {' | '.join(row)} |" for row in (headings, rules, *rows)]
