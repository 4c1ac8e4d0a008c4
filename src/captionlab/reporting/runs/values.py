"""Measured values and differences of a run for a paper, with the published numbers beside them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from captionlab.evaluation.schemas import ROLE_VALUES
from captionlab.reporting.runs.links import captions_link
from captionlab.reporting.runs.published import Published
from captionlab.statistics.intervals import independent_difference

# Prefixes of measures that are computed from a difference and the value of its second side: of a nearness, and of a
# non-inferiority, which says how far a value is from being worse than the other by a margin.
NEARNESS, NON_INFERIORITY = "nearness of ", "non-inferiority of "

Row = Mapping[str, Any]
# Columns that identify a number.
COORDINATES = ROLE_VALUES.key


def means(rows: Iterable[Row]) -> list[Row]:
    """Return rows of SUMMARY or COMPARISONS; for a captioner with several trainings, only the rows of their mean."""
    every = list(rows)
    several = {row["captioner"] for row in every if row["seeds"] > 1}
    return [row for row in every if row["seeds"] > 1 or row["captioner"] not in several]


def link_of(row: Row, against: str | None = None) -> str:
    """Return the address of the captions behind a row of SUMMARY, or behind a difference of its captioner.

    For a mean over trainings, the captions are of the first training, and the page explains the mean.
    """
    where = row["corpus"], row["captioner"], row["evaluation"], row["metric"], row["retriever"], row["candidates"]
    return captions_link(*where, against, row["seeds"])


def trainings(number: int) -> str:
    """Return the number of trainings in words."""
    return "1 training" if number == 1 else f"{number} trainings"


@dataclass(frozen=True)
class Coordinates:
    """The address of a number. The schemas in captionlab.evaluation.schemas explain the fields."""

    subject: str
    corpus: str
    measure: str
    scorer: str | None = None
    experiment: str = "generated"
    source: str | None = None
    level: float | None = None


@dataclass(frozen=True)
class Measured:
    """A value or a difference with its 95 % interval, numbers of trainings and images, and a p-value if tested.

    `link` is the address of the captions behind it, empty if there are none.
    """

    value: float
    ci_low: float
    ci_high: float
    seeds: int
    n: int
    p_value: float | None = None
    link: str = field(default="", compare=False)

    @property
    def sign(self) -> int:
        """1 or -1 if the whole interval is above or below 0, else 0."""
        return int(self.ci_low > 0) - int(self.ci_high < 0)

    @property
    def ends(self) -> tuple[float, float, float]:
        """The value and the ends of its interval."""
        return self.value, self.ci_low, self.ci_high

    def __neg__(self) -> "Measured":
        return replace(self, value=-self.value, ci_low=-self.ci_high, ci_high=-self.ci_low)


class AmbiguousError(ValueError):
    """A table of a paper asks for one value and the run has several."""


class PaperRun:
    """Rows of ROLE_VALUES and ROLE_DIFFERENCES, the published numbers, and the paper's settings in the config.

    `comparable` says whether the run's numbers may be compared with the published ones. `corpora` maps the paper's
    label to the name of a corpus.
    """

    def __init__(
        self,
        values: Iterable[Row],
        differences: Iterable[Row],
        published: Published,
        comparable: bool,
        corpora: Mapping[str, str],
    ):
        self._rows: dict[tuple[Coordinates, str | None], list[Row]] = {}
        for row in (*values, *differences):
            self._rows.setdefault(
                (Coordinates(**{name: row[name] for name in COORDINATES}), row.get("against")), []
            ).append(row)
        self.published, self.comparable, self.corpora = published, comparable, dict(sorted(corpora.items()))

    def row(self, place: Coordinates, against: str | None = None) -> Row | None:
        """Return the row of a value, or of its difference from `against`; None if there is no such row.

        Raises AmbiguousError if there are several.
        """
        rows = self._rows.get((place, against), [])
        if len(rows) > 1:
            raise AmbiguousError(
                f"{place.measure} of {place.subject}{f' against {against}' if against else ''} on {place.corpus} was "
                f"measured in several evaluations ({', '.join(sorted(row['evaluation'] for row in rows))}); "
                "name the one that counts under papers.<paper>.evaluations"
            )
        return rows[0] if rows else None

    def link(self, place: Coordinates, against: str | None = None) -> str:
        """Return the address of the captions behind a value, or of both captioners' captions behind a difference.

        The address is empty if the row names no captioner.
        """
        row = self.row(place, against)
        return link_of(row, against) if row and "captioner" in row else ""

    def value(self, place: Coordinates) -> Measured | None:
        """Return the value at a place, or None."""
        return self._measured("value", place)

    def difference(self, place: Coordinates, against: str) -> Measured | None:
        """Return the value at a place minus the value of `against`, or None."""
        return self._measured("difference", place, against)

    def _measured(self, name: str, place: Coordinates, against: str | None = None) -> Measured | None:
        if row := self.row(place, against):
            ends = row[name], row["ci_low"], row["ci_high"]
            return Measured(*ends, row["seeds"], row["n"], row.get("p_value"), self.link(place, against))
        return None

    def either_difference(self, place: Coordinates, against: str) -> Measured | None:
        """Return the difference between two subjects, in whichever direction it was computed.

        If neither direction was computed, the difference follows from the two values and their intervals as if they
        were of different images, which gives a wider interval. Returns None if a value is missing.
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
        """Return the distinct entries of a column of an experiment's values, in order of appearance.

        `where` restricts the rows by the values of other columns.
        """
        wanted = {"experiment": experiment, **where}
        rows = (row for rows in self._rows.values() for row in rows if "value" in row)
        return list(dict.fromkeys(row[column] for row in rows if all(row[name] == wanted[name] for name in wanted)))
