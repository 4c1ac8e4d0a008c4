"""What a run measured for a paper: one look-up in its values and differences, with the published numbers beside."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from captionlab.evaluation.schemas import ROLE_VALUES
from captionlab.reporting.published import Published

Row = Mapping[str, Any]
# What a number is of.
PLACE = ROLE_VALUES.key


@dataclass(frozen=True)
class Place:
    """Where a number stands; the schemas in captionlab.evaluation.schemas explain the fields."""

    subject: str
    corpus: str
    measure: str
    scorer: str | None = None
    experiment: str = "generated"
    source: str | None = None
    level: float | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """The fields in the order of PLACE."""
        return tuple(getattr(self, name) for name in PLACE)


@dataclass(frozen=True)
class Measured:
    """A value, or a difference, with its interval, trainings and images."""

    value: float
    ci_low: float
    ci_high: float
    seeds: int
    n: int

    @property
    def sign(self) -> int:
        """1 or -1 when the whole interval lies above or below 0, else 0."""
        return int(self.ci_low > 0) - int(self.ci_high < 0)


class Run:
    """Rows of ROLE_VALUES and ROLE_DIFFERENCES, the published numbers, and what the config says of the paper.

    `comparable`: whether these may be held against the published ones. `corpora`: the paper's label -> name.
    """

    def __init__(
        self,
        values: Iterable[Row],
        differences: Iterable[Row],
        published: Published,
        comparable: bool,
        corpora: Mapping[str, str],
    ):
        self._values = {tuple(row[name] for name in PLACE): row for row in values}
        self._differences = {(*(row[name] for name in PLACE), row["against"]): row for row in differences}
        self.published, self.comparable = published, comparable
        self.corpora = dict(sorted(corpora.items()))

    def value(self, place: Place) -> Measured | None:
        """The value in a place."""
        row = self._values.get(place.key)
        return None if row is None else _measured(row, "value")

    def difference(self, place: Place, against: str) -> Measured | None:
        """How far the value in a place is above what it is held against."""
        row = self._differences.get((*place.key, against))
        return None if row is None else _measured(row, "difference")

    def found(self, column: str, experiment: str = "generated", **where: Any) -> list[Any]:
        """What stands in a column of the values of an experiment, in order of appearance; `where` has other columns."""
        rows = (row for row in self._values.values() if row["experiment"] == experiment)
        return list(dict.fromkeys(row[column] for row in rows if all(row[name] == where[name] for name in where)))


def _measured(row: Row, name: str) -> Measured:
    return Measured(row[name], row["ci_low"], row["ci_high"], row["seeds"], row["n"])
