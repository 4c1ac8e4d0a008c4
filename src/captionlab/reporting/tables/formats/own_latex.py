"""An own table as LaTeX: a tabular for a float that the author writes, scaled down to the width of a venue."""

from captionlab.reporting.tables.formats.latex import plain_latex
from captionlab.reporting.tables.render import MISSING, Table, remarks_of
from captionlab.reporting.templates import template


def own_latex(table: Table, width: float) -> str:
    """Return the tabular of a table, at most `width` inches wide, and its notes below it."""
    made = [f"{name} {table.records[0][name]}" for name in ("config", "seed", "commit") if table.records[0][name]]
    return template("own_table.tex.jinja", tex=plain_latex, number=_number, lines=_lines).render(
        table=table, width=width, remarks=remarks_of(table), comments=[" ".join(", ".join(made).split())]
    )


def _number(text: str) -> str:
    """Return a number or an interval as LaTeX, with signs as in formulas."""
    return plain_latex(text if text == MISSING else text.replace("-", "\N{MINUS SIGN}"))


def _lines(detail: str) -> list[str]:
    """Return the small lines of a heading."""
    return [plain_latex(line) for line in detail.split(", ") if line]
