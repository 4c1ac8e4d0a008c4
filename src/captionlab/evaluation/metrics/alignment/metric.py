"""Alignment: how well captions match their images according to a scorer."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from captionlab.evaluation.summary import (
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    caption_values,
    mean,
    parts,
)
from captionlab.statistics.intervals import ANY
from captionlab.storage.schemas import ALIGNMENT
from captionlab.storage.tables import read_table

METRICS = {"score": Metric("score", mean, ANY)}  # each scorer has bounds of its own


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus and scorer.

    `job.factors` converts the scores of each scorer into per cent; `job.bounds` has the bounds of the converted scores.
    """
    scores = read_table(path, ALIGNMENT)
    for (scorer,), part in parts(scores, "scorer"):
        scale, bounds = job.factors[scorer], job.bounds[scorer]
        metrics = {name: replace(metric, scale=scale, bounds=bounds) for name, metric in METRICS.items()}
        for result in caption_results(job, part, seed, metrics):
            yield replace(result, retriever=scorer)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield the scores of single captions by each scorer, converted into per cent by `factors`."""
    for (scorer,), part in parts(read_table(path, ALIGNMENT), "scorer"):
        for found in caption_values(part, {"score": "score"}, scorer, 1.0):
            yield replace(found, values=factors[scorer] * found.values)
