"""Addresses of the cells of tables.

Each measured number has a place. The name of the place is the id of its cell in the HTML page of the table.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa

from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.reporting.runs.values import NEARNESS, NON_INFERIORITY, Row
from captionlab.reporting.tables.render import Link, Table
from captionlab.storage.tables import Column, TableSchema, read_table, write_table

CELLS = TableSchema(
    "cells of tables",
    "a number in a table",
    ("table", "place"),
    table=Column(pa.string(), "name of the table"),
    place=Column(pa.string(), "name of the number's place, which is the id of its cell in the table's page"),
    text=Column(pa.string(), "the number as it is printed"),
)
DIFFERENCE = "difference"
# The name of a place -> the row of CELLS of the first table that has it.
Cells = Mapping[str, Row]


def place_name(place: Row) -> str:
    """Return the name of a number's place, built from the key columns of ROLE_DIFFERENCES that the row has.

    The name is empty if the row has none of the columns.
    """
    known = {name: place.get(name) for name in ROLE_DIFFERENCES.key}
    texts = {
        name: value if isinstance(value, str) else f"{value:g}" for name, value in known.items() if value is not None
    }
    return urlencode(texts)


def places_behind(row: Row, subject: str | None = None, against: str | None = None) -> dict[str, str]:
    """Return the names of the places that a row of ROLE_DIFFERENCES is about: its difference and its two sides.

    The sides are keyed by `subject` and `against`, or by the row's own values if these labels are not given. For a
    nearness or a non-inferiority, the difference is the one that it is computed from.
    """
    difference = {**row, "measure": row["measure"].removeprefix(NEARNESS).removeprefix(NON_INFERIORITY)}
    value = {**difference, "against": None}
    sides = {subject or row["subject"]: value, against or row["against"]: {**value, "subject": row["against"]}}
    return {DIFFERENCE: place_name(difference), **{label: place_name(side) for label, side in sides.items()}}


def links_to(places: Mapping[str, str], cells: Cells) -> list[Link]:
    """Return links to the cells of a comparison, from the result of `places_behind`.

    If a table has the difference, there is a single link to its cell. Otherwise there are links to the cells of the two
    sides, as far as tables have them.
    """
    found = {label: cells[place] for label, place in places.items() if place in cells}
    shown = {DIFFERENCE: found[DIFFERENCE]} if DIFFERENCE in found else found
    return [
        Link(f"{label} {cell['text']}", f"{cell['table']}.html#{cell['place']}", f"in {cell['table']}")
        for label, cell in shown.items()
    ]


def write_cells(path: str | os.PathLike[str], tables: Sequence[Table]) -> None:
    """Write a table of CELLS: the place and the text of every number in these tables."""
    rows = [
        {"table": table.name, "place": place, "text": cell.text}
        for table in tables
        for place, cell in table.places().items()
    ]
    write_table(path, CELLS, rows)


def read_cells(path: str | os.PathLike[str]) -> Cells:
    """Read a table of CELLS as a mapping from the name of a place to its first row."""
    cells: dict[str, Any] = {}
    for row in read_table(path, CELLS).to_pylist():
        cells.setdefault(row["place"], row)
    return cells
