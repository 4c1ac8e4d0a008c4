"""What a run measured for a paper: one look-up in its values and differences, with the published numbers beside."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from captionlab.evaluation.schemas import ROLE_VALUES
from captionlab.intervals import independent_difference
from captionlab.reporting.links import captions_link
from captionlab.reporting.published import Published

Row = Mapping[str, Any]
# What a number is of.
PLACE = ROLE_VALUES.key


def means(rows: Iterable[Row]) -> list[Row]:
    """Rows of SUMMARY or COMPARISONS; of a captioner with several trainings those of their mean, not of its own."""
    every = list(rows)
    several = {row["captioner"] for row in every if row["seeds"] > 1}
    return [row for row in every if row["seeds"] > 1 or row["captioner"] not in several]


def link_of(row: Row, against: str | None = None) -> str:
    """Where the captions are shown that a row of SUMMARY is of; of a mean over trainings those of the first."""
    by, among = row["retriever"], row["candidates"]
    return captions_link(row["corpus"], row["captioner"], row["evaluation"], row["metric"], by, among, against)


def trainings(number: int) -> str:
    """So many trainings, in words."""
    return "1 training" if number == 1 else f"{number} trainings"


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


@dataclass(frozen=True)
class Measured:
    """A value, or a difference, with its 95 % interval, trainings and images; `p_value` where a test was made."""

    value: float
    ci_low: float
    ci_high: float
    seeds: int
    n: int
    p_value: float | None = None

    @property
    def sign(self) -> int:
        """1 or -1 when the whole interval lies above or below 0, else 0."""
        return int(self.ci_low > 0) - int(self.ci_high < 0)

    @property
    def ends(self) -> tuple[float, float, float]:
        """The value and the ends of its interval."""
        return self.value, self.ci_low, self.ci_high

    def __neg__(self) -> "Measured":
        return replace(self, value=-self.value, ci_low=-self.ci_high, ci_high=-self.ci_low)


class AmbiguousError(ValueError):
    """A table of a paper asks for one value and the run has several."""


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
        self._rows: dict[tuple[Place, str | None], list[Row]] = {}
        for row in (*values, *differences):
            self._rows.setdefault((Place(**{name: row[name] for name in PLACE}), row.get("against")), []).append(row)
        self.published, self.comparable, self.corpora = published, comparable, dict(sorted(corpora.items()))

    def row(self, place: Place, against: str | None = None) -> Row | None:
        """The row of a value, or of how far it is above what it is held against; AmbiguousError where there are two."""
        rows = self._rows.get((place, against), [])
        if len(rows) > 1:
            raise AmbiguousError(
                f"{place.measure} of {place.subject}{f' against {against}' if against else ''} on {place.corpus} was "
                f"measured in several evaluations ({', '.join(sorted(row['evaluation'] for row in rows))}); "
                "name the one that counts under papers.<paper>.evaluations"
            )
        return rows[0] if rows else None

    def link(self, place: Place, against: str | None = None) -> str:
        """Where the captions are shown that a value is of, or both captioners' that a difference is between.

        Nothing where it is not known to be of a captioner's.
        """
        row = self.row(place, against)
        return link_of(row, against) if row and "captioner" in row else ""

    def value(self, place: Place) -> Measured | None:
        """The value in a place."""
        return self._measured("value", place)

    def difference(self, place: Place, against: str) -> Measured | None:
        """How far the value in a place is above what it is held against."""
        return self._measured("difference", place, against)

    def _measured(self, name: str, place: Place, against: str | None = None) -> Measured | None:
        if row := self.row(place, against):
            return Measured(row[name], row["ci_low"], row["ci_high"], row["seeds"], row["n"], row.get("p_value"))
        return None

    def either_difference(self, place: Place, against: str) -> Measured | None:
        """The difference between two subjects, whichever way round it was computed.

        Where neither was, from the two values and their intervals as if they were of different images, which is wider;
        None where the run cannot tell.
        """
        other = replace(place, subject=against)
        if paired := self.difference(place, against):
            return paired
        if paired := self.difference(other, place.subject):
            return -paired
        ours, theirs = self.value(place), self.value(other)
        if not (ours and theirs):
            return None
        apart = independent_difference(ours.ends, theirs.ends)
        return Measured(*apart, min(ours.seeds, theirs.seeds), min(ours.n, theirs.n))

    def found(self, column: str, experiment: str = "generated", **where: Any) -> list[Any]:
        """What stands in a column of the values of an experiment, in order of appearance; `where` has other columns."""
        wanted = {"experiment": experiment, **where}
        rows = (row for rows in self._rows.values() for row in rows if "value" in row)
        return list(dict.fromkeys(row[column] for row in rows if all(row[name] == wanted[name] for name in wanted)))
