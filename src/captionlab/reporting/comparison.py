"""Two runs side by side: what differs in the making, and which cells of their tables moved. As Markdown.

What a run was made with is read from what its jobs left in tables and beside them (captionlab.provenance). So two runs
can be compared whose configs are lost or were edited since.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.provenance import written
from captionlab.reporting.render import escape_markdown, markdown_rows
from captionlab.reporting.sheets import PROVENANCE
from captionlab.tables import read_provenance

Row = Mapping[str, str]

INTERVAL = ("value", "ci_low", "ci_high")
# Columns that follow from the value, or belong to somebody else's.
DERIVED = ("n", "published", "difference", "verdict", "smallest_difference")
# What a row is in tables of verdicts without intervals.
CLAIM = ("paper", "claim", "scope")
# Values nearer than this are the same; times 100, as metrics are, no table prints so much.
NOTHING = 1e-3
# Rows shown of each run where it has others than the other run.
SHOWN = 5
NONE = "–"  # noqa: RUF001


class ComparisonError(ValueError):
    """A folder is no finished run."""


@dataclass(frozen=True)
class Run:
    """A finished run: its jobs by rule and wildcards, and the rows of its tables by name."""

    name: str
    jobs: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Sequence[Row]]


def read_run(folder: Path) -> Run:
    """Read the run in a folder that holds results/; ComparisonError when it has no tables."""
    files = sorted((folder / "results" / "tables").glob("*.csv"))
    if not files:
        raise ComparisonError(f"{folder} is no finished run: there are no tables in {folder / 'results' / 'tables'}")
    jobs = {}
    of_tables = [read_provenance(path) for path in sorted((folder / "results").rglob("*.parquet"))]
    for made in filter(None, [*of_tables, *written(folder)]):
        wildcards = [f"{name} {value}" for name, value in made["wildcards"].items()]
        jobs[" ".join([made["rule"], *wildcards])] = made
    tables = {}
    for path in files:
        with open(path, encoding="utf-8", newline="") as file:
            tables[path.stem] = list(csv.DictReader(file))
    return Run(str(folder), jobs, tables)


def compare(before: Run, after: Run) -> str:
    """The comparison of two runs as a page of Markdown."""
    lines = [
        f"# {escape_markdown(before.name)} and {escape_markdown(after.name)}",
        "",
        "## What they were made with",
        "",
        *_making(before, after),
        "",
        "## What moved",
        "",
        "A cell moved when its two 95 % intervals have no value in common. By chance alone that happens to about one "
        "cell in two hundred, if the runs saw different images of the same kind.",
        "",
        *_moved(before, after),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


# -------------------------------------------------------------------------------------------------------- making
def parameter_differences(before: Run, after: Run) -> list[tuple[str, ...]]:
    """(job, parameter, value before, value after) of every parameter of every job that differs; code is not among them.

    A job that only one run has is one difference, with the parameter "the job".
    """
    found = []
    for job in sorted(before.jobs.keys() | after.jobs.keys()):
        if job not in before.jobs or job not in after.jobs:
            found.append((job, "the job", *("there" if job in run.jobs else NONE for run in (before, after))))
            continue
        first, second = (dict(_flat(_parameters(run.jobs[job]))) for run in (before, after))
        for name in sorted(first.keys() | second.keys()):
            if first.get(name, NONE) != second.get(name, NONE):
                found.append((job, name, first.get(name, NONE), second.get(name, NONE)))
    return found


def _parameters(made: Mapping[str, Any]) -> dict[str, Any]:
    """What a job was given: parameters, and the digests of what it read from outside of the run.

    Without its code, and without what footers say of the run, which other jobs say too.
    """
    outside = {path: digest for path, digest in made["inputs"].items() if not path.startswith(f"{paths.RESULTS}/")}
    given = {name: value for name, value in made["params"].items() if name not in ("code", "provenance")}
    return {**given, "input": outside}


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    else:
        yield name, str(value)


def _making(before: Run, after: Run) -> list[str]:
    lines = []
    for fact in ("commit", "device", "python"):
        found = [", ".join(sorted({str(made[fact]) for made in run.jobs.values()})) or NONE for run in (before, after)]
        if found[0] != found[1]:
            lines.append(f"- {fact}: {escape_markdown(found[0])}, then {escape_markdown(found[1])}")
    pairs = [(before.jobs[job], after.jobs[job]) for job in before.jobs.keys() & after.jobs.keys()]
    if other := {one["rule"] for one, two in pairs if one["params"].get("code") != two["params"].get("code")}:
        lines.append(f"- code that differs: {', '.join(escape_markdown(rule) for rule in sorted(other))}")
    if differences := parameter_differences(before, after):
        lines += ["", *_table(["job", "parameter", "before", "after"], differences)]
    return lines[lines[:1] == [""] :] or ["Nothing differs."]


# --------------------------------------------------------------------------------------------------------- cells
@dataclass(frozen=True)
class Moved:
    """A cell of a table that moved beyond the intervals: the row, and its values before and after."""

    cell: str
    before: Row
    after: Row


def moved_cells(before: Sequence[Row], after: Sequence[Row]) -> tuple[list[Moved], list[Moved]]:
    """Cells of a table with intervals that moved, and the others that both runs have a value for and that changed.

    A cell moved when the two intervals have no value in common.
    """
    first, second = _measured(before), _measured(after)
    shared = [Moved(cell, row, second[cell]) for cell, row in first.items() if cell in second]
    changed = [one for one in shared if not _same(one)]
    moved = [one for one in changed if not _overlap(one)]
    return moved, [one for one in changed if one not in moved]


def _measured(rows: Sequence[Row]) -> dict[str, Row]:
    """The rows that have a value, by what they are values of."""
    others = (*INTERVAL, *PROVENANCE, *DERIVED)
    return {
        ", ".join(value for name, value in row.items() if value and name not in others): row
        for row in rows
        if row["value"]
    }


def _same(one: Moved) -> bool:
    """Equal, or nearer than a thousandth, which no table prints."""
    first, second = one.before["value"], one.after["value"]
    return first == second or abs(float(first) - float(second)) < NOTHING


def _overlap(one: Moved) -> bool:
    rows = (one.before, one.after)
    return max(float(row["ci_low"]) for row in rows) <= min(float(row["ci_high"]) for row in rows)


def _moved(before: Run, after: Run) -> list[str]:
    lines = []
    for name in sorted(before.tables.keys() | after.tables.keys()):
        lines += [f"### {escape_markdown(name)}", "", *_changes(name, before, after), ""]
    return lines


def _changes(name: str, before: Run, after: Run) -> list[str]:
    if name not in before.tables or name not in after.tables:
        return [f"Only {escape_markdown((before if name in before.tables else after).name)} has it."]
    first, second = before.tables[name], after.tables[name]
    columns = {column for row in (*first[:1], *second[:1]) for column in row}
    if columns >= {*INTERVAL}:
        return _intervals(first, second)
    return _verdicts(first, second) if columns >= {*CLAIM, "verdict"} else _rows(first, second)


def _intervals(first: Sequence[Row], second: Sequence[Row]) -> list[str]:
    moved, changed = moved_cells(first, second)
    old, new = _measured(first), _measured(second)
    shared = len(old.keys() & new.keys())
    lines = [f"{len(moved)} of {shared} cells moved; {len(changed)} more changed within their intervals."]
    if moved:
        rows = []
        for cell in moved:
            change = float(cell.after["value"]) - float(cell.before["value"])
            rows.append((cell.cell, _shown(cell.before), _shown(cell.after), f"{change:+.2f}"))
        lines += ["", *_table(["cell", "before", "after", "change"], rows, numeric=3)]
    gone = [(cell, _shown(row), NONE) for cell, row in old.items() if cell not in new]
    come = [(cell, NONE, _shown(row)) for cell, row in new.items() if cell not in old]
    if gone or come:
        lines += ["", f"Only one run has a value: {len(gone)} cells before, {len(come)} after.", ""]
        lines += _table(["cell", "before", "after"], [*gone[:SHOWN], *come[:SHOWN]], numeric=2)
    return lines


def _shown(row: Row) -> str:
    value, low, high = (float(row[name]) for name in INTERVAL)
    return f"{value:.2f} [{low:.2f}, {high:.2f}] n = {row['n']}"


def _verdicts(first: Sequence[Row], second: Sequence[Row]) -> list[str]:
    old, new = ({tuple(row[name] for name in CLAIM): row["verdict"] for row in rows} for rows in (first, second))
    claims = {**old, **new}
    changed = [
        (", ".join(claim), old.get(claim, NONE), new.get(claim, NONE))
        for claim in claims
        if old.get(claim) != new.get(claim)
    ]
    lines = [f"{len(changed)} of {len(claims)} verdicts changed."]
    return lines + (["", *_table(["claim", "before", "after"], changed)] if changed else [])


def _rows(first: Sequence[Row], second: Sequence[Row]) -> list[str]:
    """Rows of a table without intervals that the other run does not have, some of them shown."""
    old, new = (
        [tuple(value for name, value in row.items() if name not in PROVENANCE) for row in rows]
        for rows in (first, second)
    )
    gone, come = [row for row in old if row not in set(new)], [row for row in new if row not in set(old)]
    if not gone and not come:
        return [f"All {len(first)} rows are the same."]
    lines = [f"No intervals: {len(gone)} of {len(first)} rows are gone, {len(come)} of {len(second)} are new."]
    shown = [("before", row) for row in gone[:SHOWN]] + [("after", row) for row in come[:SHOWN]]
    return [*lines, "", *_table(["run", "row"], [(run, ", ".join(filter(None, row))) for run, row in shown])]


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], numeric: int = 0) -> list[str]:
    """A table in Markdown; the last `numeric` columns are aligned to the right."""
    right = [index >= len(headings) - numeric for index in range(len(headings))]
    return markdown_rows(headings, right, [list(map(escape_markdown, row)) for row in rows])
