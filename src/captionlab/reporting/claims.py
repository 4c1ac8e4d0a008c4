"""Does a run bear out what a paper claims? Claims are data, their verdicts follow from intervals."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, fields
from typing import Any

import yaml

from captionlab.reporting.claim_verdicts import VERDICTS, Interval, choices, verdict
from captionlab.reporting.evidence import COLUMNS, NON_INFERIORITY, Evidence, EvidenceClaim
from captionlab.reporting.render import Block, Cell, Column, Table, Value, interval_cell, p_text
from captionlab.reporting.reproduction import Reproduction
from captionlab.reporting.runs import Measured, Place, Run
from captionlab.reporting.sheets import PROVENANCE, table_of

SCOPES = ("captioner", "metric", "retriever", "corpus")
DIRECTIONS = {"higher": 1, "lower": -1}
RECORD_COLUMNS = (
    "paper", "claim", "section", "statement", "scope", "verdict", "evidence", "comparisons", "as_claimed", "opposite",
    "required_share", "smallest_difference", *PROVENANCE,
)  # fmt: skip


class ClaimError(ValueError):
    """A claim is not written as claims are."""


@dataclass(frozen=True)
class Claim:
    """One claim of a paper and the comparison that decides it; docs/claims.md explains the keys."""

    paper: str
    claim: str
    section: str
    statement: str
    captioner: str
    against: str
    metrics: Sequence[str]
    corpora: str | Sequence[str]
    direction: str
    share: float
    per: Sequence[str]
    without: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.corpora, str) and self.corpora not in ("all", "in-domain", "cross-domain"):
            raise ClaimError(
                f"claim {self.claim!r} of {self.paper}: corpora is {self.corpora!r}; it must be all, in-domain, "
                "cross-domain or a list"
            )


@dataclass(frozen=True)
class Comparison:
    """One comparison that a claim asks for, in labels of the paper, and what the run says of it (None: nothing)."""

    captioner: str
    against: str
    metric: str
    retriever: str | None
    corpus: str
    difference: Measured | None


def read_claims(path: str | os.PathLike[str], paper: str) -> list[Claim | EvidenceClaim]:
    """Read the claims of a paper; a ClaimError names the claim and the key that is wrong."""
    with open(path, encoding="utf-8") as file:
        entries = yaml.safe_load(file)
    claims = []
    for entry in entries:
        kind: type[Claim | EvidenceClaim] = EvidenceClaim if "evidence" in entry else Claim
        required = {field.name: field.default is MISSING for field in fields(kind) if field.name != "paper"}
        where = f"{path}: claim {entry.get('claim', '?')!r} of {paper}"
        lacking = {name for name, needed in required.items() if needed} - entry.keys()
        if odd := sorted(lacking | (entry.keys() - required.keys())):
            raise ClaimError(f"{where} {'lacks' if odd[0] in required else 'has an unknown key'} {odd[0]!r}")
        _check(where, entry, COLUMNS if kind is EvidenceClaim else SCOPES)
        claims.append(kind(paper=paper, **entry))
    return claims


def _check(where: str, entry: Mapping[str, Any], scopes: Sequence[str]) -> None:
    if entry["direction"] not in DIRECTIONS:
        raise ClaimError(f"{where}: direction is {entry['direction']!r}; it must be {' or '.join(DIRECTIONS)}")
    for key in ("per", "evidence"):
        if unknown := [name for name in entry.get(key, ()) if name not in scopes]:
            raise ClaimError(f"{where}: {key} names {unknown[0]!r}; it may name {', '.join(scopes)}")
    if not 0 < entry["share"] <= 1:
        raise ClaimError(f"{where}: share is {entry['share']}; it must be above 0 and at most 1")


def claims_table(
    claims: Sequence[Claim | EvidenceClaim], evidence: Mapping[str, Evidence], provenance: Mapping[str, Any]
) -> Table:
    """Every claim of the papers that there is evidence on, judged in each scope.

    Beside the evidence stands the smallest difference that each comparison could have shown, then the paper's own where
    it prints one, and where that is smaller and nothing was shown, that a replication of this size is too small to
    confirm it.
    """
    records: list[dict[str, Value]] = []
    blocks = []
    for claim in claims:
        if (of_paper := evidence.get(claim.paper)) is None:
            continue
        rows = []
        for scope, intervals, found, theirs in (
            _of_differences(claim, of_paper) if isinstance(claim, EvidenceClaim) else _of_captioners(claim, of_paper)
        ):
            signs = [interval.sign() for interval in intervals]
            smallest = _smallest(intervals, claim.share, theirs)
            record: dict[str, Value] = {
                **{name: getattr(claim, name) for name in ("paper", "claim", "section", "statement")},
                "scope": scope,
                "verdict": verdict(intervals, claim.share),
                "evidence": "; ".join(found),
                "comparisons": len(signs),
                "as_claimed": signs.count(1),
                "opposite": signs.count(-1),
                "required_share": claim.share,
                "smallest_difference": "; ".join(smallest),
            }
            records.append(record)
            texts = (scope, str(record["verdict"]), _count(signs), ";\n".join(found), ";\n".join(smallest))
            rows.append(list(map(Cell, texts)))
        blocks.append(Block(rows, f"{claim.paper}, section {claim.section}: {claim.statement}"))
    headings = ("judged for", "verdict", "as claimed", "evidence", "could show")
    return table_of(
        "claims",
        "Claims of the papers, as this run sees them",
        "What the papers claim, in our words, and whether the comparisons of this run bear it out.",
        [Column(heading, numeric=False) for heading in headings],
        blocks,
        records,
        RECORD_COLUMNS,
        _notes({str(record["verdict"]) for record in records}),
        provenance,
    )


def _notes(used: Set[str]) -> list[str]:
    """What the verdicts in use and the columns mean."""
    notes = [f"{name}: {meaning}." for name, meaning in VERDICTS.items() if name in used]
    notes.append(
        "Evidence: the difference with its 95 % interval and the p-value of a paired test on the same images; "
        "without p where the interval follows from the two values alone, as if of different images, or from several "
        "trainings too. n: images, or where images were ablated the captions averaged, of the captioner with fewer. "
        "Of 1 training the interval is over images only (or scenes, or participants): another seed can give another "
        "verdict."
    )
    notes.append(
        "Could show: the smallest difference that such a comparison, with its interval and where a part of them is "
        "asked for the wider one, would have told from 0 in four of five runs. That is normal theory, also where the "
        "interval is Student's t over trainings or splits. A nearness is at most its margin, and may be missed on two "
        "sides, a non-inferiority on one: where the margin is too small for so many images, even no difference at all "
        "could not have been shown to be within it. Then the paper's own difference or nearness, where it prints the "
        "numbers and the config calls the run comparable."
    )
    return notes


# A scope, the intervals of its comparisons, above 0 as claimed, the evidence in words, and the paper's own differences
# (None where it prints none).
_Judged = tuple[str, list[Interval], list[str], list[float | None]]


def _of_captioners(claim: Claim, evidence: Evidence) -> Iterator[_Judged]:
    if evidence.captioners is None:
        raise ClaimError(f"claim {claim.claim!r} of {claim.paper} is about captioners, and its evidence has none")
    paper, run = evidence.captioners
    for scope, members in _scopes(claim, _comparisons(claim, paper, run)).items():
        tested = [(one, one.difference) for one in members if one.difference is not None]
        named = len({(one.captioner, one.against) for one, _ in tested}) > 1
        texts = [_evidence(claim, *one, named) for one in tested]
        if tested and (absent := sorted({one.corpus for one in members if one.difference is None})):
            texts.append(f"not in this run: {', '.join(absent)}")
        intervals = [_turned(claim, difference.ends) for _, difference in tested]
        yield scope, intervals, texts, [_printed_of(one, evidence, paper) for one, _ in tested]


def _of_differences(claim: EvidenceClaim, evidence: Evidence) -> Iterator[_Judged]:
    for scope, rows in claim.scopes(evidence.differences).items():
        intervals = []
        for row in rows:
            ends = (row["difference"], row["ci_low"], row["ci_high"])
            one_sided = row["measure"].startswith(NON_INFERIORITY)
            intervals.append(_turned(claim, ends, row["seeds"], row["margin"], one_sided))
        texts = [claim.text(row) for row in rows]
        if rows and (absent := claim.absent_corpora(rows)):
            texts.append(f"not in this run: {', '.join(absent)}")
        if not rows and claim.needs:
            texts.append(f"tested {claim.needs}")
        yield scope, intervals, texts, [evidence.printed(row) for row in rows]


def _printed_of(one: Comparison, evidence: Evidence, paper: Reproduction) -> float | None:
    """What the paper prints of a comparison under its label of the corpus, or else any other label of that."""
    row = {
        "experiment": "generated",
        "subject": one.captioner,
        "against": one.against,
        "measure": one.metric,
        "scorer": one.retriever,
    }
    others = [label for label, name in paper.corpora.items() if name == paper.corpora[one.corpus]]
    found = (evidence.printed({**row, "corpus": label}) for label in dict.fromkeys((one.corpus, *others)))
    return next((theirs for theirs in found if theirs is not None), None)


def _smallest(intervals: Sequence[Interval], share: float, theirs: Sequence[float | None]) -> list[str]:
    """In words, what each comparison could have shown, beside the paper's own difference where that is known.

    With a remark where it shows nothing and the paper's is smaller.
    """
    chances, texts = choices(len(intervals), share), []
    for interval, printed in zip(intervals, theirs, strict=True):
        smallest, least = interval.smallest(chances), interval.least_margin(chances)
        decimals = 2 if (smallest or least) >= 1 else 3
        if smallest is None:
            text = f"nothing within {interval.margin:.{decimals}f}, for so few only within {least:.{decimals}f} or more"
        else:
            text = f"{smallest:.{decimals}f}"
        if printed is not None:
            too_small = 0 < abs(printed) < (smallest or math.inf) and not interval.sign(chances)
            text += f", {'too small a sample for ' if too_small else ''}the paper's {printed:+.{decimals}f}"
        texts.append(text)
    return texts


def _turned(
    claim: Claim | EvidenceClaim,
    ends: tuple[float, float, float],
    repetitions: int = 1,
    margin: float | None = None,
    one_sided: bool = False,
) -> Interval:
    """A difference with the ends of its interval, above 0 where it is as claimed."""
    value, low, high = (DIRECTIONS[claim.direction] * end for end in ends)
    return Interval(value, min(low, high), max(low, high), repetitions, margin, one_sided)


def _comparisons(claim: Claim, paper: Reproduction, run: Run) -> Iterator[Comparison]:
    """All comparisons that the claim asks for and the run could have made."""
    for captioner, against in _pairs(claim, paper):
        corpora: dict[str, str] = {}
        for label in _corpora(claim, paper, captioner):  # of two labels of a corpus the first counts
            corpora.setdefault(paper.corpora[label], label)
        for name, corpus in corpora.items():
            for metric in claim.metrics:
                for retriever in sorted(run.found("scorer", measure=metric), key=str):
                    if paper.retrievers and retriever not in (None, *paper.retrievers):
                        continue
                    place = Place(paper.captioners[captioner], name, metric, retriever)
                    difference = run.either_difference(place, paper.captioners[against])
                    yield Comparison(captioner, against, metric, retriever, corpus, difference)


def _pairs(claim: Claim, paper: Reproduction) -> Iterator[tuple[str, str]]:
    parents = paper.parents()
    for label in sorted(parents) if claim.captioner == "finetuned" else [claim.captioner]:
        against = parents.get(label) if claim.against == "parent" else claim.against
        if label in paper.captioners and against in paper.captioners:
            yield label, str(against)


def _corpora(claim: Claim, paper: Reproduction, captioner: str) -> list[str]:
    labels = sorted(paper.corpora.keys() - set(claim.without))
    if claim.corpora == "all":
        return labels
    if claim.corpora in ("in-domain", "cross-domain"):
        wanted = claim.corpora == "in-domain"
        return [label for label in labels if paper.in_domain(captioner, label) is wanted]
    return [label for label in labels if label in claim.corpora]


def _scopes(claim: Claim, comparisons: Iterable[Comparison]) -> dict[str, list[Comparison]]:
    """Comparisons by what is judged apart; one empty scope when there are none."""
    scopes: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        parts = {
            "captioner": f"{comparison.captioner} against {comparison.against}",
            "metric": comparison.metric,
            "retriever": comparison.retriever and f"judged by {comparison.retriever}",
            "corpus": comparison.corpus,
        }
        scope = ", ".join(part for name, part in parts.items() if name in claim.per and part)
        scopes.setdefault(scope or "all comparisons", []).append(comparison)
    return scopes or {"all comparisons": []}


def _evidence(claim: Claim, one: Comparison, difference: Measured, named: bool) -> str:
    """One comparison in words: captioners where they are `named`, corpus, metric, difference, interval, images."""
    what = one.corpus + (f" {one.metric}" if len(claim.metrics) > 1 and "metric" not in claim.per else "")
    if named:
        what = f"{one.captioner} against {one.against} on {what}"
    cell = interval_cell(difference.ends, "+.1f" if one.retriever else "+.2f")
    p_value = "" if difference.p_value is None else f", {p_text(difference.p_value)}"
    return f"{what} {cell.text} {cell.detail}{p_value}, n = {difference.n}, 1 training"


def _count(signs: Sequence[int]) -> str:
    """How many of how many intervals lie as claimed, and how many on the other side or around 0."""
    if not signs:
        return ""
    others = {"opposite": signs.count(-1), "too small to tell": signs.count(0)}
    return ", ".join([f"{signs.count(1)} of {len(signs)}", *(f"{n} {what}" for what, n in others.items() if n)])
