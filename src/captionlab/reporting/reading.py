"""What the jobs of papers read: rows of tables, what a run measured, and what claims are judged by."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.reporting.cells import places_behind
from captionlab.reporting.evidence import Evidence
from captionlab.reporting.printed import Sides, printed_difference
from captionlab.reporting.published import Published, read_published
from captionlab.reporting.runs import Row
from captionlab.tables import TableSchema, read_metadata, read_table

Rows = list[dict[str, Any]]
Provenance = Mapping[str, Any]
Path = str | os.PathLike[str]


def read_rows(paths: Path | Sequence[Path], kind: TableSchema) -> Rows:
    """All rows of a table, of one file or of several."""
    rows: Rows = read_table(paths, kind).to_pylist()
    return rows


def read_by(names: Sequence[str], paths: Sequence[Path], kind: TableSchema) -> dict[str, Rows]:
    """The rows of a table of each role or captioner, by its name."""
    return {name: read_rows(path, kind) for name, path in zip(names, paths, strict=True)}


def read_measured(inputs: Row) -> tuple[Rows, Rows, Published]:
    """A paper's own values and differences, and the numbers that it prints."""
    values, differences = read_rows(inputs["values"], ROLE_VALUES), read_rows(inputs["differences"], ROLE_DIFFERENCES)
    return values, differences, read_published(inputs["published"])


def measured_on(provenance: Provenance, path: Path) -> Provenance:
    """The same, with the device that the numbers of a table were computed on, where it knows it."""
    return {**provenance, **read_metadata(path)}


def read_evidence(
    inputs: Row, params: Row, sides_of: Callable[[Row], Sides | None], corpora: Mapping[str, str]
) -> Evidence:
    """A paper's own differences, with what it prints of each by `sides_of`; `corpora`: its label of each by name."""
    differences = [
        {**row, "corpus": corpora.get(row["corpus"], row["corpus"]), "places": places_behind(row)}
        for row in read_rows(inputs["differences"], ROLE_DIFFERENCES)
    ]
    published, comparable = read_published(inputs["published"]), params["config"]["comparable"]
    return Evidence(differences, lambda row: printed_difference(published, row, sides_of), comparable=comparable)
