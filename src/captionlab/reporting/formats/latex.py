"""A table as LaTeX."""

import re

from captionlab.reporting.render import Cell, Table, groups_of, notes_of, panels_of

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
    notes = notes_of(table)

    def cell(cell: Cell, stack: bool) -> str:
        text = escape_latex(cell.text) + (rf"\textsuperscript{{{notes[cell.note]}}}" if cell.note else "")
        detail = rf"{{\scriptsize {escape_latex(cell.detail)}}}" if cell.detail else ""
        if detail and stack:
            return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{text}\\{detail}\end{{tabular}}"
        return " ".join(filter(None, (text, detail)))

    # Intervals stand below their values, and beside them where the table is too long for that.
    stacked = sum(len(block.rows) for block in table.blocks) <= 12
    panels = panels_of(table)
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
        groups = list(groups_of(shown))
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
        lines_below = [rf"{note}\par" for note in below]
        lines += [r"\begin{minipage}{\linewidth}\footnotesize\raggedright", *lines_below, r"\end{minipage}"]
    return "\n".join([*lines, rf"\end{{{environment}}}"]) + "\n"


def _latex_column(table: Table, index: int) -> str:
    """Numbers to the right, short texts to the left, long texts broken into lines."""
    if table.columns[index].numeric:
        return "r"
    longest = max((len(row[index].text) for block in table.blocks for row in block.rows), default=0)
    return "l" if longest <= 40 else r"p{.4\linewidth}"
