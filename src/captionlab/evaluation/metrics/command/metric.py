"""Metrics that are external commands, each in its own environment. They are printed by their names in the config."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

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
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

SCORES = TableSchema(
    "scores of a command",
    "a caption scored by a command",
    (*CAPTION_KEY, "metric"),
    **CAPTION_KEY,
    metric=Column(pa.string(), "name of the metric in the config"),
    score=Column(pa.float64(), "score as the command gives it"),
)


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the means over captions, by corpus and metric.

    `job.factors` has the factor by which a metric is multiplied in print, under its key in the config.
    """
    for (name,), part in parts(read_table(path, SCORES), "metric"):
        metric = Metric("score", mean, ANY, job.factors[f"metrics.{name}"])
        yield from caption_results(job, part, seed, {name: metric})


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield the score of each caption, multiplied by the factor of the metric in `factors`, or by 1 if it has none."""
    for (name,), part in parts(read_table(path, SCORES), "metric"):
        yield from caption_values(part, {name: "score"}, scale=factors.get(f"metrics.{name}", 1.0))
