"""Alignment: how well a scorer finds that captions match their images."""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow.compute as pc

from captionlab.declarations import ScoreTable
from captionlab.evaluation.summary import ANY, Job, Metric, Result, caption_results, mean
from captionlab.schemas import ALIGNMENT
from captionlab.tables import read_table

DECLARATION = ScoreTable(place=4, asks="scorers", references=False, switch="")


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Results by corpus and scorer; `job.factors` put scores into per cent."""
    scores = read_table(path, ALIGNMENT)
    for scorer in pc.unique(scores["scorer"]).to_pylist():
        part = scores.filter(pc.equal(scores["scorer"], scorer))
        for result in caption_results(job, part, seed, {"score": Metric("score", mean, job.factors[scorer], ANY)}):
            yield replace(result, retriever=scorer)
