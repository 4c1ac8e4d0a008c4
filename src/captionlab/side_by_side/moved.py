"""Cells of tables whose values, verdicts or rows are not those of the first run."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from captionlab.reporting.documents.costs import TIMED_TABLES
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table
from captionlab.reporting.tables.sheets import PROVENANCE
from captionlab.side_by_side.runs import FinishedRun

INTERVAL = ("value", "ci_low", "ci_high")
# Columns that follow from the value, or that do not identify a cell.
DERIVED = ("n", "published", "difference", "verdict", "smallest_difference")
# Columns that identify a row in tables of verdicts.
CLAIM = ("paper", "claim", "scope")
# Smaller changes count as none. Metrics are shown times 100, with fewer decimals.
NOTHING = 1e-3
# Rows shown of each run if the other run does not have them.
SHOWN = 5
FRACTION = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
# Tables that are not compared: running times always differ, and all numbers of `evaluation` are compared by images.
LEFT_OUT = TIMED_TABLES | {"evaluation"}
NOTES = (
    "A cell moved when its two 95 % intervals have no value in common. By chance alone that happens to about one cell "
    "in two hundred, if the runs saw different images of the same kind. Cells that changed within their intervals are "
    "counted and not listed.",
    f"Of tables without intervals at most {SHOWN} rows of each run are listed. Running times are not compared.",
)
# What happened to a cell, the cell, and its texts in the first and in another run.
Change = tuple[str, str, str, str]


def moved_table(runs: Sequence[FinishedRun]) -> Table:
    """Return the table of the cells that moved, with a block for each table and run after the first."""
    first, *others = runs
    blocks, records, alike = [], [], []
    for name in sorted({name for run in runs for name in run.tables} - LEFT_OUT):
        for run in others:
            text, changes = changes_of(name, first, run)
            if not changes:
                alike.append(f"{name}, {run.name}: {text}.")
                continue
            rows = [[Cell(what), Cell(cell), Cell(before), Cell(after)] for what, cell, before, after in changes]
            blocks.append(Block(rows, f"{name}, {run.name}: {text}"))
            records += [
                {"table": name, "run": run.name, "what": what, "cell": cell, first.name: before, "value": after}
                for what, cell, before, after in changes
            ]
    headings = ("what happened", "cell", first.name, others[0].name if len(others) == 1 else "other run")
    return Table(
        "moved",
        f"Cells of tables that are not those of {first.name}",
        "Cells whose intervals have no value in common, verdicts that changed, and rows and values that one run has.",
        [Column(heading, numeric=False) for heading in headings],
        blocks,
        records,
        ("table", "run", "what", "cell", first.name, "value"),
        [*NOTES, *alike],
    )


def changes_of(name: str, first: FinishedRun, run: FinishedRun) -> tuple[str, list[Change]]:
    """Return a sentence on the differences of a table between two runs, and the changes to list."""
    if name not in first.tables or name not in run.tables:
        return f"only {(first if name in first.tables else run).name} has this table", []
    before, after = first.tables[name], run.tables[name]
    columns = {*before, *after}
    if columns >= {*INTERVAL}:
        return _intervals(before, after)
    return _verdicts(before, after) if columns >= {*CLAIM, "verdict"} else _rows(before, after)


def moved_cells(before: pd.DataFrame, after: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the cells that moved and the cells that only changed, of a table with intervals.

    A cell moved if its two intervals have no value in common. A cell without an interval in either run can only have
    changed. Only cells that both runs have are compared. Columns are the columns of `measured`, with the suffixes
    `_before` and `_after`.
    """
    suffixes = ("_before", "_after")
    shared = measured(before).merge(measured(after), left_index=True, right_index=True, suffixes=suffixes)
    changed = (shared["value_before"] - shared["value_after"]).abs() >= NOTHING
    lowest_end = np.minimum(shared["ci_high_before"], shared["ci_high_after"])
    apart = np.maximum(shared["ci_low_before"], shared["ci_low_after"]) > lowest_end
    return shared[changed & apart], shared[changed & ~apart]


def measured(rows: pd.DataFrame) -> pd.DataFrame:
    """Return values and interval ends as numbers, and their text in the column `shown`, indexed by a name of the cell.

    Rows without a value are left out. The ends are NaN if a value has no interval.
    """
    there = rows[rows["value"] != ""]
    names = [name for name in there if name not in (*INTERVAL, *PROVENANCE, *DERIVED)]
    cells = [", ".join(filter(None, row)) for row in there[names].itertuples(index=False, name=None)]
    found = there[[*INTERVAL]].where(there != "").astype(float).set_axis(cells)
    numbers = zip(found.itertuples(index=False, name=None), there["n"], strict=True)
    found["shown"] = [_shown(value, low, high, n) for (value, low, high), n in numbers]
    return found.groupby(level=0, sort=False).last(skipna=False)


def _shown(value: float, low: float, high: float, n: str) -> str:
    interval = "" if np.isnan(low) else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.2f}{interval} n = {n}"


def _intervals(first: pd.DataFrame, second: pd.DataFrame) -> tuple[str, list[Change]]:
    moved, changed = moved_cells(first, second)
    old, new = measured(first)["shown"], measured(second)["shown"]
    shared = old.index.intersection(new.index)
    without = changed[["ci_low_before", "ci_low_after"]].isna().any(axis="columns")
    gone, come = old.drop(shared), new.drop(shared)
    text = (
        f"{len(moved)} of {len(shared)} cells moved, {len(changed) - without.sum()} more changed within their intervals"
    )
    if without.any():
        text += f", {without.sum()} without an interval changed"
    if len(gone) or len(come):
        text += f", {len(gone)} are gone, {len(come)} are new"
    changes = [*_moves("moved", moved), *_moves("changed, no interval", changed[without])]
    changes += [("gone", str(cell), shown, MISSING) for cell, shown in gone[:SHOWN].items()]
    return text, changes + [("new", str(cell), MISSING, shown) for cell, shown in come[:SHOWN].items()]


def _moves(what: str, cells: pd.DataFrame) -> Iterator[Change]:
    change = (cells["value_after"] - cells["value_before"]).map("{:+.2f}".format)
    for cell, before, after, by in zip(cells.index, cells["shown_before"], cells["shown_after"], change, strict=True):
        yield f"{what} by {by}", str(cell), before, after


def _verdicts(first: pd.DataFrame, second: pd.DataFrame) -> tuple[str, list[Change]]:
    old, new = (rows.set_index([*CLAIM])["verdict"].to_dict() for rows in (first, second))
    claims: dict[Any, str] = {**old, **new}
    rows = [("verdict", ", ".join(claim), old.get(claim, MISSING), new.get(claim, MISSING)) for claim in claims]
    changed = [row for row in rows if row[2] != row[3]]
    return f"{len(changed)} of {len(claims)} verdicts changed", changed


def _rows(first: pd.DataFrame, second: pd.DataFrame) -> tuple[str, list[Change]]:
    """Return the rows that only one of two tables without intervals has. At most SHOWN rows per run are listed."""
    tables = [rows.drop(columns=[*PROVENANCE], errors="ignore") for rows in (first, second)]
    old, new = ([*rows.itertuples(index=False, name=None)] for rows in tables)
    gone, come = ([row for row in rows if row not in others] for rows, others in ((old, {*new}), (new, {*old})))
    if not gone and not come:
        return f"all {len(first)} rows are the same", []
    changes = [("gone", _labelled([*map(str, tables[0])], row), "there", MISSING) for row in gone[:SHOWN]]
    changes += [("new", _labelled([*map(str, tables[1])], row), MISSING, "there") for row in come[:SHOWN]]
    return f"no intervals; {len(gone)} of {len(first)} rows are gone, {len(come)} of {len(second)} are new", changes


def _labelled(columns: Sequence[str], row: Sequence[str]) -> str:
    """Return the non-empty texts of a row, each after its column's name; fractions have five significant digits."""
    rounded = (f"{float(text):.5g}" if FRACTION.fullmatch(text) else text for text in row)
    return ", ".join(f"{name} {text}" for name, text in zip(columns, rounded, strict=True) if text)
