"""Markdown comparison of two runs: what differs in how they were made, and which cells of their tables moved.

The settings of a run are read from the provenance files that its jobs left (captionlab.jobs.provenance). Two runs can
therefore be compared even if their configs are lost or were edited.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from captionlab.jobs.provenance import written
from captionlab.reporting.documents.costs import TIMED_TABLES
from captionlab.reporting.documents.passages import Passage
from captionlab.reporting.tables.formats.markdown import escape_markdown
from captionlab.reporting.tables.parameters import flat_parameters
from captionlab.reporting.tables.sheets import PROVENANCE
from captionlab.reporting.templates import template
from captionlab.storage import paths

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
# Columns of a table of cells that moved.
CELLS = ("cell", "before", "after", "change")
NONE = "–"  # noqa: RUF001


class ComparisonError(ValueError):
    """A folder does not hold a finished run."""


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its jobs by rule and wildcards, and its tables by name with all columns as text."""

    name: str
    jobs: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, pd.DataFrame]


def read_run(folder: Path) -> FinishedRun:
    """Read the run in a folder that holds results/. Raises ComparisonError if there are no tables."""
    files = sorted((folder / "results" / "tables").glob("*.csv"))
    if not files:
        raise ComparisonError(f"{folder} is no finished run: there are no tables in {folder / 'results' / 'tables'}")
    jobs = {}
    for made in written(folder):
        wildcards = [f"{name} {value}" for name, value in made["wildcards"].items()]
        jobs[" ".join([made["rule"], *wildcards])] = made
    tables = {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in files}
    return FinishedRun(str(folder), jobs, tables)


def compare(before: FinishedRun, after: FinishedRun, costs: bool = False) -> str:
    """Return the comparison of two runs as a Markdown page.

    With `costs`, tables that contain running times are compared too; they always differ.
    """
    names = sorted((before.tables.keys() | after.tables.keys()) - (set() if costs else TIMED_TABLES))
    return template("comparison.md.jinja", md=escape_markdown).render(
        before=before,
        after=after,
        making=_making(before, after),
        changes={name: _changes(name, before, after) for name in names},
    )


# -------------------------------------------------------------------------------------------------------- making
def parameter_differences(before: FinishedRun, after: FinishedRun) -> list[tuple[str, ...]]:
    """Return (job, parameter, value before, value after) for every job parameter that differs. Code is left out.

    A job that only one run has counts as one difference, with the parameter "the job".
    """
    both = before.jobs.keys() & after.jobs.keys()
    found: list[dict[tuple[str, str], str]] = []
    for run in (before, after):
        given = {job: _parameters(made) if job in both else {"the job": "there"} for job, made in run.jobs.items()}
        found.append({(job, name): value for job, of_job in given.items() for name, value in of_job.items()})
    places = sorted(found[0].keys() | found[1].keys())
    pairs = [(*place, *(of_run.get(place, NONE) for of_run in found)) for place in places]
    return [pair for pair in pairs if pair[2] != pair[3]]


def _parameters(made: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters of a job and the digests of its inputs from outside the run.

    Nested names are joined by dots. Code and provenance footers are left out.
    """
    outside = {path: digest for path, digest in made["inputs"].items() if not path.startswith(f"{paths.RESULTS}/")}
    return flat_parameters({**made["params"], "input": outside})


def _making(before: FinishedRun, after: FinishedRun) -> Passage:
    lines = []
    for fact in ("commit", "device", "python"):
        found = [", ".join(sorted({str(made[fact]) for made in run.jobs.values()})) or NONE for run in (before, after)]
        if found[0] != found[1]:
            lines.append(f"- {fact}: {escape_markdown(found[0])}, then {escape_markdown(found[1])}")
    pairs = [(before.jobs[job], after.jobs[job]) for job in before.jobs.keys() & after.jobs.keys()]
    if other := {one["rule"] for one, two in pairs if one["params"].get("code") != two["params"].get("code")}:
        lines.append(f"- code that differs: {', '.join(escape_markdown(rule) for rule in sorted(other))}")
    differences = parameter_differences(before, after)
    text = "\n".join(lines) if lines or differences else "Nothing differs."
    return Passage(text, ["job", "parameter", "before", "after"], differences)


# --------------------------------------------------------------------------------------------------------- cells
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


def _changes(name: str, before: FinishedRun, after: FinishedRun) -> list[Passage]:
    if name not in before.tables or name not in after.tables:
        return [Passage(f"Only {escape_markdown((before if name in before.tables else after).name)} has it.")]
    first, second = before.tables[name], after.tables[name]
    columns = {*first, *second}
    if columns >= {*INTERVAL}:
        return _intervals(first, second)
    return _verdicts(first, second) if columns >= {*CLAIM, "verdict"} else _rows(first, second)


def _intervals(first: pd.DataFrame, second: pd.DataFrame) -> list[Passage]:
    moved, changed = moved_cells(first, second)
    old, new = measured(first)["shown"], measured(second)["shown"]
    shared = old.index.intersection(new.index)
    without = changed[["ci_low_before", "ci_low_after"]].isna().any(axis="columns")
    within = len(changed) - without.sum()
    moves = f"{len(moved)} of {len(shared)} cells moved; {within} more changed within their intervals."
    passages = [_moves(moves, moved)]
    if without.any():
        passages.append(_moves(f"{without.sum()} without an interval changed:", changed[without]))
    gone = [(cell, shown, NONE) for cell, shown in old.drop(shared).items()]
    come = [(cell, NONE, shown) for cell, shown in new.drop(shared).items()]
    if gone or come:
        text = f"Only one run has a value: {len(gone)} cells before, {len(come)} after."
        passages.append(Passage(text, CELLS[:3], [*gone[:SHOWN], *come[:SHOWN]], CELLS[1:3]))
    return passages


def _moves(text: str, cells: pd.DataFrame) -> Passage:
    change = (cells["value_after"] - cells["value_before"]).map("{:+.2f}".format)
    rows = zip(cells.index, cells["shown_before"], cells["shown_after"], change, strict=True)
    return Passage(text, CELLS, [*rows], CELLS[1:])


def _verdicts(first: pd.DataFrame, second: pd.DataFrame) -> list[Passage]:
    old, new = (rows.set_index([*CLAIM])["verdict"].to_dict() for rows in (first, second))
    claims: dict[Any, str] = {**old, **new}
    rows = [(", ".join(claim), old.get(claim, NONE), new.get(claim, NONE)) for claim in claims]
    changed = [row for row in rows if row[1] != row[2]]
    return [Passage(f"{len(changed)} of {len(claims)} verdicts changed.", ["claim", "before", "after"], changed)]


def _rows(first: pd.DataFrame, second: pd.DataFrame) -> list[Passage]:
    """Return the rows that only one of two tables without intervals has. At most SHOWN rows per run are listed."""
    tables = [rows.drop(columns=[*PROVENANCE], errors="ignore") for rows in (first, second)]
    old, new = ([*rows.itertuples(index=False, name=None)] for rows in tables)
    gone, come = ([row for row in rows if row not in others] for rows, others in ((old, {*new}), (new, {*old})))
    if not gone and not come:
        return [Passage(f"All {len(first)} rows are the same.")]
    of_runs = zip(("before", "after"), tables, (gone, come), strict=True)
    shown = [(run, _labelled([*map(str, rows)], row)) for run, rows, apart in of_runs for row in apart[:SHOWN]]
    text = f"No intervals: {len(gone)} of {len(first)} rows are gone, {len(come)} of {len(second)} are new."
    return [Passage(text, ["run", "row"], shown)]


def _labelled(columns: Sequence[str], row: Sequence[str]) -> str:
    """Return the non-empty texts of a row, each after its column's name; fractions have five significant digits."""
    rounded = (f"{float(text):.5g}" if FRACTION.fullmatch(text) else text for text in row)
    return ", ".join(f"{name} {text}" for name, text in zip(columns, rounded, strict=True) if text)
