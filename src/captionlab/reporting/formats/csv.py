"""The records of a table as CSV, and back as text."""

import csv
import io
import os

from captionlab.reporting.render import Table


def csv_text(table: Table) -> str:
    """The records, one row each; a missing value is an empty field, floats are written in full."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.record_columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.records)
    return stream.getvalue()


def read_records(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """The records of a table that was written as `csv_text` has it, as text; a missing value is empty."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
