"""Results of captions, computed from tables of scores of single captions."""

from collections.abc import Iterator, Mapping
from typing import Any

from captionlab.evaluation.devices import devices_of
from captionlab.evaluation.summary import Job, Result, scored_in
from captionlab.plugins import module, work_module
from captionlab.storage.tables import read_metadata


def results_in(
    table: str,
    path: str,
    captions: Mapping[tuple[str, str], str],
    evaluations: Mapping[str, Mapping[str, Any]],
    of_scorers: Mapping[str, Any],
    seed: int,
) -> Iterator[Result]:
    """Yield the results of every captioner and evaluation in a table of scores; `table` is the name of its metric.

    `captions` has the table of captions of each captioner and evaluation. `evaluations` has the decoding and the splits
    of each evaluation. `of_scorers` has the factors and the bounds of scores, as the class Job takes them.
    """
    metric = module(work_module("evaluation.metrics", table))
    for captioner, evaluation in scored_in(path):
        context, made = evaluations[evaluation], captions[captioner, evaluation]
        # Captions from files and people are evaluated beside generated captions, but no decoding made them.
        decoding = context["decoding"] if "decoding" in read_metadata(made) else "given"
        job = Job(captioner, evaluation, decoding, context["splits"], devices_of([made, path]), **of_scorers)
        yield from metric.results(job, path, seed)
