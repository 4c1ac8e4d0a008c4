"""Claims that are judged by a table of differences: those of the probing paper.

`evidence` of such a claim says which rows of ROLE_DIFFERENCES bear on it: a value, or a list of values, for some of its
columns. `level` may also be `largest`: of the rows that differ in nothing else the one with the largest level.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.evaluation.schemas import ROLE_DIFFERENCES

Row = Mapping[str, Any]

COLUMNS = (*ROLE_DIFFERENCES.key, "own")
LARGEST = "largest"
# What a run needs for experiments that the default config does not have.
_ABLATIONS = (
    "with config/ablations.yaml on top of config/config.yaml, or with config/paper_ablations.yaml on top of "
    "config/paper.yaml"
)
NEEDED = {
    "baselines": _ABLATIONS,
    "rewards": _ABLATIONS,
    "hard-distractors": _ABLATIONS,
    "study": "with answers of people (docs/study.md)",
}
# Experiments whose seeds draw splits for a probe.
PROBES = ("probing", "probing without telling objects")


@dataclass(frozen=True)
class EvidenceClaim:
    """One claim of a paper and the differences that decide it; config/published/claims.yaml explains the keys."""

    paper: str
    claim: str
    section: str
    statement: str
    evidence: Mapping[str, Any]
    direction: str
    share: float
    per: Sequence[str]

    def rows(self, differences: Iterable[Row]) -> list[Row]:
        """The differences that the claim is judged by."""
        wanted = {name: value for name, value in self.evidence.items() if (name, value) != ("level", LARGEST)}
        found = [row for row in differences if all(_fits(row[name], value) for name, value in wanted.items())]
        if self.evidence.get("level") != LARGEST:
            return found
        largest: dict[tuple[Any, ...], Row] = {}
        for row in found:
            key = tuple(row[name] for name in COLUMNS if name != "level")
            if key not in largest or row["level"] > largest[key]["level"]:
                largest[key] = row
        return list(largest.values())

    def scopes(self, differences: Iterable[Row]) -> dict[str, list[Row]]:
        """Differences by what is judged apart; one empty scope when there are none."""
        scopes: dict[str, list[Row]] = {}
        for row in self.rows(differences):
            parts = [f"by {row[name]}" if name == "scorer" else str(row[name]) for name in self.per if row[name]]
            scopes.setdefault(", ".join(parts) or "all comparisons", []).append(row)
        return scopes or {"all comparisons": []}

    def needed(self) -> str | None:
        """In words, with what the claim can be tested where a run has nothing on it; None where any run may."""
        found = NEEDED.get(str(self.evidence.get("experiment")))
        return f"tested {found}" if found else None

    def absent_corpora(self, rows: Iterable[Row]) -> list[str]:
        """Corpora that the claim lists and none of these rows is on."""
        corpora = self.evidence.get("corpus")
        return sorted({*corpora} - {row["corpus"] for row in rows}) if isinstance(corpora, list) else []

    def text(self, row: Row) -> str:
        """One difference in words: what is compared, by what, and how far apart."""
        names = [name for name in ("subject", "measure", "scorer") if row[name] and name not in self.per]
        what = " ".join(f"by {row[name]}" if name == "scorer" else str(row[name]) for name in names)
        open_places = [name for name in ("source", "level") if name not in (*self.per, *self.evidence) and row[name]]
        if isinstance(self.evidence.get("corpus"), list) and "corpus" not in self.per:
            what += f" on {row['corpus']}"
        places = "".join(f", {row[name]:g}" if name == "level" else f", {row[name]}" for name in open_places)
        ends = [row[name] for name in ("difference", "ci_low", "ci_high")]
        decimals = 2 if max(map(abs, ends)) >= 1 else 3
        value, low, high = (f"{end:+.{decimals}f}" for end in ends)
        of = f"n = {row['n']}, {_trainings(row)}"
        return f"{what}{places} against {row['against']} {value} [{low}, {high}], {of}".strip()


def _trainings(row: Row) -> str:
    """How many trainings a difference is of; probes are of one, and of several splits of its images."""
    if row["experiment"] in PROBES:
        return f"{row['seeds']} splits of 1 training"
    return "1 training" if row["seeds"] == 1 else f"{row['seeds']} trainings"


def _fits(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)
