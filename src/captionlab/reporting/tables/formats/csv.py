"""Records of a table as CSV, written and read."""

import csv
import io
import os

from captionlab.reporting.tables.render import Table


def csv_text(table: Table) -> str:
    """Return the records as CSV, a row for each. A missing value is an empty field; floats have full precision."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.record_columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.records)
    return stream.getvalue()


def read_records(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Read the records of a table written by `csv_text`, as text. A missing value is an empty text."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
