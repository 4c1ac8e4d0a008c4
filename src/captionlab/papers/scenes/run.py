"""What a run measured for the scenes paper, and the cells and notes that its tables share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.reporting.published import Published, PublishedValue
from captionlab.reporting.render import MISSING, Cell, Value
from captionlab.reporting.sheets import PLACE, PROVENANCE, Measured, Sheet
from captionlab.reporting.verdicts import Verdict, beside, judge, smallest_difference

Row = Mapping[str, Any]

RECORD_COLUMNS = (
    "experiment", "subject", "source", "level", "measure", "against", "value", "ci_low", "ci_high", "seeds", "n",
    "published", "verdict", "smallest_difference", *PROVENANCE,
)  # fmt: skip
OVER_SPLITS = (
    "Intervals: 95 %, Student's t over splits that are drawn anew, corrected for the images that they share, and never "
    "narrower than the test images of one split allow."
)


@dataclass(frozen=True)
class ScenesRun:
    """Values and differences of a run (rows of ROLE_VALUES and ROLE_DIFFERENCES), and the published numbers.

    `split` is the split that is tested on; images of all others are the paper's "Train-Val". `corpus` is the corpus
    that is analysed, `validation` that of Table 1, `training` that which the finetuned captioner learnt from.
    """

    values: Sequence[Row]
    differences: Sequence[Row]
    published: Published
    comparable: bool
    corpus: str
    validation: str
    training: str
    split: str

    def value(self, experiment: str, subject: str, measure: str, **place: Any) -> Measured | None:
        """A value; `place` has the other columns, which are missing by default."""
        return _find(self.values, "value", {"experiment": experiment, "subject": subject, "measure": measure, **place})

    def difference(self, experiment: str, subject: str, measure: str, against: str, **place: Any) -> Measured | None:
        """How much more a subject has than what it is held against."""
        wanted = {"experiment": experiment, "subject": subject, "measure": measure, "against": against, **place}
        return _find(self.differences, "difference", wanted)

    def found(self, column: str, experiment: str, **place: Any) -> list[Any]:
        """What stands in a column of an experiment, in order of appearance."""
        rows = (row for row in self.values if row["experiment"] == experiment)
        fitting = (row for row in rows if all(row[name] == value for name, value in place.items()))
        return list(dict.fromkeys(row[column] for row in fitting))


def _find(rows: Iterable[Row], name: str, place: Row) -> Measured | None:
    wanted = {**dict.fromkeys(column for column in PLACE if column != "corpus"), **place}
    for row in rows:
        if all(row[column] == value for column, value in wanted.items()):
            return Measured(row[name], row["ci_low"], row["ci_high"], row["seeds"], row["n"])
    return None


@dataclass
class ScenesSheet(Sheet):
    """The cells of one table, the record of each, and its notes."""

    COLUMNS = RECORD_COLUMNS

    run: ScenesRun

    def pair(
        self,
        place: Mapping[str, Value],
        ours: Measured | None,
        published: PublishedValue | None,
        decimals: int = 2,
        interval: bool = True,
        verdict: Verdict | None = None,
    ) -> list[Cell]:
        """Our number with its interval, and the paper's with a verdict; `place` has columns of the record.

        Without `interval` the number is a count, and the verdict asks how near the two are. A `verdict` is given where
        the number has an interval that nobody knows.
        """
        verdict = verdict or judge(ours, published, self.run.comparable)
        record: dict[str, Value] = {name: place.get(name) for name in RECORD_COLUMNS}
        record |= {name: getattr(ours, name, None) for name in ("value", "seeds", "n")}
        if interval:
            record |= {name: getattr(ours, name, None) for name in ("ci_low", "ci_high")}
            record["smallest_difference"] = smallest_difference(ours)
        record |= {"published": published.text if published else None, "verdict": verdict}
        self.records.append(record | {key: self.provenance.get(key) for key in PROVENANCE})
        detail = f"[{ours.ci_low:.{decimals}f}, {ours.ci_high:.{decimals}f}]" if ours and interval else ""
        printed = Cell(MISSING) if ours is None else Cell(f"{ours.value:.{decimals}f}", detail)
        return [printed, beside(published, verdict, smallest_difference(ours))]

    def value(
        self,
        experiment: str,
        subject: str,
        measure: str,
        published: PublishedValue | None = None,
        decimals: int = 2,
        **place: Any,
    ) -> list[Cell]:
        """The same for a value of the run in a place."""
        columns = {"experiment": experiment, "subject": subject, "measure": measure, **place}
        return self.pair(columns, self.run.value(experiment, subject, measure, **place), published, decimals)


def without_interval(value: float, n: int) -> Measured:
    """A number that nothing is resampled for."""
    return Measured(value, value, value, 1, n)
