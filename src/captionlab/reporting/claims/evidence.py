"""Evidence on the claims of a paper, and claims that are judged by a table of differences.

The key `evidence` of a claim selects rows of ROLE_DIFFERENCES by a value, or a list of values, for some of the columns.
`level` may also be `largest`: among rows that differ only in their level, the row with the largest level is taken.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import PaperRun, Row, trainings
from captionlab.reporting.tables.render import Cell, interval_cell

COLUMNS = (*ROLE_DIFFERENCES.key, "own")
LARGEST = "largest"
ENDS = ("difference", "ci_low", "ci_high")


@dataclass(frozen=True)
class Evidence:
    """Everything that a run has to judge the claims of a paper."""

    # Rows of ROLE_DIFFERENCES with the paper's labels. `places` has the result of
    # captionlab.reporting.tables.cells.places_behind.
    differences: Sequence[Row]
    # Returns the paper's own number for a row of `differences`, None if the paper has none.
    printed: Callable[[Row], float | None]
    # For claims that name captioners: which captioners stand for the paper's, and their values.
    captioners: tuple[Reproduction, PaperRun] | None = None
    comparable: bool = True  # whether the run's numbers may be compared with the paper's


@dataclass(frozen=True)
class Claim:
    """A claim of a paper and how its differences are judged. docs/claims.md explains the keys."""

    paper: str
    claim: str
    section: str
    statement: str
    direction: str
    share: float
    per: Sequence[str]

    def link(self, row: Row, evidence: Evidence) -> str:
        """Return the address of the page with the captions behind a difference, empty if none are known."""
        return ""


@dataclass(frozen=True)
class EvidenceClaim(Claim):
    """A claim that is judged by rows of a table of differences."""

    evidence: Mapping[str, Any]
    needs: str = ""  # what a run needs to test the claim; empty if any run can
    repetitions: str = ""  # what the number of seeds counts, if not trainings
    central: str = ""  # the abstract's words on the claim; empty if the abstract does not name it

    def rows(self, evidence: Evidence) -> list[Row]:
        """Return the rows of differences that have the values named by the claim."""
        wanted = {name: value for name, value in self.evidence.items() if (name, value) != ("level", LARGEST)}
        lists = {name: value if isinstance(value, list) else [value] for name, value in wanted.items()}
        found = [row for row in evidence.differences if all(row[name] in values for name, values in lists.items())]
        if self.evidence.get("level") != LARGEST:
            return found
        alike = defaultdict[tuple[Any, ...], list[Row]](list)
        for row in found:
            alike[tuple(row[name] for name in COLUMNS if name != "level")].append(row)
        return [max(rows, key=itemgetter("level")) for rows in alike.values()]

    def printed(self, row: Row, evidence: Evidence) -> float | None:
        """Return the difference that the paper prints, or None."""
        return evidence.printed(row)

    def parts(self, row: Row) -> list[str]:
        """Return the parts of the scope that a difference is judged in: the row's values in the columns of `per`."""
        return [f"by {row[name]}" if name == "scorer" else str(row[name]) for name in self.per if row[name]]

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """Return the differences of a scope in words, and the corpora of the claim that have no difference."""
        if not rows:
            return [f"tested {self.needs}"] if self.needs else []
        corpora = self.evidence.get("corpus")
        absent = sorted({*corpora} - {row["corpus"] for row in rows}) if isinstance(corpora, list) else []
        return [*map(self._text, rows), *([f"not in this run: {', '.join(absent)}"] if absent else [])]

    def number(self, row: Row) -> Cell:
        """Return the difference with its interval, as it is printed."""
        ends = [row[name] for name in ENDS]
        return interval_cell(ends, "+.2f" if max(map(abs, ends)) >= 1 else "+.3f")

    def _text(self, row: Row) -> str:
        """Return a difference in words: what is compared, the scorer, the difference and its interval."""
        names = [name for name in ("subject", "measure", "scorer") if row[name] and name not in self.per]
        what = " ".join(f"by {row[name]}" if name == "scorer" else str(row[name]) for name in names)
        open_places = [name for name in ("source", "level") if name not in (*self.per, *self.evidence) and row[name]]
        several = {name for name, value in self.evidence.items() if isinstance(value, list)} - {*self.per}
        if "corpus" in several:
            what += f" on {row['corpus']}"
        if "experiment" in several:
            what += f", {row['experiment']}"
        places = "".join(f", {row[name]:g}" if name == "level" else f", {row[name]}" for name in open_places)
        cell = self.number(row)
        repetitions = f"{row['seeds']} {self.repetitions}" if self.repetitions else trainings(row["seeds"])
        of = f"n = {row['n']}, {repetitions}"
        return f"{what}{places} against {row['against']} {cell.text} {cell.detail}, {of}".strip()
