"""Files that own tables are made from."""

import os
from collections.abc import Mapping, Sequence

from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.formats.csv import read_records
from captionlab.reporting.tables.own_table import Numbers, published_numbers
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_table

File = str | os.PathLike[str]


def read_numbers(
    summary: File, comparisons: File, tables: Sequence[File], papers: Mapping[str, Row], humans: Sequence[str]
) -> Numbers:
    """Return the numbers that an own table can have.

    `tables` are CSV files of papers' tables, in folders with the names of the papers. `papers` has the block of each
    paper in the config.
    """
    records: dict[str, list[dict[str, str]]] = {}
    for path in tables:
        paper = os.path.basename(os.path.dirname(path))
        records.setdefault(paper, []).extend(read_records(path))
    published, context = published_numbers(records, papers)
    values, differences = read_table(summary, SUMMARY).to_pylist(), read_table(comparisons, COMPARISONS).to_pylist()
    return Numbers(values, differences, published, context, humans)
