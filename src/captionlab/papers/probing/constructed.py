"""Measure the scores of constructed captions against the captions that they were made from, on the same images."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from captionlab.evaluation.rows import row
from captionlab.papers.probing.roles import MODELS
from captionlab.reporting.claims.reading import Rows
from captionlab.reporting.runs.reproduction import in_order
from captionlab.reporting.runs.values import Row
from captionlab.statistics.intervals import (
    RESAMPLES,
    SIMILAR,
    Ends,
    bootstrap_interval,
    difference_bounds,
    resampled_sums,
    seeds_interval,
    share_interval,
    within,
)

# Measures that are 0 or 100 for each caption.
SHARES = ("preferred", "chosen")
# Name of the comparison of a share with one half, for claims about most images.
HALF = "half of the images"
# Name of the comparison of captions that have more nouns with captions in the same template that have the fewest nouns
# of the experiment.
FEWEST = "the fewest nouns"
# Name of the comparison, step by step, with captions that have the next fewer nouns of the experiment.
NEXT = "the next fewer nouns"

# Rows of constructed captions, rows of their scores, and rows of the scores of the captions that they were made from.
EvaluationRows = tuple[Iterable[Row], Iterable[Row], Iterable[Row]]
# Experiment, subject, source, level: one way to construct captions.
Way = tuple[str, str, str | None, float | None]
# A number for each image, NaN if there is no such caption.
Column = np.ndarray
# Name of a column: the way, measure, scorer, and what it is compared with (None for a value that is no difference).
Name = tuple[Way, str, str, str | None]


@dataclass(frozen=True)
class PrintedScorer:
    """The paper's name of a scorer, and how its scores are printed: times a factor to per cent, within bounds."""

    label: str
    factor: float
    bounds: Ends


def constructed_rows(
    parts: Sequence[EvaluationRows], scorers: Mapping[str, PrintedScorer], original: str, seed: int
) -> tuple[Rows, Rows]:
    """Return rows of ROLE_VALUES and of ROLE_DIFFERENCES.

    `parts` has a part for each table of constructed captions; several parts are seeds. A part has the rows of the
    table, the scores of the constructed captions, and the scores of the original captions that they were made from.
    `original` is the role of the original captions.

    `nearness of score` is above 0 if captions have about the score that they are compared with. For captions with other
    words replaced, this is the score before the replacement. For captions with more nouns in their scorer's template,
    it is the score with the fewest nouns.
    """
    bounds = {scorer.label: scorer.bounds for scorer in scorers.values()}
    values, differences = [], []
    for corpus in dict.fromkeys(one["corpus"] for constructions, _, _ in parts for one in constructions):
        columns = [_columns(part, corpus, scorers, original) for part in parts]
        drawn = [_resampled(of_part, seed) for of_part in columns]
        for name in (name for name in columns[0] if all(name in of_part for of_part in columns)):
            way, measure, scorer, against = name
            experiment, subject, source, level = way
            n, place = int(np.isfinite(columns[0][name]).sum()), (source, level, len(parts), against)
            in_parts = [of_part[name] for of_part in columns], [of_part[name] for of_part in drawn]
            number = _over_parts(name, *in_parts, n, bounds[scorer])
            made = row(corpus, experiment, subject, measure, number, n, *place)
            if against is None:
                values.append({**made, "scorer": scorer})
                continue
            judged = {"scorer": scorer, "own": subject == scorer if experiment in ("template", "count") else None}
            differences.append({**made, **judged})
            # The paper says that these scores change little: with other words replaced, and for UNITER with more nouns
            # in its template.
            little = (("replacement", "others", original), ("count", scorer, FEWEST))
            if measure == "score" and (experiment, subject, against) in little:
                before = np.mean([np.nanmean(part[way, measure, scorer, None] - part[name]) for part in columns])
                margin = SIMILAR * abs(float(before))
                near = row(corpus, experiment, subject, "nearness of score", within(*number, margin), n, *place, margin)
                differences.append({**near, **judged})
    return values, differences


def _over_parts(
    name: Name, columns: Sequence[Column], drawn: Sequence[np.ndarray], images: int, of_scores: Ends
) -> tuple[float, float, float]:
    """Return the mean of a column over seeds with its interval, computed from the resamples of each seed.

    `of_scores` are the bounds of the scorer's scores.
    """
    means = np.array([np.nanmean(column) for column in columns])
    shortest = min(RESAMPLES, *map(len, drawn))
    resampled = np.array([of_seed[:shortest] for of_seed in drawn]).mean(axis=0)
    mean, (_, measure, _, against) = float(means.mean()), name
    if measure not in SHARES:
        bounds = of_scores if against is None else difference_bounds(of_scores)
        return seeds_interval(means, bootstrap_interval(mean, resampled, bounds), bounds)
    middle = 50.0 if against == HALF else 0.0
    ends = share_interval((mean + middle) / 100, float(np.var(resampled / 100)), images, images * len(columns))
    return seeds_interval(means, (100 * ends[0] - middle, 100 * ends[1] - middle), (-middle, 100.0 - middle))


def _columns(
    part: EvaluationRows, corpus: str, scorers: Mapping[str, PrintedScorer], original: str
) -> dict[Name, Column]:
    constructions, alignment, of_original = part
    ways: dict[tuple[str, int], Way] = {}
    for one in (one for one in constructions if one["corpus"] == corpus):
        level = None if one["experiment"] == "template" else one["level"]  # a template takes as many nouns as there are
        ways[one["image_id"], one["caption_index"]] = one["experiment"], one["subject"], one["source"], level
    columns: dict[Name, Column] = {}
    for name, scorer in scorers.items():
        first = [
            one for one in of_original if (one["corpus"], one["scorer"], one["caption_index"]) == (corpus, name, 0)
        ]
        first.sort(key=lambda one: one["image_id"])
        place = {one["image_id"]: index for index, one in enumerate(first)}
        before = np.array([one["score"] * scorer.factor for one in first])
        after: dict[Way, Column] = {}
        for one in alignment:
            if (one["corpus"], one["scorer"]) == (corpus, name):
                way = ways[one["image_id"], one["caption_index"]]
                scores = after.setdefault(way, np.full(len(place), np.nan))
                scores[place[one["image_id"]]] = one["score"] * scorer.factor
        columns |= _of_scorer(after, before, scorer.label, original)
    return columns


def _of_scorer(
    after: Mapping[Way, Column], before: Column, scorer: str, original: str
) -> Iterator[tuple[Name, Column]]:
    """Yield every column of a scorer: scores, and differences from the scores that they are compared with."""
    counts = defaultdict[tuple[str, str | None], list[float]](list)
    for experiment, subject, source, level in after:
        if experiment == "count" and level is not None:
            counts[subject, source].append(level)
    for way, scores in sorted(after.items(), key=str):
        experiment, subject, source, level = way
        there = np.isfinite(scores)
        preferred = np.where(there, 100.0 * (scores > before), np.nan)
        yield (way, "score", scorer, None), scores
        yield (way, "score", scorer, original), scores - before
        yield (way, "preferred", scorer, None), preferred
        yield (way, "preferred", scorer, HALF), preferred - 50.0
        if experiment == "replacement" and subject == "nouns":
            others = after.get((experiment, "others", source, level))
            if others is not None and np.isfinite(scores - others).any():
                yield (way, "score", scorer, "others"), scores - others
        fewer = [other for other in counts[subject, source] if experiment == "count" and level and other < level]
        for against, other in ((FEWEST, min(fewer)), (NEXT, max(fewer))) if fewer else ():
            difference = scores - after[experiment, subject, source, other]
            if np.isfinite(difference).any():
                yield (way, "score", scorer, against), difference
    published = {way[1]: way for way in after if way[0] == "template" and way[2] == "published"}
    if templates := [published[model] for model in in_order(published, MODELS)]:
        choices = np.stack([before, *(after[way] for way in templates)], axis=1)
        complete = np.isfinite(choices).all(axis=1)
        best = np.where(complete, np.nan_to_num(choices, nan=-np.inf).argmax(axis=1), -1)
        for number, way in enumerate([("generated", original, None, None), *templates]):
            yield (way, "chosen", scorer, None), np.where(complete, 100.0 * (best == number), np.nan)


def _resampled(columns: Mapping[Name, Column], seed: int) -> dict[Name, np.ndarray]:
    """Return the means of each column on resamples of the images, without resamples that have none of its captions."""
    matrix = np.stack(list(columns.values()), axis=1)
    sums = resampled_sums(np.concatenate([np.nan_to_num(matrix), np.isfinite(matrix)], axis=1), seed)
    totals, counts = np.split(sums, 2, axis=1)
    return {name: totals[:, i][counts[:, i] > 0] / counts[:, i][counts[:, i] > 0] for i, name in enumerate(columns)}
