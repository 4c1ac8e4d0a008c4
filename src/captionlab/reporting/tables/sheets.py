"""A sheet collects the cells of a table while it is built, with their records for the CSV and the notes below."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from captionlab.reporting.runs.published import PublishedValue
from captionlab.reporting.runs.values import COORDINATES, Coordinates, Measured, PaperRun
from captionlab.reporting.tables.cells import place_name
from captionlab.reporting.tables.footnotes import OVER_IMAGES, footnotes_of_run, run_notes, titled
from captionlab.reporting.tables.render import MISSING, Block, Cell, Column, Table, Value, interval_cell
from captionlab.reporting.tables.tokens_note import token_notes
from captionlab.reporting.tables.verdicts import CONTEXT, Verdict, beside, judge, legend, smallest_difference

# Columns of every CSV that say how it was made.
PROVENANCE = ("config", "seed", "commit", "device")
RECORD_COLUMNS = (
    *COORDINATES, "against", "value", "ci_low", "ci_high", "seeds", "n", "published", "verdict",
    "smallest_difference", *PROVENANCE,
)  # fmt: skip
INTERVALS = (
    f"{OVER_IMAGES} Of several trainings also by Student's t over their seeds, the two joined by squares, and cut "
    "where a measure ends. Perplexities have geometric means and intervals on the scale of their logarithms; their "
    "differences are a ratio to the other, less 1, times the other."
)


@dataclass
class Sheet:
    """The cells of one table, the record of each cell, and the notes of the table."""

    run: PaperRun
    provenance: Mapping[str, Any]
    columns: Sequence[str] = RECORD_COLUMNS  # columns of the records
    decimals: int = 1
    of_roles: bool = True  # whether values are means over the trainings of a role, which a note explains
    records: list[dict[str, Value]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def value(
        self,
        place: Coordinates,
        published: PublishedValue | None = None,
        decimals: int | None = None,
        mark: str = "",
        **others: Value,
    ) -> list[Cell]:
        """Return the cells of our value at a place and of the published value, and keep the record.

        `others` are further columns of the record.
        """
        record = {**asdict(place), **self.details(place, published), **others}
        return self.pair(record, self.run.value(place), published, decimals, mark=mark, link=self.run.link(place))

    def difference(
        self, place: Coordinates, against: str, decimals: int | None = None, mark: str = "", sign: str = "+"
    ) -> Cell:
        """Return the cell of our difference, and keep the record."""
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
        """Return the cells of our number with its interval and of the published number with a verdict.

        `place` has columns of the record. Without `interval`, the number is a count, its interval is left out, and the
        verdict follows from how near the two numbers are. `verdict` overrides the computed verdict, for numbers whose
        interval is unknown.
        """
        verdict = verdict or judge(ours, published, self.run.comparable)
        smallest = smallest_difference(ours) if interval else None
        measured = {name: getattr(ours, name, None) for name in ("value", "ci_low", "ci_high", "seeds", "n")}
        if not interval:
            measured |= {"ci_low": None, "ci_high": None}
        measured |= {"published": published.text if published else None, "verdict": verdict}
        record: dict[str, Value] = {**dict.fromkeys((*COORDINATES, "against")), **place, **measured}
        self.records.append({**record, "smallest_difference": smallest})
        if ours is None:
            return [Cell(MISSING, note=self.why_missing(place)), beside(published, verdict, None)]
        form = f"{sign}.{self.decimals if decimals is None else decimals}f"
        cell = replace(interval_cell(ours.ends, form, mark, link), place=place_name(record))
        return [cell if interval else Cell(cell.text, place=cell.place), beside(published, verdict, smallest)]

    def details(self, place: Coordinates, published: PublishedValue | None) -> dict[str, Value]:
        """Return further columns of the record of a value."""
        return {}

    def why_missing(self, place: Mapping[str, Value]) -> str:
        """Return a note on a number that the run does not have."""
        return ""

    def heading(self, label: str) -> str:
        """Return the heading of a corpus's block: the paper's label, the corpus's name, and the number of images."""
        name = self.run.corpora[label]
        largest = max((int(str(r["n"])) for r in self.records if r["corpus"] == name and r["n"]), default=0)
        if not largest:
            return f"{label} (here {name})"
        return f"{label} (here {name}, {largest} images)"

    def footnotes(self, blocks: Sequence[Block]) -> list[str]:
        """Return the notes below the table: markers, the sheet's own notes, missing numbers, and trainings."""
        notes = [*filter(None, [legend(record["verdict"] for record in self.records)]), *self.notes]
        if any(cell.text == MISSING for block in blocks for row in block.rows for cell in row):
            notes.append(f"{MISSING}: not in this run, or in a column of the paper: the paper has no such number.")
        if not self.run.comparable and any(record["published"] for record in self.records):
            notes.append(CONTEXT)
        return [*notes, *(self.trainings_notes("a role") if self.of_roles else [])]

    def trainings_notes(self, of: str) -> list[str]:
        """Return a note on intervals and on the number of trainings, or nothing if the table has no numbers."""
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
        """Return the table with its footnotes.

        `records` are the records of the CSV, by default the record of each number.
        """
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
    of_tokens: bool = True,
) -> Table:
    """Return a table whose records have the named columns.

    The provenance is added below the table, and to records that lack it. With `of_tokens`, a note says which tokens
    metrics compare.
    Caveats on all numbers of the run are in the title, in a note, and in a column of the records.
    """
    caveats = provenance.get("caveats", [])
    made = {key: provenance.get(key) for key in PROVENANCE}
    if caveats:
        made |= {"caveats": "; ".join(caveats)}
        record_columns = [*record_columns, "caveats"]
    own = [{key: value for key, value in record.items() if key not in made or value is not None} for record in records]
    kept = [{key: {**made, **record}[key] for key in record_columns} for record in own]
    tokens = token_notes(columns, kept, provenance.get("tokenizers", {})) if of_tokens else []
    footnotes = [*notes, *tokens, *footnotes_of_run(provenance)]
    shown = titled(title, caveats)
    return Table(name, shown, description, columns, blocks, kept, record_columns, footnotes, run_notes(provenance))
