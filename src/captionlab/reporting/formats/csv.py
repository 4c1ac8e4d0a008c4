"""The records of a table as CSV."""

import csv
import io

from captionlab.reporting.render import Table


def csv_text(table: Table) -> str:
    """The records, one row each; a missing value is an empty field, floats are written in full."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, table.record_columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.records)
    return stream.getvalue()
