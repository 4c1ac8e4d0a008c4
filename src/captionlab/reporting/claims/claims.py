"""Judge whether a run supports the claims of a paper.

Claims are data; verdicts follow from the intervals of the run's differences.
"""

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields
from itertools import product
from typing import Any

from captionlab.reporting.claims.claim_verdicts import VERDICTS, ClaimVerdict, Interval, choices, verdict
from captionlab.reporting.claims.evidence import COLUMNS, ENDS, Claim, Evidence, EvidenceClaim
from captionlab.reporting.runs.reproduction import Reproduction
from captionlab.reporting.runs.values import NON_INFERIORITY, Coordinates, Row, link_of, trainings
from captionlab.reporting.tables.cells import Cells, links_to, places_behind
from captionlab.reporting.tables.render import Block, Cell, Column, Link, Table, Value, interval_cell, p_text
from captionlab.reporting.tables.sheets import PROVENANCE, table_of
from captionlab.storage.files import read_yaml

SCOPES = ("captioner", "metric", "retriever", "corpus")
ALL = "all comparisons"
# Key of `corpora` -> whether captioners were trained on the corpora; None for all corpora.
DOMAINS = {"all": None, "in-domain": True, "cross-domain": False}
DIRECTIONS = {"higher": 1, "lower": -1}
RECORD_COLUMNS = (
    "paper", "claim", "section", "statement", "scope", "verdict", "evidence", "comparisons", "as_claimed", "opposite",
    "required_share", "smallest_difference", "central", "printed", "power", *PROVENANCE,
)  # fmt: skip
NOTES = (
    "Evidence: the difference with its 95 % interval and the p-value of a paired test on the same images; without p "
    "where the interval follows from the two values alone, as if of different images, or from several trainings too. "
    "n: images, or where images were ablated the captions averaged, of the captioner with fewer. Of 1 training the "
    "interval is over images only (or scenes, or participants): another seed can give another verdict.",
    "Smallest difference: what such a comparison, with its interval and where a part of them is asked "
    "for the wider one, would have told from 0 in four of five runs. That is normal theory, also where the interval is "
    "Student's t over trainings or splits. A nearness is at most its margin, and may be missed on two sides, a "
    "non-inferiority on one: where the margin is too small for so many images, even no difference at all could not "
    "have been shown to be within it. Then the paper's own difference or nearness, where it prints the numbers and the "
    "config calls the run comparable.",
)


class ClaimError(ValueError):
    """A file of claims has an entry that is not valid, or a claim about captioners lacks evidence on captioners."""


@dataclass(frozen=True)
class CaptionersClaim(Claim):
    """A claim that compares captioners on corpora, all named by the paper's labels."""

    captioner: str
    against: str
    metrics: Sequence[str]
    corpora: str | Sequence[str]
    without: Sequence[str] = ()
    central: str = ""  # the abstract's words on the claim; empty if the abstract does not name it

    def rows(self, evidence: Evidence) -> list[Row]:
        """Return all comparisons that the claim asks for and the run could have made, by the paper's labels.

        `difference` is None for a comparison that the run did not make. Raises ClaimError if the evidence has no
        captioners.
        """
        if evidence.captioners is None:
            raise ClaimError(f"claim {self.claim!r} of {self.paper} is about captioners, and its evidence has none")
        paper, run = evidence.captioners
        rows: list[Row] = []
        for captioner, against in self._pairs(paper):
            corpora: dict[str, str] = {}
            for label in self._corpora(paper, captioner):  # if two labels name the same corpus, the first counts
                corpora.setdefault(paper.corpora[label], label)
            for (name, corpus), metric in product(corpora.items(), self.metrics):
                for retriever in sorted(run.found("scorer", measure=metric), key=str):
                    if paper.retrievers and retriever not in (None, *paper.retrievers):
                        continue
                    place = Coordinates(paper.captioners[captioner], name, metric, retriever)
                    found = run.either_difference(place, paper.captioners[against])
                    sides = {**asdict(place), "against": paper.captioners[against]}
                    row = {**sides, "subject": captioner, "against": against, "corpus": corpus, "margin": None}
                    row["places"] = places_behind(sides, captioner, against)
                    measured = {**asdict(found), "difference": found.value} if found else {"difference": None}
                    rows.append({**row, **measured})
        return rows

    def _pairs(self, paper: Reproduction) -> Iterator[tuple[str, str]]:
        parents = paper.parents()
        for label in sorted(parents) if self.captioner == "finetuned" else [self.captioner]:
            against = parents.get(label) if self.against == "parent" else self.against
            if label in paper.captioners and against in paper.captioners:
                yield label, str(against)

    def _corpora(self, paper: Reproduction, captioner: str) -> list[str]:
        labels = sorted(paper.corpora.keys() - set(self.without))
        if not isinstance(self.corpora, str):
            return [label for label in labels if label in self.corpora]
        wanted = DOMAINS[self.corpora]
        return [label for label in labels if wanted is None or paper.in_domain(captioner, label) is wanted]

    def parts(self, row: Row) -> list[str]:
        """Return the parts of the scope that a difference is judged in: captioners, metric, retriever and corpus."""
        retriever = row["scorer"] and f"judged by {row['scorer']}"
        parts = (f"{row['subject']} against {row['against']}", row["measure"], retriever, row["corpus"])
        return [part for name, part in zip(SCOPES, parts, strict=True) if name in self.per and part]

    def texts(self, rows: Sequence[Row]) -> list[str]:
        """Return the differences of a scope in words, and the corpora on which the run has no comparison."""
        tested = [row for row in rows if row["difference"] is not None]
        named = len({(row["subject"], row["against"]) for row in tested}) > 1
        absent = sorted({row["corpus"] for row in rows if row["difference"] is None}) if tested else []
        missing = [f"not in this run: {', '.join(absent)}"] if absent else []
        return [*(self._text(row, named) for row in tested), *missing]

    def number(self, row: Row) -> Cell:
        """Return the difference with its interval, as it is printed."""
        return interval_cell([row[name] for name in ENDS], "+.1f" if row["scorer"] else "+.2f")

    def _text(self, row: Row, named: bool) -> str:
        """Return a comparison in words: corpus, metric, difference, interval, images, and if `named` the captioners."""
        what = f"{row['subject']} against {row['against']} on " if named else ""
        what += row["corpus"] + (f" {row['measure']}" if len(self.metrics) > 1 and "metric" not in self.per else "")
        cell = self.number(row)
        p_value = "" if row["p_value"] is None else f", {p_text(row['p_value'])}"
        return f"{what} {cell.text} {cell.detail}{p_value}, n = {row['n']}, {trainings(row['seeds'])}"

    def link(self, row: Row, evidence: Evidence) -> str:
        """Return the address of the page with the captions of both captioners, empty if there is none."""
        assert evidence.captioners is not None
        paper, run = evidence.captioners
        captioner, against = (paper.captioners[row[side]] for side in ("subject", "against"))
        found = run.row(Coordinates(captioner, paper.corpora[row["corpus"]], row["measure"], row["scorer"]))
        return link_of({**found, "seeds": row["seeds"]}, against) if found else ""

    def printed(self, row: Row, evidence: Evidence) -> float | None:
        """Return the difference that the paper prints, or None.

        The corpus label of the row is looked up first, then other labels of the same corpus.
        """
        assert evidence.captioners is not None
        corpora = evidence.captioners[0].corpora
        others = [label for label, name in corpora.items() if name == corpora[row["corpus"]]]
        found = (evidence.printed({**row, "corpus": label}) for label in dict.fromkeys((row["corpus"], *others)))
        return next((theirs for theirs in found if theirs is not None), None)


AnyClaim = CaptionersClaim | EvidenceClaim


def read_claims(path: str | os.PathLike[str], paper: str) -> list[AnyClaim]:
    """Read the claims of a paper. Raises ClaimError, which names the claim and the key that is not valid."""
    entries = read_yaml(path)
    claims: list[AnyClaim] = []
    for entry in entries:
        kind: type[AnyClaim] = EvidenceClaim if "evidence" in entry else CaptionersClaim
        required = {field.name: field.default is MISSING for field in fields(kind) if field.name != "paper"}
        where = f"{path}: claim {entry.get('claim', '?')!r} of {paper}"
        lacking = {name for name, needed in required.items() if needed} - entry.keys()
        if odd := sorted(lacking | (entry.keys() - required.keys())):
            raise ClaimError(f"{where} {'lacks' if odd[0] in required else 'has an unknown key'} {odd[0]!r}")
        if entry["direction"] not in DIRECTIONS:
            raise ClaimError(f"{where}: direction is {entry['direction']!r}; it must be {' or '.join(DIRECTIONS)}")
        scopes = COLUMNS if kind is EvidenceClaim else SCOPES
        for key in ("per", "evidence"):
            if unknown := [name for name in entry.get(key, ()) if name not in scopes]:
                raise ClaimError(f"{where}: {key} names {unknown[0]!r}; it may name {', '.join(scopes)}")
        corpora = entry.get("corpora")
        if isinstance(corpora, str) and corpora not in DOMAINS:
            raise ClaimError(f"{where}: corpora is {corpora!r}; it must be {', '.join(DOMAINS)} or a list")
        if not 0 < entry["share"] <= 1:
            raise ClaimError(f"{where}: share is {entry['share']}; it must be above 0 and at most 1")
        claims.append(kind(paper=paper, **entry))
    return claims


@dataclass(frozen=True)
class Scope:
    """What a claim is judged for at once: its name, its differences, those that the run could test, and the verdict."""

    name: str
    differences: Sequence[Row]
    tested: Sequence[Row]
    intervals: Sequence[Interval]
    verdict: ClaimVerdict

    @property
    def signs(self) -> list[int]:
        """Return 1 for each comparison that is as claimed, -1 for the opposite, 0 for too small to tell."""
        return [interval.sign() for interval in self.intervals]


def judged_scopes(claim: AnyClaim, evidence: Evidence) -> list[Scope]:
    """Return the scopes of a claim with their verdicts; a claim without a comparison has one empty scope."""
    scopes: dict[str, list[Row]] = defaultdict(list)
    for row in claim.rows(evidence):
        scopes[", ".join(claim.parts(row)) or ALL].append(row)
    found = []
    for name, differences in (scopes or {ALL: []}).items():
        tested = _tested(differences)
        intervals = [_interval(claim, row) for row in tested]
        found.append(Scope(name, differences, tested, intervals, verdict(intervals, claim.share)))
    return found


def claims_table(
    claims: Sequence[AnyClaim],
    evidence: Mapping[str, Evidence],
    provenance: Mapping[str, Any],
    cells: Mapping[str, Cells],
) -> Table:
    """Return a table of every claim of the papers that have evidence, judged in each scope.

    `evidence` and `cells` are keyed by paper. `cells` holds the cells of the paper's tables, to which comparisons link.

    Each comparison has the smallest difference that it could have shown. If the paper prints its own difference, that
    difference follows. If the paper's difference is smaller and nothing was shown, a note says that the sample is too
    small. The records of a central claim have its `power` over all its comparisons.
    """
    records: list[dict[str, Value]] = []
    blocks: list[Block] = []
    used: set[str] = set()
    for claim in claims:
        if (of_paper := evidence.get(claim.paper)) is None:
            continue
        rows: list[list[Cell]] = []
        scopes = judged_scopes(claim, of_paper)
        in_all = _power(claim, [scope.tested for scope in scopes], of_paper)
        for scope in scopes:
            tested, intervals, signs = scope.tested, scope.intervals, scope.signs
            found = claim.texts(scope.differences)
            theirs = [claim.printed(row, of_paper) if of_paper.comparable else None for row in tested]
            smallest = _smallest(intervals, claim.share, theirs)
            used.add(scope.verdict)
            of_claim: dict[str, Value] = {"paper": claim.paper, "claim": claim.claim, "section": claim.section}
            of_scope: dict[str, Value] = {"statement": claim.statement, "scope": scope.name, "verdict": scope.verdict}
            in_words: dict[str, Value] = {"evidence": "; ".join(found), "smallest_difference": "; ".join(smallest)}
            counts: dict[str, Value] = {"as_claimed": signs.count(1), "opposite": signs.count(-1)}
            counts |= {"comparisons": len(signs), "required_share": claim.share}
            records.append({**of_claim, **of_scope, **counts, **in_words, **in_all})
            links = [_links(claim, row, of_paper, cells.get(claim.paper, {})) for row in tested]
            about = Cell(";\n".join(found), links=links if any(links) else ())
            rows.append([*map(Cell, (scope.name, scope.verdict, _count(signs))), about, Cell(";\n".join(smallest))])
        blocks.append(Block(rows, f"{claim.paper}, section {claim.section}: {claim.statement}"))
    headings = ("judged for", "verdict", "as claimed", "evidence")
    columns = [
        *(Column(heading, numeric=False) for heading in headings),
        Column("smallest difference", "that this run could have shown, in the unit of the evidence", numeric=False),
    ]
    notes = [*(f"{name}: {meaning}." for name, meaning in VERDICTS.items() if name in used), *NOTES]
    description = (
        "What the papers claim, in our words, and whether the comparisons of this run bear it out. The "
        f"{len(blocks)} claims have {len(records)} verdicts, as a claim may be judged for several captioners or "
        "retrievers apart; the table reproduction counts claims."
    )
    texts = ("claims", "Claims of the papers, as this run sees them", description)
    return table_of(*texts, columns, blocks, records, RECORD_COLUMNS, notes, provenance)


def _links(claim: AnyClaim, row: Row, evidence: Evidence, cells: Cells) -> list[Link]:
    """Return the links of a comparison: to its cells in tables, and to its captions."""
    captions = claim.link(row, evidence)
    beside = [Link("captions", captions, "the captions behind this")] if captions else []
    return [*links_to(row["places"], cells), *beside]


def _tested(rows: Sequence[Row]) -> list[Row]:
    """Return the comparisons that the run could make. A comparison on a single image is left out."""
    return [row for row in rows if row["difference"] is not None and row["n"] > 1]


def _power(claim: AnyClaim, scopes: Iterable[Sequence[Row]], evidence: Evidence) -> dict[str, Value]:
    """Return, for a central claim, how many differences the paper prints, and how large they are for this run.

    `scopes` are the comparisons that the run could test in each scope. `power` is the paper's mean difference (positive
    if as claimed) divided by the mean of the smallest differences that the run could have shown. The quotient is
    computed for each measure, then averaged. Nearnesses are left out because they are not differences.
    """
    if not claim.central:
        return {"central": "", "printed": None, "power": None}
    of_measures: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for rows in scopes:
        chances = choices(len(rows), claim.share) if rows else 1
        for row in rows:
            smallest, printed = _interval(claim, row).smallest(chances), claim.printed(row, evidence)
            if row["margin"] is None and smallest and printed is not None:
                of_measures[row["measure"]].append((DIRECTIONS[claim.direction] * printed, smallest))
    sums = [[sum(column) for column in zip(*pairs, strict=True)] for pairs in of_measures.values()]
    power = sum(printed / smallest for printed, smallest in sums) / len(sums) if sums else None
    return {"central": claim.central, "printed": sum(map(len, of_measures.values())), "power": power}


def _interval(claim: Claim, row: Row) -> Interval:
    """Return the interval of a difference, oriented so that values above 0 are as claimed."""
    value, low, high = (DIRECTIONS[claim.direction] * row[name] for name in ENDS)
    one_sided = row["measure"].startswith(NON_INFERIORITY)
    return Interval(value, min(low, high), max(low, high), row["seeds"], row["margin"], one_sided)


def _smallest(intervals: Sequence[Interval], share: float, theirs: Sequence[float | None]) -> list[str]:
    """Return in words what each comparison could have shown at least, beside the paper's own difference."""
    chances, texts = choices(len(intervals), share), []
    for interval, printed in zip(intervals, theirs, strict=True):
        smallest, least = interval.smallest(chances), interval.least_margin(chances)
        decimals = 2 if (smallest or least) >= 1 else 3
        if smallest is None:
            text = f"nothing within {interval.margin:.{decimals}f}, for so few only within {least:.{decimals}f} or more"
        else:
            text = f"{smallest:.{decimals}f}"
        if printed is not None:
            told = math.inf if smallest is None else smallest
            too_small = 0 < abs(printed) < told and not interval.sign(chances)
            text += f", {'too small a sample for ' if too_small else ''}the paper's {printed:+.{decimals}f}"
        texts.append(text)
    return texts


def _count(signs: Sequence[int]) -> str:
    """Return, in words, how many intervals are as claimed, how many are on the other side, and how many include 0."""
    if not signs:
        return ""
    others = {"opposite": signs.count(-1), "too small to tell": signs.count(0)}
    return ", ".join([f"{signs.count(1)} of {len(signs)}", *(f"{n} {what}" for what, n in others.items() if n)])
