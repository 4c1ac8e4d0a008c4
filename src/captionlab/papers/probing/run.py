"""What a run measured for the probing paper, and the cells and notes that its tables share."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from captionlab.reporting.footnotes import OVER_IMAGES
from captionlab.reporting.published import Published, PublishedValue
from captionlab.reporting.render import MISSING, Cell, Value
from captionlab.reporting.sheets import PLACE, PROVENANCE, Measured, Sheet
from captionlab.reporting.verdicts import Verdict, beside, judge, smallest_difference

Row = Mapping[str, Any]

# The role that all others are compared with: the captioner that was trained by cross-entropy alone.
REFERENCE = "CE"
RECORD_COLUMNS = (
    *PLACE, "against", "value", "ci_low", "ci_high", "seeds", "n", "published", "verdict",
    "smallest_difference", *PROVENANCE,
)  # fmt: skip
INTERVALS = (
    f"{OVER_IMAGES} Of several trainings also by Student's t over their seeds, the two joined by squares, and cut "
    "where a measure ends. Perplexities have geometric means and intervals on the scale of their logarithms; their "
    "differences are a ratio to the other, less 1, times the other."
)


@dataclass(frozen=True)
class Place:
    """Where a number stands; the kinds in captionlab.evaluation.schemas explain the fields."""

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


class ProbingRun:
    """Values and differences of a run, the published numbers, and which of the run stands for which of the paper.

    `block` is `papers.probing` of the config; `rewards` gives for each role the labels of the scorers that rewarded it,
    `objectives` what it was trained by.
    """

    def __init__(
        self,
        values: Iterable[Row],
        differences: Iterable[Row],
        published: Published,
        block: Mapping[str, Any],
        rewards: Mapping[str, Sequence[str]],
        objectives: Mapping[str, Mapping[str, Any]],
    ):
        self._values = {tuple(row[name] for name in PLACE): row for row in values}
        self._differences = {(*(row[name] for name in PLACE), row["against"]): row for row in differences}
        self.published, self.rewards, self.objectives = published, rewards, objectives
        self.comparable: bool = block["comparable"]
        self.corpora: Mapping[str, str] = dict(sorted(block["corpora"].items()))
        models = published.rows("2")
        self.roles = sorted(block["captioners"], key=lambda role: (_rank(models, role), role))
        self.scorers = sorted(block["scorers"], key=lambda label: (_rank(models, label), label))
        self.extras = [role for role in self.roles if role not in models]

    def value(self, place: Place) -> Measured | None:
        """The value in a place."""
        row = self._values.get(place.key)
        return None if row is None else _measured(row, "value")

    def difference(self, place: Place, against: str = REFERENCE) -> Measured | None:
        """The difference in a place."""
        row = self._differences.get((*place.key, against))
        return None if row is None else _measured(row, "difference")

    def measures(self, experiment: str = "generated") -> set[str]:
        """Measures of the captions of roles."""
        return {row["measure"] for row in self._values.values() if row["experiment"] == experiment}

    def levels(self, experiment: str, subject: str | None = None) -> list[float]:
        """Levels of an experiment, from the smallest."""
        rows = (row for row in self._values.values() if row["experiment"] == experiment)
        return sorted({row["level"] for row in rows if subject in (None, row["subject"])} - {None})

    def sources(self) -> list[str]:
        """Where templates come from, the published ones first."""
        found = {row["source"] for row in self._values.values() if row["experiment"] == "template"}
        return sorted(found, reverse=True)


def _rank(models: Sequence[str], label: str) -> int:
    return models.index(label) if label in models else len(models)


def _measured(row: Row, name: str) -> Measured:
    return Measured(row[name], row["ci_low"], row["ci_high"], row["seeds"], row["n"])


@dataclass
class ProbingSheet(Sheet):
    """The cells of one table, the record of each, and its notes."""

    COLUMNS = RECORD_COLUMNS

    run: ProbingRun

    def cell(
        self,
        place: Place,
        places: int = 1,
        against: str | None = None,
        published: PublishedValue | None = None,
        mark: str = "",
    ) -> Cell:
        """Our value, or with `against` our difference with its sign, and the interval; the record is kept."""
        ours = self.run.value(place) if against is None else self.run.difference(place, against)
        verdict = judge(ours, published, self.run.comparable)
        record: dict[str, Value] = dict(zip(PLACE, place.key, strict=True))
        record |= {name: getattr(ours, name, None) for name in ("value", "ci_low", "ci_high", "seeds", "n")}
        record |= {"against": against, "published": published.text if published else None, "verdict": verdict}
        record["smallest_difference"] = smallest_difference(ours)
        self.records.append(record | {key: self.provenance.get(key) for key in PROVENANCE})
        if ours is None:
            return Cell(MISSING)
        sign = "+" if against is not None else ""
        low, high = (f"{end:{sign}.{places}f}" for end in (ours.ci_low, ours.ci_high))
        return Cell(f"{ours.value:{sign}.{places}f}{mark}", f"[{low}, {high}]")

    def beside(self, published: PublishedValue | None) -> Cell:
        """The paper's number beside the cell that was made last, with its verdict."""
        last = self.records[-1]
        return beside(published, cast(Verdict, last["verdict"]), cast(float | None, last["smallest_difference"]))

    def heading(self, label: str) -> str:
        """Heading of the block of a corpus: the paper's name, ours, and how many images there are."""
        name = self.run.corpora[label]
        counts = {int(str(r["n"])) for r in self.records if r["corpus"] == name and r["n"]}
        images = f", {max(counts)} images" if counts else ""
        return f"{label} (here {name}{images})"

    def last_notes(self) -> list[str]:
        """What the intervals are, and over how many trainings."""
        seeds = sorted({int(str(record["seeds"])) for record in self.records if record["seeds"]})
        if not seeds:
            return []
        return [f"{INTERVALS} Trainings of a role: {' to '.join(map(str, dict.fromkeys((seeds[0], seeds[-1]))))}."]
