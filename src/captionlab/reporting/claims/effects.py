"""Main effects of a run: the comparisons behind the claims that the abstracts of the papers make."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from captionlab.reporting.claims.claims import AnyClaim, judged_scopes
from captionlab.reporting.claims.evidence import Evidence
from captionlab.reporting.runs.links import printed_link
from captionlab.storage.tables import Column, TableSchema

_STRING, _INT, _DOUBLE = pa.string(), pa.int32(), pa.float64()

EFFECTS = TableSchema(
    "main effects",
    "a comparison behind a claim that the abstract of a paper makes",
    ("paper", "claim", "scope", "subject", "against", "corpus", "measure", "scorer", "experiment", "source", "level"),
    paper=Column(_STRING, "name of the paper"),
    claim=Column(_STRING, "name of the claim"),
    scope=Column(_STRING, "what the claim is judged for"),
    verdict=Column(_STRING, "verdict on the claim in this scope"),
    direction=Column(_STRING, "higher or lower: the sign of the difference that the paper claims"),
    subject=Column(_STRING, "what is compared, by the paper's label"),
    against=Column(_STRING, "what is subtracted"),
    corpus=Column(_STRING, "corpus, by the paper's label if it has one"),
    measure=Column(_STRING, "metric or other measure"),
    scorer=Column(_STRING, "retriever or scorer of the measure", nullable=True),
    experiment=Column(_STRING, "generated: captions of captioners; else how captions were constructed"),
    source=Column(_STRING, "where a template comes from", nullable=True),
    level=Column(_DOUBLE, "share of words replaced, or number of nouns", nullable=True),
    difference=Column(_DOUBLE, "difference, in the unit of the measure"),
    ci_low=Column(_DOUBLE, "lower end of the 95 % interval"),
    ci_high=Column(_DOUBLE, "upper end of the interval"),
    text=Column(_STRING, "the difference as the table of claims prints it"),
    interval=Column(_STRING, "its interval as printed"),
    seeds=Column(_INT, "trainings that the difference is a mean of"),
    n=Column(_INT, "images, or what else the claim counts"),
    published=Column(_DOUBLE, "the paper's own difference, whether comparable or not", nullable=True),
    link=Column(_STRING, "address of the captions behind the difference, from results/tables/; empty if unknown"),
)


def main_effects(claims: Sequence[AnyClaim], evidence: Mapping[str, Evidence]) -> list[dict[str, Any]]:
    """Return the rows of EFFECTS of all central claims of the papers that have evidence, in the order of the claims."""
    central = [claim for claim in claims if claim.central and claim.paper in evidence]
    return [row for claim in central for row in _effects(claim, evidence[claim.paper])]


def _effects(claim: AnyClaim, evidence: Evidence) -> Iterator[dict[str, Any]]:
    for scope in judged_scopes(claim, evidence):
        of_scope = {"paper": claim.paper, "claim": claim.claim, "scope": scope.name, "verdict": scope.verdict}
        for row in scope.tested:
            known = {name: row[name] for name in EFFECTS.columns if name in row}
            cell = claim.number(row)
            printed = {"text": cell.text, "interval": cell.detail, "published": claim.printed(row, evidence)}
            link = claim.link(row, evidence)
            link = link and printed_link(link, f"{cell.text} {cell.detail}")
            yield {**known, **of_scope, "direction": claim.direction, **printed, "link": link}
