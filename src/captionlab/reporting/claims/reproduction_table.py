"""Table of the parts of its papers that a run reproduces: verdicts on claims, and verdicts on published numbers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.reporting.claims.claim_verdicts import VERDICTS
from captionlab.reporting.runs.values import Row
from captionlab.reporting.tables.render import Block, Cell, Column, Table, Value
from captionlab.reporting.tables.sheets import PROVENANCE, table_of
from captionlab.reporting.tables.verdicts import MARKERS

NOT_TESTED = "not tested in this run"
DIFFER = "verdicts differ"
MEANINGS: dict[str, str] = {str(verdict): meaning for verdict, meaning in VERDICTS.items()}
OUTCOMES = {**MEANINGS, DIFFER: "a claim that is judged for several captioners, say, and not alike"}
# Verdicts on a published number in the order in which they are listed, MARKERS first.
NUMBERS = (*MARKERS, "not judged", "not in this run")
RECORD_COLUMNS = ("paper", "part", "name", "section", "statement", "verdict", "count", "of", "detail", *PROVENANCE)
NOTES = (
    "A claim is about the direction of a difference or about how near two values are, and is judged by this run's own "
    "images and captions; the table claims has the evidence for each verdict. How many: verdicts, as a claim may be "
    "judged for several captioners or retrievers.",
    "Published numbers are counted by the cells of our tables that have one beside ours, so one that stands in two "
    "tables counts twice; printed words and patterns have no verdict. Only where the config calls a paper comparable, "
    "as data and models are the paper's, is one held against ours.",
)


@dataclass(frozen=True)
class Outcome:
    """The outcome of a claim over all its scopes: its verdict (or that verdicts differ) and counts of verdicts."""

    paper: str
    claim: str
    section: str
    statement: str
    verdict: str
    verdicts: Mapping[str, int]
    needs: str  # what a run needs to test the claim, if it was not tested

    def row(self) -> list[Cell]:
        """Return the cells of the claim: its name and section, the verdict, its count, and the statement."""
        given, whole = self.verdicts.get(self.verdict), sum(self.verdicts.values())
        if self.verdict == DIFFER:
            often, said = f"{whole}", f": {', '.join(f'{verdict} {count}' for verdict, count in self.verdicts.items())}"
        else:
            often, said = f"{given} of {whole}", f": {self.needs}" if self.verdict == NOT_TESTED and self.needs else ""
        statement = f"{self.statement.rstrip('.')}{said}."
        return [Cell(self.claim, self.section), Cell(self.verdict), Cell(often), Cell(statement)]


def outcomes(claims: Iterable[Row]) -> list[Outcome]:
    """Return the outcome of each claim, in their order, from rows of the table of claims (a row for each scope)."""
    scopes = defaultdict[tuple[str, str], list[Row]](list)
    for row in claims:
        scopes[row["paper"], row["claim"]].append(row)
    found = []
    for (paper, claim), rows in scopes.items():
        verdicts = Counter(row["verdict"] for row in rows)
        tested = [verdict for verdict in verdicts if verdict != NOT_TESTED]
        # Scopes that were not tested do not change the verdict of the others.
        verdict = DIFFER if len(tested) > 1 else (tested or [NOT_TESTED])[0]
        said = {name: verdicts[name] for name in MEANINGS if verdicts[name]}
        first = rows[0]
        found.append(Outcome(paper, claim, first["section"], first["statement"], verdict, said, first["evidence"]))
    return found


def reproduction_table(
    claims: Sequence[Row],
    numbers: Mapping[str, Mapping[str, Sequence[Row]]],
    papers: Mapping[str, Row],
    provenance: Mapping[str, Any],
) -> Table:
    """Return the table: a block for all papers, then blocks for each paper with counts of verdicts and its claims.

    `claims` are rows of claims.csv. `numbers` maps paper and table to the rows of the table's CSV, with missing values
    empty. `papers` maps a paper to its citation and whether the config calls it `comparable`.
    """
    found, records = outcomes(claims), list[dict[str, Value]]()
    of_all = _counted(Counter(one.verdict for one in found), OUTCOMES, "claims")
    beside = {paper: _beside(numbers.get(paper, {})) for paper in papers}
    total = Counter(verdict for tables in beside.values() for of in tables.values() for verdict in of.elements())
    blocks = [Block([*of_all, *_counted(total, NUMBERS, "published numbers")], "all papers")]
    for paper, known in papers.items():
        own = [one for one in found if one.paper == paper]
        rows = _counted(Counter(one.verdict for one in own), OUTCOMES, "claims")
        tables = beside[paper]
        counted = sum(tables.values(), Counter[str]())
        rows += _counted(counted, NUMBERS, "published numbers", _places(tables))
        blocks.append(Block(rows, f"{paper}: {known['citation'].replace('*', '')}"))
        blocks.append(Block([one.row() for one in own], f"{paper}: each claim, in the order of the paper"))
        records += [_claim_record(one) for one in own]
        records += [record for table, of in tables.items() for record in _numbers_records(paper, table, of)]
    columns = [Column(heading, numeric=heading == "how many") for heading in ("of", "verdict", "how many", "what")]
    used = {one.verdict for one in found}
    notes = [f"{verdict}: {meaning}." for verdict, meaning in OUTCOMES.items() if verdict in used]
    notes += [f"{name}: {MARKERS[name][1]}." for name in MARKERS if total[name]]
    texts = ("reproduction", "What this run reproduces", _description(found, total, papers))
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, [*notes, *NOTES], provenance)


def _description(found: Sequence[Outcome], total: Counter[str], papers: Mapping[str, Row]) -> str:
    """Return the counts of verdicts in words, and how many published numbers are compared."""
    verdicts = Counter(one.verdict for one in found)
    told = [f"{verdict} {verdicts[verdict]}" for verdict in OUTCOMES if verdicts[verdict]]
    number = sum(sum(one.verdicts.values()) for one in found)
    words = (
        f"{len(found)} claims of {len(papers)} papers, by their verdicts in this run: {', '.join(told)}. Each claim "
        f"counts once here; the table claims counts {number} verdicts, as a claim may be judged for several captioners "
        "or retrievers apart."
    )
    comparable = [paper for paper, known in papers.items() if known["comparable"]]
    if not comparable:
        return f"{words} None of this run's numbers is held against a published one: its data and models are others."
    held = sum(total[verdict] for verdict in ("agrees", "differs", "cannot tell"))
    return f"{words} {held} published numbers are held against this run's, those of {', '.join(comparable)}."


def _beside(tables: Mapping[str, Sequence[Row]]) -> dict[str, Counter[str]]:
    """Return, by table, the count of each verdict on a published number. Tables without such numbers are left out."""
    found = {
        name: Counter(row["verdict"] for row in rows if row.get("verdict") and row.get("published"))
        for name, rows in tables.items()
    }
    return {name: of for name, of in found.items() if of}


def _counted(
    counts: Counter[str], order: Iterable[str], of: str, where: Mapping[str, str] | None = None
) -> list[list[Cell]]:
    """Return a row for each verdict that was given, in this order."""
    whole = counts.total()
    return [
        [Cell(of), Cell(verdict), Cell(f"{counts[verdict]} of {whole}"), Cell((where or {}).get(verdict, ""))]
        for verdict in order
        if counts[verdict]
    ]


def _places(tables: Mapping[str, Counter[str]]) -> dict[str, str]:
    """Return, by verdict, the tables in which it was given, with counts."""
    given = {verdict for of in tables.values() for verdict in of}
    return {v: ",\n".join(f"{name} {of[v]}" for name, of in tables.items() if of[v]) for v in given}


def _claim_record(one: Outcome) -> dict[str, Value]:
    named: dict[str, Value] = {"paper": one.paper, "part": "claim", "name": one.claim, "section": one.section}
    counted: dict[str, Value] = {"count": one.verdicts.get(one.verdict, 0), "of": sum(one.verdicts.values())}
    said = "; ".join(f"{verdict}: {count}" for verdict, count in one.verdicts.items())
    return {**named, "statement": one.statement, "verdict": one.verdict, **counted, "detail": said}


def _numbers_records(paper: str, table: str, of: Counter[str]) -> Iterator[dict[str, Value]]:
    """Yield a record for each verdict on the published numbers of a table."""
    for verdict in (name for name in NUMBERS if of[name]):
        place: dict[str, Value] = {"paper": paper, "part": "published numbers", "name": table, "verdict": verdict}
        yield {**dict.fromkeys(RECORD_COLUMNS), **place, "count": of[verdict], "of": of.total()}
