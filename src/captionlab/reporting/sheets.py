"""What tables made of values by role share: measured numbers, their records for the CSV, and the notes below."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

from captionlab.evaluation.schemas import ROLE_VALUES
from captionlab.reporting.footnotes import run_notes
from captionlab.reporting.render import MISSING, Block, Column, Table, Value
from captionlab.reporting.verdicts import CONTEXT, legend

# What a number is of.
PLACE = ROLE_VALUES.key
# Columns of every CSV that say how it was made.
PROVENANCE = ("config", "seed", "commit", "device")


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


class Run(Protocol):
    """A run whose numbers may be comparable with the published ones."""

    @property
    def comparable(self) -> bool:
        """What the config says of that."""


@dataclass
class Sheet:
    """The records of one table and its notes; what makes cells is each paper's own."""

    COLUMNS: ClassVar[Sequence[str]]
    """columns of the records"""

    run: Run
    provenance: Mapping[str, Any]
    records: list[dict[str, Value]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def last_notes(self) -> list[str]:
        """Notes that follow from the records."""
        return []

    def table(
        self,
        name: str,
        title: str,
        description: str,
        columns: Sequence[Column],
        blocks: Sequence[Block],
        records: Sequence[Mapping[str, Value]] | None = None,
        record_columns: Sequence[str] | None = None,
    ) -> Table:
        """The table with its footnotes; `records` are those of the CSV, by default one for each number."""
        notes = [*filter(None, [legend(record["verdict"] for record in self.records)]), *self.notes]
        if any(cell.text == MISSING for block in blocks for row in block.rows for cell in row):
            notes.append(f"{MISSING}: not in this run, or in a column of the paper: the paper has no such number.")
        if not self.run.comparable and any(record["published"] for record in self.records):
            notes.append(CONTEXT)
        notes += self.last_notes()
        made = {key: self.provenance.get(key) for key in PROVENANCE}
        kept = self.records if records is None else [{**record, **made} for record in records]
        notes += run_notes(self.provenance)
        return Table(name, title, description, columns, blocks, kept, record_columns or self.COLUMNS, notes)
