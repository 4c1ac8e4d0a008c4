"""Scores and differences as tables for a terminal, for programs and for papers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from captionlab.config.languages import PTB, Tokenizer
from captionlab.reporting.tables.formats.csv import csv_text
from captionlab.reporting.tables.formats.latex import latex
from captionlab.reporting.tables.render import Block, Cell, Column, Table, interval_cell
from captionlab.scoring.scores import DIFFERENCES, VALUES

Rows = Sequence[Mapping[str, Any]]
TOKENS = "Tokens of the Penn treebank, in lower case and without punctuation, by captionlab; SacreBLEU has its own."
OTHER_TOKENS = (
    "Tokens by sacrebleu's tokeniser {tokenizer}, in lower case and without punctuation; SacreBLEU has case and "
    "punctuation, too. METEOR and SPICE are for English alone."
)
INTERVALS = "In brackets: 95 % intervals over images, by bootstrap; of shares, exact ones."
TESTS = "p: two-sided, of the paired bootstrap over images; Holm: corrected for the number of pairs of the metric."


def values_table(rows: Rows, tokenizer: Tokenizer = PTB) -> Table:
    """Return a table with a row for each metric and a column for each file of captions, from rows of VALUES."""
    names = list(dict.fromkeys(row["captions"] for row in rows))
    cells = {(row["metric"], row["captions"]): row for row in rows}
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    lines = [[Cell(metric), *(_value(cells.get((metric, name)), "value") for name in names)] for metric in metrics]
    columns = [Column("metric", numeric=False), *(Column(name) for name in names)]
    title, notes = "Scores against references", (INTERVALS, tokens_note(tokenizer))
    return Table("scores", title, _images(rows), columns, [Block(lines)], rows, VALUES, notes)


def differences_table(rows: Rows, tokenizer: Tokenizer = PTB) -> Table:
    """Return a table with a row for each pair of files and each metric, from rows of DIFFERENCES."""
    lines = [
        [
            Cell(f"{row['captions']} \N{MINUS SIGN} {row['against']}"),
            Cell(row["metric"]),
            _value(row, "difference"),
            Cell(_p(row["p_value"])),
            Cell(_p(row["p_holm"])),
        ]
        for row in rows
    ]
    columns = [*(Column(name, numeric=False) for name in ("captions", "metric")), Column("difference")]
    columns += [Column("p"), Column("p, Holm")]
    title, notes = "Paired differences", (INTERVALS, TESTS, tokens_note(tokenizer))
    return Table("differences", title, _images(rows), columns, [Block(lines)], rows, DIFFERENCES, notes)


def tokens_note(tokenizer: Tokenizer) -> str:
    """Return the note on the tokens of a table's metrics."""
    return TOKENS if tokenizer == PTB else OTHER_TOKENS.format(tokenizer=tokenizer)


def plain(table: Table) -> str:
    """Return a table as aligned text with its notes, for a terminal."""
    rows = [[column.heading for column in table.columns]]
    rows += [[_text(cell) for cell in row] for block in table.blocks for row in block.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = list(_aligned(rows, widths, [column.numeric for column in table.columns]))
    rule = "-" * len(lines[0])
    return "\n".join(
        [f"{table.title}. {table.description}", "", lines[0], rule, *lines[1:], rule, *table.footnotes, ""]
    )


def written(form: str, tables: Sequence[Table]) -> str:
    """Return tables as text in a form: plain, json, csv or latex."""
    if form == "json":
        return json.dumps({table.name: [*table.records] for table in tables}, indent=2, ensure_ascii=False) + "\n"
    make = {"plain": plain, "csv": csv_text, "latex": latex}[form]
    return "\n".join(make(table) for table in tables)


def _images(rows: Rows) -> str:
    """Return the numbers of images in rows, as a description of their table."""
    numbers = dict.fromkeys(f"n = {row['n']}" for row in rows)
    return f"Images: {', '.join(numbers)}"


def _aligned(rows: Sequence[Sequence[str]], widths: Sequence[int], numeric: Sequence[bool]) -> Iterator[str]:
    for row in rows:
        texts = (
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        )
        yield "  ".join(texts).rstrip()


def _value(row: Mapping[str, Any] | None, name: str) -> Cell:
    if row is None:
        return Cell("\N{EN DASH}")
    form = "+.2f" if name == "difference" else ".2f"
    return interval_cell((row[name], row["ci_low"], row["ci_high"]), form)


def _p(p_value: float) -> str:
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _text(cell: Cell) -> str:
    return f"{cell.text} {cell.detail}".strip()
