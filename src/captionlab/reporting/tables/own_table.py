"""Own tables of a run: a choice file says which numbers they have. The page `make_table.html` makes them too.

The script of the page (templates/make_table.js) follows this module step by step. tests/browser/test_make_table.py
holds both against each other.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from captionlab.config.names import hint
from captionlab.config.own_tables import Choice, ChosenMetric, check_names, listing
from captionlab.reporting.runs.values import Measured, Row, link_of, trainings
from captionlab.reporting.tables.best import with_best
from captionlab.reporting.tables.evaluation_table import ENDS, UNITS, metrics_of
from captionlab.reporting.tables.footnotes import OVER_IMAGES
from captionlab.reporting.tables.render import MISSING, PAPER, Block, Cell, Column, Table, interval_cell
from captionlab.reporting.tables.sheets import PROVENANCE, table_of

# Columns that identify a number of an evaluation.
PLACE = ("captioner", "corpus", "evaluation", "retriever", "candidates", "metric")
Place = tuple[str | None, ...]
DIFFERENCE = "difference"
# p-value below which a mark stands behind a difference, the smallest last.
MARKS = {0.05: "*", 0.01: "**", 0.001: "***"}
OF_DIFFERENCES = (
    f"{DIFFERENCE}: from {{against}}, on the same images; * p < 0.05, ** p < 0.01, *** p < 0.001, with Holm's "
    "correction for the comparisons of the metric. Means over trainings have no test."
)
OF_PAPERS = "paper: what the paper prints for its captioner and corpus."
CONTEXT = "It is context, not to be compared: data and models of this run are not the paper's."
NOT_MEASURED = f"{MISSING}: not measured."


@dataclass(frozen=True)
class Numbers:
    """The numbers of a run that an own table can have: rows of SUMMARY and of COMPARISONS, and published numbers.

    `published` has the printed text of a published number by the place of ours. `context` says that some of them may
    not be compared with ours. `humans` are the captioners whose captions were written by people.
    """

    summary: Sequence[Row]
    comparisons: Sequence[Row]
    published: Mapping[Place, str] = field(default_factory=dict)
    context: bool = False
    humans: Sequence[str] = ()

    def values(self) -> dict[Place, Row]:
        """Return the rows of SUMMARY by place; of a captioner with several trainings, the mean."""
        return {place_of(row): row for row in sorted(self.summary, key=lambda row: row["seeds"])}

    def differences(self, against: str) -> dict[Place, Measured]:
        """Return the differences of captioners from another by place, in whichever direction they were computed.

        If several trainings were compared, the difference is the mean over them.
        """
        found, turned = dict[Place, Measured](), dict[Place, Measured]()
        for row in sorted(self.comparisons, key=lambda row: row["seeds"]):
            value, low, high = (row[name] for name in ("difference", "ci_low", "ci_high"))
            measured = Measured(value, low, high, row["seeds"], row["n"], row["p_holm"])
            if row["against"] == against:
                found[place_of(row)] = measured
            elif row["captioner"] == against:
                turned[place_of({**row, "captioner": row["against"]})] = -measured
        return turned | found


def place_of(row: Row) -> Place:
    """Return what identifies the number of a row."""
    return tuple(row[name] for name in PLACE)


def published_numbers(
    records: Mapping[str, Iterable[Mapping[str, str]]], papers: Mapping[str, Row]
) -> tuple[dict[Place, str], bool]:
    """Return published numbers by the place of ours, and whether some may not be compared with ours.

    `records` are the rows of the CSV files of each paper's tables, `papers` the blocks of the papers in the config.
    Rows that name a role are of the captioner that the block has for it.
    """
    found: dict[Place, str] = {}
    context = False
    for paper, rows in records.items():
        block = papers[paper]
        for row in rows:
            place = _evaluated(row, block)
            if row.get("published") and place and place not in found:
                found[place] = row["published"]
                context = context or not block.get("comparable", False)
    return found, context


def _evaluated(row: Mapping[str, str], block: Row) -> Place | None:
    """Return the place of the number in a record of a paper's table, or None if it is of no single captioner."""
    if {*PLACE} <= row.keys():
        return tuple(row[name] or None for name in PLACE)
    captioner = block.get("captioners", {}).get(row.get("subject"))
    evaluated = row.get("experiment") == "generated" and not row.get("against") and "evaluation" in block
    if not (evaluated and isinstance(captioner, str)):
        return None
    scorer = block.get("scorers", {}).get(row["scorer"]) if row["scorer"] else None
    return captioner, row["corpus"], block["evaluation"], scorer, None, row["measure"]


def label_of(metric: ChosenMetric) -> str:
    """Return the name of a metric with its retriever and candidates."""
    return ", ".join(filter(None, (metric.metric, *_scored_by(metric))))


def _scored_by(metric: ChosenMetric) -> list[str]:
    return [name for name in (metric.retriever, metric.candidates) if name]


def own_table(
    name: str, choice: Choice, path: str | os.PathLike[str], numbers: Numbers, provenance: Mapping[str, Any]
) -> Table:
    """Return the table of a choice: a block for each corpus and evaluation.

    Its records are the printed numbers, a row for each captioner. Raises ChoiceError, which names `path`, if the run
    does not have what is chosen.
    """
    check_choice(choice, path, numbers)
    lines = _Lines(choice, numbers)
    blocks, records = [], list[dict[str, Any]]()
    for corpus, evaluation in product(choice.corpora, choice.evaluations):
        rows, heading = [], lines.heading(corpus, evaluation)
        for captioner, counts in lines.captioners(corpus, evaluation):
            cells, record = lines.row(corpus, evaluation, captioner)
            rows.append(cells)
            place = {"corpus": corpus, "evaluation": evaluation, "captioner": captioner, "images": counts}
            records.append({**place, **record})
        aside = [place for place, row in enumerate(rows) if row[0].text in numbers.humans]
        for column, metric in lines.measured().items() if choice.best else ():
            rows = with_best(rows, column, metric, aside)
        blocks += [Block(rows, heading)] if rows else []
    absent = any(cell.text == MISSING for block in blocks for row in block.rows for cell in row)
    notes = [*choice.notes, *lines.notes(), *([NOT_MEASURED] if absent else [])]
    texts = (f"own_{name}", f"Own table: {name}", f"Chosen numbers of this run. Values are {UNITS}.")
    columns = [*records[0], *PROVENANCE]
    # The page of own tables writes the same notes, and does not know the tokens of metrics.
    return table_of(*texts, lines.columns(), blocks, records, columns, notes, provenance, of_tokens=False)


def check_choice(choice: Choice, path: str | os.PathLike[str], numbers: Numbers) -> None:
    """Raise a ChoiceError if the run does not have the names, metrics, differences or any row of a choice."""
    captioners: dict[str, dict[str, None]] = {}
    for row in numbers.summary:
        captioners.setdefault(row["evaluation"], {})[row["captioner"]] = None
    check_names(choice, path, captioners, list(dict.fromkeys(row["corpus"] for row in numbers.summary)))
    known = metrics_of(numbers.summary)
    mistakes = [
        f"metrics.{place} is {label_of(metric)}, which the run does not have; {_advice(metric, known)}"
        for place, metric in enumerate(choice.metrics)
        if metric.key not in known
    ]
    if choice.differences and not numbers.differences(choice.differences):
        compared = sorted({row["against"] for row in numbers.comparisons})
        mistakes.append(
            f"differences is {choice.differences!r}, which no captioner is compared with; choose one of "
            f"{', '.join(compared) or 'none'}, or add `compare` to the evaluation in the config"
        )
    lines = _Lines(choice, numbers)
    if not any(
        lines.captioners(corpus, evaluation) for corpus, evaluation in product(choice.corpora, choice.evaluations)
    ):
        mistakes.append("no captioner has a number on these corpora in these evaluations; choose others")
    if mistakes:
        raise listing(path, mistakes)


def _advice(metric: ChosenMetric, known: Sequence[tuple[str | None, str | None, str]]) -> str:
    """Return a hint on a metric that is not among the known ones: retrievers and candidates that it is there with."""
    there = [[retriever, candidates] for retriever, candidates, name in known if name == metric.metric]
    if not there:
        return hint(metric.metric, dict.fromkeys(name for *_, name in known))
    return f"it is there with {' or '.join(', '.join(filter(None, one)) or 'no retriever' for one in there)}"


class _Lines:
    """Columns and rows of the table of a choice."""

    def __init__(self, choice: Choice, numbers: Numbers):
        self.choice, self.numbers, self.rows = choice, numbers, numbers.values()
        self.apart = numbers.differences(choice.differences) if choice.differences else {}
        chosen = [{*choice.captioners}, {*choice.corpora}, {*choice.evaluations}]
        printed = [
            place[3:]
            for place in (numbers.published if choice.published else ())
            if all(name in names for name, names in zip(place[:3], chosen, strict=True))
        ]
        # The metric of each column, and "" for our number, PAPER or DIFFERENCE.
        self.parts = [
            (metric, kind)
            for metric in choice.metrics
            for kind, there in (("", True), (PAPER, metric.key in printed), (DIFFERENCE, choice.differences))
            if there
        ]

    def _of(self, corpus: str, evaluation: str, captioner: str | None = None) -> list[Row]:
        wanted = [captioner] if captioner else self.choice.captioners
        return [
            row for row in self.rows.values()
            if row["corpus"] == corpus and row["evaluation"] == evaluation and row["captioner"] in wanted
        ]  # fmt: skip

    def captioners(self, corpus: str, evaluation: str) -> list[tuple[str, str]]:
        """Return the chosen captioners that have numbers here, with their numbers of images."""
        found = {name: self._of(corpus, evaluation, name) for name in self.choice.captioners}
        return [(name, _counts(rows)) for name, rows in found.items() if rows]

    def heading(self, corpus: str, evaluation: str) -> str:
        """Return the heading of a block: corpus, split, evaluation, decodings and numbers of images."""
        rows = self._of(corpus, evaluation)
        facts = [dict.fromkeys(row[name] for row in rows) for name in ("split", "decoding")]
        split, decoding = (" and ".join(of) for of in facts)
        return f"{corpus}, {split}; {evaluation}, {decoding}; {_counts(rows)} images"

    def columns(self) -> list[Column]:
        """Return the columns: captioner, and for each metric ours, the paper's and the difference."""
        columns = [Column("captioner", numeric=False)]
        for metric, kind in self.parts:
            ours = Column(metric.metric, ", ".join(_scored_by(metric)))
            columns.append(Column(kind, label_of(metric)) if kind else ours)
        return columns

    def measured(self) -> dict[int, str]:
        """Return the columns of our numbers, each with the name of its metric."""
        return {place: metric.metric for place, (metric, kind) in enumerate(self.parts, 1) if not kind}

    def row(self, corpus: str, evaluation: str, captioner: str) -> tuple[list[Cell], dict[str, str]]:
        """Return the cells of a captioner, and the record of its printed numbers."""
        seeds = max(row["seeds"] for row in self._of(corpus, evaluation, captioner))
        cells = [Cell(captioner, trainings(seeds) if seeds > 1 else "")]
        record: dict[str, str] = {}
        for metric, kind in self.parts:
            place, label = (captioner, corpus, evaluation, *metric.key), label_of(metric)
            if kind == PAPER:
                text = self.numbers.published.get(place, "")
                cells.append(Cell(text or MISSING, value=float(text) if text else None))
                record[f"{label}, {PAPER}"] = text
            elif kind == DIFFERENCE:
                apart = self.apart.get(place)
                cell = self._cell(apart.ends if apart else None, "+")
                shown = replace(cell, text=f"{cell.text}{_mark(apart)}")
                cells.append(Cell("") if captioner == self.choice.differences else shown)
                record |= self._fields(f"{label}, {DIFFERENCE}", apart.ends if apart else None, "+")
                record[f"{label}, p"] = f"{apart.p_value:.4f}" if apart and apart.p_value is not None else ""
            else:
                row = self.rows.get(place)
                ends = [row[name] for name in ENDS] if row else None
                cells.append(self._cell(ends, "", link_of(row) if row else ""))
                record |= self._fields(label, ends, "")
        return cells, record

    def _cell(self, ends: Sequence[float] | None, sign: str, link: str = "") -> Cell:
        if ends is None:
            return Cell(MISSING)
        cell = interval_cell(ends, f"{sign}.{self.choice.decimals}f", link=link)
        return cell if self.choice.intervals else replace(cell, detail="")

    def _fields(self, label: str, ends: Sequence[float] | None, sign: str) -> dict[str, str]:
        """Return the fields of a record for a number, and for the ends of its interval if intervals are chosen."""
        labels = [label, *([f"{label}, low", f"{label}, high"] if self.choice.intervals else [])]
        texts = [f"{end:{sign}.{self.choice.decimals}f}" for end in ends] if ends else ["", "", ""]
        return dict(zip(labels, texts, strict=False))

    def notes(self) -> Iterator[str]:
        """Yield a note on each kind of number that the table has."""
        if self.choice.intervals:
            yield OVER_IMAGES
        if self.choice.differences:
            yield OF_DIFFERENCES.format(against=self.choice.differences)
        if any(kind == PAPER for _, kind in self.parts):
            yield f"{OF_PAPERS} {CONTEXT}" if self.numbers.context else OF_PAPERS


def _counts(rows: Iterable[Row]) -> str:
    """Return the numbers of images of rows as text, the smallest first."""
    return " to ".join(map(str, sorted({row["n"] for row in rows})))


def _mark(apart: Measured | None) -> str:
    """Return the mark behind a difference."""
    p_value = apart.p_value if apart else None
    reached = [mark for bound, mark in MARKS.items() if p_value is not None and p_value < bound]
    return reached[-1] if reached else ""
