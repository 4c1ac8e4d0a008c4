"""A table as a Markdown page."""

import re
from collections.abc import Sequence

from captionlab.reporting.tables.render import Table, notes_of, panels_of, remarks_of
from captionlab.reporting.templates import template


def markdown(table: Table) -> str:
    """Return a page in GitHub-flavoured Markdown: title, description, the table, and its notes."""
    return template("table.md.jinja", md=escape_markdown).render(
        table=table, panels=panels_of(table), notes=notes_of(table), remarks=remarks_of(table)
    )


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows unchanged, also inside a table. Line breaks become spaces."""
    text = re.sub(r"([\\`*_|~])", r"\\\1", " ".join(text.split())).replace("](", r"]\(")
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_rows(headings: Sequence[str], numeric: Sequence[bool], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose cells are Markdown already. Numeric columns are aligned to the right."""
    rules = ["---:" if right else "---" for right in numeric]
    return [f"| {' | '.join(row)} |" for row in (headings, rules, *rows)]
