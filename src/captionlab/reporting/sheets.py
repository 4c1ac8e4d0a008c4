"""The sheet that a table is written on: measured numbers as cells, their records for the CSV, and the notes below."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from captionlab.reporting.cells import place_name
from captionlab.reporting.footnotes import OVER_IMAGES, TOY, run_notes
from captionlab.reporting.published import PublishedValue
from captionlab.reporting.render import MISSING, Block, Cell, Column, Table, Value, interval_cell
from captionlab.reporting.runs import PLACE, Measured, Place, Run
from captionlab.reporting.verdicts import CONTEXT, Verdict, beside, judge, legend, smallest_difference

# Columns of every CSV that say how it was made.
PROVENANCE = ("config", "seed", "commit", "device")
RECORD_COLUMNS = (
    *PLACE, "against", "value", "ci_low", "ci_high", "seeds", "n", "published", "verdict",
    "smallest_difference", *PROVENANCE,
)  # fmt: skip
INTERVALS = (
    f"{OVER_IMAGES} Of several trainings also by Student's t over their seeds, the two joined by squares, and cut "
    "where a measure ends. Perplexities have geometric means and intervals on the scale of their logarithms; their "
    "differences are a ratio to the other, less 1, times the other."
)


@dataclass
class Sheet:
    """The cells of one table, the record of each, and its notes."""

    run: Run
    provenance: Mapping[str, Any]
    columns: Sequence[str] = RECORD_COLUMNS  # of the records
    decimals: int = 1
    of_roles: bool = True  # values are means over the trainings of a role, which a note explains
    records: list[dict[str, Value]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def value(
        self,
        place: Place,
        published: PublishedValue | None = None,
        decimals: int | None = None,
        mark: str = "",
        **others: Value,
    ) -> list[Cell]:
        """Our value in a place and the paper's; the record is kept, with `others` as more columns."""
        record = {**asdict(place), **self.details(place, published), **others}
        return self.pair(record, self.run.value(place), published, decimals, mark=mark, link=self.run.link(place))

    def difference(
        self, place: Place, against: str, decimals: int | None = None, mark: str = "", sign: str = "+"
    ) -> Cell:
        """Our difference; the record is kept."""
        ours, link = self.run.difference(place, against), self.run.link(place, against)
        record = {**asdict(place), "against": against}
        return self.pair(record, ours, None, decimals, mark=mark, sign=sign, link=link)[0]

    def pair(
        self,
        place: Mapping[str, Value],
        ours: Measured | None,
        published: PublishedValue | None,
        decimals: int | None = None,
        interval: bool = True,
        verdict: Verdict | None = None,
        mark: str = "",
        sign: str = "",
        link: str = "",
    ) -> list[Cell]:
        """Our number with its interval, and the paper's with a verdict; `place` has columns of the record.

        Without `interval` the number is a count, and the verdict asks how near the two are. A `verdict` is given where
        the number has an interval that nobody knows.
        """
        verdict = verdict or judge(ours, published, self.run.comparable)
        smallest = smallest_difference(ours) if interval else None
        measured = {name: getattr(ours, name, None) for name in ("value", "ci_low", "ci_high", "seeds", "n")}
        if not interval:
            measured |= {"ci_low": None, "ci_high": None}
        measured |= {"published": published.text if published else None, "verdict": verdict}
        record: dict[str, Value] = {**dict.fromkeys((*PLACE, "against")), **place, **measured}
        self.records.append({**record, "smallest_difference": smallest})
        if ours is None:
            return [Cell(MISSING, note=self.why_missing(place)), beside(published, verdict, None)]
        form = f"{sign}.{self.decimals if decimals is None else decimals}f"
        cell = replace(interval_cell(ours.ends, form, mark, link), place=place_name(record))
        return [cell if interval else Cell(cell.text, place=cell.place), beside(published, verdict, smallest)]

    def details(self, place: Place, published: PublishedValue | None) -> dict[str, Value]:
        """More columns of the record of a value."""
        return {}

    def why_missing(self, place: Mapping[str, Value]) -> str:
        """A note on a number that the run does not have."""
        return ""

    def heading(self, label: str) -> str:
        """Heading of the block of a corpus: the paper's name, ours, and how many images there are."""
        name = self.run.corpora[label]
        largest = max((int(str(r["n"])) for r in self.records if r["corpus"] == name and r["n"]), default=0)
        if not largest:
            return f"{label} (here {name})"
        return f"{label} (here {name}, {largest} images)"

    def footnotes(self, blocks: Sequence[Block]) -> list[str]:
        """The notes below the table: what markers mean, the sheet's own, what is missing, and what numbers are of."""
        notes = [*filter(None, [legend(record["verdict"] for record in self.records)]), *self.notes]
        if any(cell.text == MISSING for block in blocks for row in block.rows for cell in row):
            notes.append(f"{MISSING}: not in this run, or in a column of the paper: the paper has no such number.")
        if not self.run.comparable and any(record["published"] for record in self.records):
            notes.append(CONTEXT)
        return [*notes, *(self.trainings_notes("a role") if self.of_roles else [])]

    def trainings_notes(self, of: str) -> list[str]:
        """What numbers over several trainings are, and how many these are; nothing where there are no numbers."""
        seeds = sorted({int(str(record["seeds"])) for record in self.records if record["seeds"]})
        fewest_to_most = " to ".join(map(str, dict.fromkeys((seeds[0], seeds[-1])))) if seeds else ""
        return [f"{INTERVALS} Trainings of {of}: {fewest_to_most}."] if seeds else []

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
        kept, shown = self.records if records is None else records, record_columns or self.columns
        notes = self.footnotes(blocks)
        return table_of(name, title, description, columns, blocks, kept, shown, notes, self.provenance)


def table_of(
    name: str,
    title: str,
    description: str,
    columns: Sequence[Column],
    blocks: Sequence[Block],
    records: Sequence[Mapping[str, Value]],
    record_columns: Sequence[str],
    notes: Sequence[str],
    provenance: Mapping[str, Any],
) -> Table:
    """A table of the named columns of its records, which says below and in them, where they do not, how it was made."""
    made = {key: provenance.get(key) for key in PROVENANCE}
    own = [{key: value for key, value in record.items() if key not in made or value is not None} for record in records]
    kept = [{key: {**made, **record}[key] for key in record_columns} for record in own]
    footnotes = [*notes, *([TOY] if provenance.get("toy") else [])]
    return Table(name, title, description, columns, blocks, kept, record_columns, footnotes, run_notes(provenance))
