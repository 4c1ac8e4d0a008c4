"""Published numbers of the papers, from their files published.csv: paper, table, row, column, metric, value, note."""

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

COLUMNS = ("paper", "table", "row", "column", "metric", "value", "note")


class PublishedError(ValueError):
    """A file of published numbers is not valid."""


@dataclass(frozen=True)
class PublishedValue:
    """A number as it is printed. `text` keeps its decimals: 73.0 is not 73."""

    text: str
    # A note that begins with "truncated" says that the printed digits were cut off, not rounded.
    note: str = ""

    @property
    def value(self) -> float:
        """The number."""
        return float(self.text)

    @property
    def decimals(self) -> int:
        """The number of printed decimals."""
        return -int(Decimal(self.text).as_tuple().exponent)

    @property
    def ends(self) -> tuple[float, float]:
        """The range that is printed as this number: 72.95 to 73.05 for 73.0, 0.66 to 0.67 for a truncated 0.66."""
        unit = 10.0**-self.decimals
        if self.note.startswith("truncated"):
            return self.value, self.value + unit
        return self.value - unit / 2, self.value + unit / 2


PublishedCell = tuple[str, str, str, str]  # table, row, column, metric


@dataclass(frozen=True)
class Published:
    """The numbers of one paper by table, row, column and metric, in the order of the paper."""

    paper: str
    values: Mapping[PublishedCell, PublishedValue]

    def find(self, table: str, row: str, column: str, metric: str) -> PublishedValue | None:
        """Return the number at a place of a table, or None if the paper has none."""
        return self.values.get((table, row, column, metric))

    def rows(self, *tables: str) -> list[str]:
        """Return the labels of the rows of tables, each from top to bottom."""
        return list(dict.fromkeys(place[1] for table in tables for place in self.values if place[0] == table))

    def columns(self, *tables: str) -> list[str]:
        """Return the labels of the columns of tables (for text metrics, of their blocks), in the order of the paper."""
        return list(dict.fromkeys(place[2] for table in tables for place in self.values if place[0] == table))


def read_published(path: str | os.PathLike[str]) -> Published:
    """Read the published numbers of a paper. Raises PublishedError, which names the line if a line is not valid."""
    values: dict[PublishedCell, PublishedValue] = {}
    papers = set()
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise PublishedError(f"{path}: the first line must be {','.join(COLUMNS)}")
        for row in reader:
            place = (row["table"], row["row"], row["column"], row["metric"])
            try:
                if not Decimal(row["value"]).is_finite():
                    raise InvalidOperation
            except (InvalidOperation, TypeError):
                raise PublishedError(f"{path}, line {reader.line_num}: {row['value']!r} is no number") from None
            if place in values:
                raise PublishedError(f"{path}, line {reader.line_num}: {' / '.join(place)} is there twice")
            values[place] = PublishedValue(row["value"], row["note"] or "")
            papers.add(row["paper"])
    if len(papers) != 1:
        raise PublishedError(f"{path} must hold the numbers of one paper; it holds {len(papers)}")
    return Published(papers.pop(), values)
