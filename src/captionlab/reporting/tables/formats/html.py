"""A table as an HTML page."""

import base64

from captionlab.reporting.tables.render import Table, groups_of, notes_of, remarks_of
from captionlab.reporting.templates import template


def html(table: Table) -> str:
    """Return a self-contained HTML page with the table, its caption and its notes. How the table was made is folded."""
    groups = list(groups_of(table.columns))
    return template("table.html.jinja", base64=_base64).render(
        title=table.title,
        table=table,
        groups=groups,
        firsts={start for start, group, _ in groups if group},
        ids=table.ids(),
        notes=notes_of(table),
        remarks=remarks_of(table),
    )


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
