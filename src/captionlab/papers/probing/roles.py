"""What the captions of the paper's roles are worth to scorers and readers, and which patterns they follow."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.metrics.nlg import METRICS as NLG_METRICS
from captionlab.evaluation.metrics.spice import METRICS as SPICE_METRICS
from captionlab.evaluation.rows import row
from captionlab.evaluation.summary import ANY, Job, Metric, Result, caption_results, mean
from captionlab.intervals import seeds_interval, share_interval
from captionlab.language.schemas import PATTERNS
from captionlab.papers.probing.run import Row, Rows
from captionlab.papers.probing.words import (
    BY_AND,
    CONNECTED,
    HALF_OF_NEIGHBOURS,
    TOP_WORDS,
    connection_results,
    top_word_results,
)
from captionlab.reporting.roles import FLUENCY_METRICS, Place, Results, difference_rows, fluency, value_rows

# What a share that most images have is held against.
HALF = "half of the images"
# Measures by which roles are told from each other, and not only from the reference role.
BETWEEN_ROLES = (*TOP_WORDS, CONNECTED, BY_AND)
# Source, kind and rank of the patterns whose shares are measured.
PATTERN_MEASURES = {
    "first pattern": ("mined", "sentence", 1),
    "published prefix": ("published", "prefix", 1),
    "published second prefix": ("published", "prefix", 2),
    "published pattern": ("published", "sentence", 1),
}


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
    found = [*caption_results(job, nlg, seed, NLG_METRICS)]
    found += caption_results(job, fluency(measures), seed, FLUENCY_METRICS)
    if spice is not None:
        found += caption_results(job, spice, seed, SPICE_METRICS)
    found += [*top_word_results(job, tags, seed), *connection_results(job, tags, seed)]
    places: dict[Place, Result] = {(result.corpus, result.metric, None): result for result in found}
    for name, scorer in scorers.items():
        rows = alignment.filter(pa.compute.equal(alignment["scorer"], name))
        for result in caption_results(job, rows, seed, {"score": Metric("score", mean, scorer.factor, ANY)}):
            places[result.corpus, "score", scorer.label] = result
    return places


def between_rows(
    roles: Mapping[str, Sequence[str]], results: Mapping[str, Results], reference: str, parents: Row
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
    for found in value_rows(others, kept):
        if found["measure"] == CONNECTED:
            value, low, high = (found[name] - 50.0 for name in ("value", "ci_low", "ci_high"))
            place = found["corpus"], "generated", found["subject"], CONNECTED
            against = HALF_OF_NEIGHBOURS
            yield row(*place, (value, low, high), found["n"], seeds=found["seeds"], against=against)


def pattern_rows(roles: Mapping[str, Sequence[str]], patterns: Mapping[str, Sequence[Row]]) -> tuple[Rows, Rows]:
    """Rows of ROLE_VALUES and of ROLE_DIFFERENCES: how many captions follow a pattern, and whether most do.

    patterns: of each captioner its rows of PATTERNS. `first pattern` is the sentence pattern that was mined from the
    captioner's own captions and that most of them follow; `published prefix` and `published pattern` are the first that
    the paper prints for the model whose name the role has, `published second prefix` is its second, of captions that
    do not start with the first.
    """
    values, differences = [], []
    for role, captioners in roles.items():
        for corpus in dict.fromkeys(found["corpus"] for found in patterns[captioners[0]]):
            for measure, (source, part, rank) in PATTERN_MEASURES.items():
                wanted = (corpus, source, None if source == "mined" else role, part, rank)
                rows = [one for name in captioners if (one := _pattern(patterns[name], wanted))]
                if len(rows) < len(captioners):
                    continue
                column = "whole" if part == "sentence" else "start"
                shares, n = np.array([found[column] for found in rows]), min(found["n"] for found in rows)
                # Other seeds see the same images, so they are no further units.
                of_images = share_interval(float(shares.mean()), 0.0, n, n)
                share, low, high = (100.0 * end for end in seeds_interval(shares, of_images))
                low, high = max(low, 0.0), min(high, 100.0)
                place, half = (corpus, "generated", role, measure), (share - 50.0, low - 50.0, high - 50.0)
                values.append(row(*place, (share, low, high), n, seeds=len(rows)))
                differences.append(row(*place, half, n, seeds=len(rows), against=HALF))
    return values, differences


def _pattern(rows: Sequence[Row], wanted: tuple[Any, ...]) -> Row | None:
    """The pattern with this key; a mined one that is missing is followed by none, for nothing is in common."""
    found = next((one for one in rows if tuple(one[name] for name in PATTERNS.key) == wanted), None)
    if found is None and wanted[1] == "mined":
        return {**next(one for one in rows if one["corpus"] == wanted[0]), "whole": 0.0}
    return found
