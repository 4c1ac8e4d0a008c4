"""Input functions for the jobs of papers: rows of tables, measured values, and evidence on claims."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES, ROLE_VALUES
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.claims.printed import Sides, printed_difference
from captionlab.reporting.runs.published import Published, read_published
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.cells import places_behind
from captionlab.storage.tables import TableSchema, read_metadata, read_table

Rows = list[dict[str, Any]]
Provenance = Mapping[str, Any]
Path = str | os.PathLike[str]


def read_rows(paths: Path | Sequence[Path], kind: TableSchema) -> Rows:
    """Return all rows of a table, from one file or several."""
    rows: Rows = read_table(paths, kind).to_pylist()
    return rows


def read_by(names: Sequence[str], paths: Sequence[Path], kind: TableSchema) -> dict[str, Rows]:
    """Return the rows of the tables of roles or captioners, by name."""
    return {name: read_rows(path, kind) for name, path in zip(names, paths, strict=True)}


def read_measured(inputs: Row) -> tuple[Rows, Rows, Published]:
    """Return a paper's own values and differences, and its published numbers."""
    values, differences = read_rows(inputs["values"], ROLE_VALUES), read_rows(inputs["differences"], ROLE_DIFFERENCES)
    return values, differences, read_published(inputs["published"])


def measured_on(provenance: Provenance, path: Path) -> Provenance:
    """Return the provenance with the metadata of a table, such as the device on which its numbers were computed."""
    return {**provenance, **read_metadata(path)}


def read_evidence(
    inputs: Row, params: Row, sides_of: Callable[[Row], Sides | None], corpora: Mapping[str, str]
) -> Evidence:
    """Return a paper's own differences as evidence, with the published differences that `sides_of` describes.

    `corpora` maps the name of a corpus to the paper's label.
    """
    differences = [
        {**row, "corpus": corpora.get(row["corpus"], row["corpus"]), "places": places_behind(row)}
        for row in read_rows(inputs["differences"], ROLE_DIFFERENCES)
    ]
    published, comparable = read_published(inputs["published"]), params["config"]["comparable"]
    return Evidence(differences, lambda row: printed_difference(published, row, sides_of), comparable=comparable)
