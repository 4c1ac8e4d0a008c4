"""What the claims of a paper are judged by, and claims that are judged by a table of differences.

`evidence` of such a claim says which rows of ROLE_DIFFERENCES bear on it: a value, or a list of values, for some of its
columns. `level` may also be `largest`: of the rows that differ in nothing else the one with the largest level.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES
from captionlab.reporting.render import interval_cell
from captionlab.reporting.reproduction import Reproduction
from captionlab.reporting.runs import Row, Run, trainings

COLUMNS = (*ROLE_DIFFERENCES.key, "own")
LARGEST = "largest"
ENDS = ("difference", "ci_low", "ci_high")
# How the measure begins of how far something is not higher by more than a margin.
NON_INFERIORITY = "non-inferiority of "


@dataclass(frozen=True)
class Evidence:
    """What a run has on the claims of a paper."""

    # Of ROLE_DIFFERENCES with the paper's labels, and as `places` what `captionlab.reporting.cells.places_behind` says.
    differences: Sequence[Row]
    # What the paper prints of such a row, None where it does not.
    printed: Callable[[Row], float | None]
    # For claims that name captioners, what stands for which of the paper's, and their values.
    captioners: tuple[Reproduction, Run] | None = None
    comparable: bool = True  # whether what the run measured may be held against what the paper prints


@dataclass(frozen=True)
class Claim:
    """One claim of a paper and the differences that decide it; docs/claims.md explains the keys."""

    paper: str
    claim: str
    section: str
    statement: str
    direction: str
    share: float
    per: Sequence[str]

    def link(self, row: Row, evidence: Evidence) -> str:
        """Where the captions are shown that a difference is between; nothing where none are known."""
        return ""


@dataclass(frozen=True)
class EvidenceClaim(Claim):
    """A claim that is judged by rows of a table of differences."""

    evidence: Mapping[str, Any]
    needs: str = ""  # with what the claim can be tested where a run has nothing on it; nothing where any run may
    repetitions: str = ""  # what the number of seeds counts, where that is not trainings
    central: str = ""  # what the abstract of the paper says of it; nothing where the abstract does not name it

    def rows(self, evidence: Evidence) -> list[Row]:
        """Those with the values that the claim names."""
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
        """What the paper prints of a difference."""
        return evidence.printed(row)

    def parts(self, row: Row) -> list[str]:
        """The scope that a difference is judged in: what stands in columns of the table."""
        return [f"by {row[name]}" if name == "scorer" else str(row[name]) for name in self.per if row[name]]

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """The differences of a scope in words, and corpora that the claim lists and none is on."""
        if not rows:
            return [f"tested {self.needs}"] if self.needs else []
        corpora = self.evidence.get("corpus")
        absent = sorted({*corpora} - {row["corpus"] for row in rows}) if isinstance(corpora, list) else []
        return [*map(self._text, rows), *([f"not in this run: {', '.join(absent)}"] if absent else [])]

    def _text(self, row: Row) -> str:
        """One difference in words: what is compared, by what, and how far apart."""
        names = [name for name in ("subject", "measure", "scorer") if row[name] and name not in self.per]
        what = " ".join(f"by {row[name]}" if name == "scorer" else str(row[name]) for name in names)
        open_places = [name for name in ("source", "level") if name not in (*self.per, *self.evidence) and row[name]]
        if isinstance(self.evidence.get("corpus"), list) and "corpus" not in self.per:
            what += f" on {row['corpus']}"
        places = "".join(f", {row[name]:g}" if name == "level" else f", {row[name]}" for name in open_places)
        ends = [row[name] for name in ENDS]
        cell = interval_cell(ends, "+.2f" if max(map(abs, ends)) >= 1 else "+.3f")
        repetitions = f"{row['seeds']} {self.repetitions}" if self.repetitions else trainings(row["seeds"])
        of = f"n = {row['n']}, {repetitions}"
        return f"{what}{places} against {row['against']} {cell.text} {cell.detail}, {of}".strip()
