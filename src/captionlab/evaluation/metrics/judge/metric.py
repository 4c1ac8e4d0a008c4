"""Judges: models behind servers that score captions. They are printed by their names in the config.

A caption without an answer is in no mean. The share of captions without an answer is a metric of its own.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.summary import (
    LOWER,
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    caption_values,
    mean,
    parts,
)
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

SCORES = TableSchema(
    "scores of a judge",
    "a caption scored by a judge",
    (*CAPTION_KEY, "judge"),
    **CAPTION_KEY,
    judge=Column(pa.string(), "name of the judge in the config"),
    score=Column(pa.float64(), "score: of CLAIR and FLEUR 0 to 1; null: no answer", nullable=True),
    reason=Column(pa.string(), "reason that the judge gives", nullable=True),
    smoothed=Column(pa.bool_(), "whether the score is smoothed by the probabilities of its digits"),
    questions=Column(pa.int32(), "how often the judge was asked for the score"),
    fault=Column(pa.string(), "why there is no answer; null: there is one", nullable=True),
)


def mean_of_answers(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return the mean (...) of scores, from sums (..., 2) of scores and of answers.

    A sample without answers has the mean over all samples.
    """
    scores, answers = sums[..., 0], sums[..., 1]
    overall = np.full(np.shape(scores), scores.sum() / answers.sum())
    return np.divide(scores, answers, out=overall, where=answers > 0)


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the mean score and the share of captions without an answer, by corpus and judge.

    `job.factors` and `job.bounds` have the factor and the bounds of printed scores, under the judge's key in the
    config. If no caption of a corpus has an answer, there is no mean.
    """
    for (name, _), part in parts(read_table(path, SCORES), "judge", "corpus"):
        answered = pc.is_valid(part["score"]).to_numpy().astype(np.float64)
        scores = np.nan_to_num(part["score"].to_numpy())
        pairs = pa.FixedSizeListArray.from_arrays(pa.array(np.stack([scores, answered], axis=1).ravel()), 2)
        part = part.append_column("pairs", pairs).append_column("unanswered", pa.array(1 - answered))
        key = f"judges.{name}"
        metrics = {f"{name}: no answer": Metric("unanswered", mean, PER_CENT, share=True, better=LOWER)}
        if answered.any():
            metrics = {name: Metric("pairs", mean_of_answers, job.bounds[key], job.factors[key]), **metrics}
        yield from caption_results(job, part, seed, metrics)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield the score of each caption, multiplied by the factor of the judge in `factors`, or by 1 if it has none."""
    for (name,), part in parts(read_table(path, SCORES), "judge"):
        scale = factors.get(f"judges.{name}", 1.0)
        yield from caption_values(part, {name: "score"}, scale=scale, notes="reason")
