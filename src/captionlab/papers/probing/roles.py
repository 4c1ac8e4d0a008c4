"""What the captions of the paper's roles are worth to scorers and readers, and which patterns they follow."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.summary import (
    BY_AND,
    CONNECTED,
    NLG_METRICS,
    SPICE_METRICS,
    Job,
    Metric,
    Result,
    mean,
    nlg_results,
)
from captionlab.intervals import seeds_interval, share_interval
from captionlab.papers.probing.connections import HALF_OF_NEIGHBOURS, connection_results
from captionlab.papers.probing.top_words import MEASURES as TOP_WORDS
from captionlab.papers.probing.top_words import top_word_results
from captionlab.reporting.roles import (
    FLUENCY_METRICS,
    Place,
    Results,
    difference_rows,
    fluency,
    place_columns,
    value_rows,
)

# What a share that most images have is held against.
HALF = "half of the images"
# Measures by which roles are told from each other, and not only from the reference role.
BETWEEN_ROLES = (*TOP_WORDS, CONNECTED, BY_AND)


@dataclass(frozen=True)
class PrintedScorer:
    """The paper's name of a scorer, and the factor that puts its scores into per cent."""

    label: str
    factor: float


def captioner_results(
    job: Job,
    scorers: Mapping[str, PrintedScorer],
    seed: int,
    alignment: pa.Table,
    nlg: pa.Table,
    measures: pa.Table,
    tags: pa.Table,
    spice: pa.Table | None = None,
) -> dict[Place, Result]:
    """Every measure of a captioner by corpus and scorer, from its tables with a row for each caption."""
    found = [*nlg_results(job, nlg, seed, NLG_METRICS), *nlg_results(job, fluency(measures), seed, FLUENCY_METRICS)]
    if spice is not None:
        found += nlg_results(job, spice, seed, SPICE_METRICS)
    found += [*top_word_results(job, tags, seed), *connection_results(job, tags, seed)]
    places: dict[Place, Result] = {(result.corpus, result.metric, None): result for result in found}
    for name, scorer in scorers.items():
        rows = alignment.filter(pa.compute.equal(alignment["scorer"], name))
        for result in nlg_results(job, rows, seed, {"score": Metric("score", mean, scorer.factor)}):
            places[result.corpus, "score", scorer.label] = result
    return places


def between_rows(
    roles: Mapping[str, Sequence[str]],
    results: Mapping[str, Results],
    reference: str,
    parents: Mapping[str, str | None],
) -> Iterator[dict[str, Any]]:
    """Rows of ROLE_DIFFERENCES: each role against every other but the reference role, by BETWEEN_ROLES.

    And whether less than half of a role's neighbouring noun phrases are connected.
    """
    kept = {
        name: {place: result for place, result in places.items() if place[1] in BETWEEN_ROLES}
        for name, places in results.items()
    }
    others = {role: captioners for role, captioners in roles.items() if role != reference}
    for other in others:
        yield from difference_rows(others, kept, other, parents, {})
    for row in value_rows(others, kept):
        if row["measure"] == CONNECTED:
            ends = {"difference": row.pop("value"), "ci_low": row["ci_low"], "ci_high": row["ci_high"]}
            yield {
                **row,
                **{end: value - 50.0 for end, value in ends.items()},
                "against": HALF_OF_NEIGHBOURS,
                "own": None,
                "margin": None,
            }


def pattern_rows(
    roles: Mapping[str, Sequence[str]], patterns: Mapping[str, Sequence[Mapping[str, Any]]]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of ROLE_VALUES and of ROLE_DIFFERENCES: how many captions follow a pattern, and whether most do.

    patterns: of each captioner its rows of PATTERNS. `first pattern` is the sentence pattern that was mined from the
    captioner's own captions and that most of them follow; `published prefix` and `published pattern` are the first that
    the paper prints for the model whose name the role has, `published second prefix` is its second, of captions that
    do not start with the first.
    """
    values, differences = [], []
    for role, captioners in roles.items():
        for corpus in dict.fromkeys(row["corpus"] for row in patterns[captioners[0]]):
            wanted = {
                "first pattern": ("mined", None, "sentence", 1, "whole"),
                "published prefix": ("published", role, "prefix", 1, "start"),
                "published second prefix": ("published", role, "prefix", 2, "start"),
                "published pattern": ("published", role, "sentence", 1, "whole"),
            }
            for measure, (source, model, part, rank, column) in wanted.items():
                found = [_pattern(patterns[name], corpus, source, model, part, rank) for name in captioners]
                if source == "mined":  # captions that have nothing in common follow no pattern
                    of_corpus = [next(row for row in patterns[name] if row["corpus"] == corpus) for name in captioners]
                    found = [one or {**row, column: 0.0} for one, row in zip(found, of_corpus, strict=True)]
                rows = [one for one in found if one]
                if len(rows) < len(captioners):
                    continue
                shares, counts = np.array([row[column] for row in rows]), [row["n"] for row in rows]
                # Other seeds see the same images, so they are no further units.
                of_images = share_interval(float(shares.mean()), 0.0, min(counts), min(counts))
                share, low, high = (100.0 * end for end in seeds_interval(shares, of_images))
                low, high = max(low, 0.0), min(high, 100.0)
                row = {**place_columns(role, (corpus, measure, None)), "seeds": len(rows), "n": min(counts)}
                values.append({**row, "value": share, "ci_low": low, "ci_high": high})
                half = {"difference": share - 50.0, "ci_low": low - 50.0, "ci_high": high - 50.0}
                differences.append({**row, **half, "against": HALF, "own": None, "margin": None})
    return values, differences


def _pattern(
    rows: Sequence[Mapping[str, Any]], corpus: str, source: str, model: str | None, part: str, rank: int
) -> Mapping[str, Any] | None:
    """The pattern of its kind that has a rank."""
    place = (corpus, source, model, part, rank)
    names = ("corpus", "source", "model", "role", "rank")
    return next((row for row in rows if tuple(row[name] for name in names) == place), None)
