"""Results of all metrics of a run, from the tables of scores of single captions."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.evaluation.devices import devices_of
from captionlab.evaluation.summary import Job, Result, scored_in
from captionlab.jobs.progress import progress
from captionlab.plugins import module, work_module
from captionlab.storage import paths
from captionlab.storage.tables import read_metadata


def table_name(path: str, tables: Sequence[str]) -> str:
    """Return which of the tables of scores a file is, from its path: `nlg`, `chair`, or `judge` of `judge-clair`.

    Raises ValueError if the file is none of the tables.
    """
    name = Path(path).stem
    if paths.in_results(path) == paths.nlg(name):
        return "nlg"
    found = [table for table in tables if name == table or name.startswith(f"{table}-")]
    if not found:
        raise ValueError(f"{path} is none of the tables of scores {', '.join(tables)}")
    return max(found, key=len)


def read_results(
    scores: Mapping[str, Sequence[str]], captions: Sequence[str], params: Mapping[str, Any]
) -> Iterator[Result]:
    """Yield the results in tables of scores, of which `scores` has the files by the name of the table.

    `captions` are the files of captions; scores of other captions are left out. `params` are parameters of the
    rule summarise_evaluation: `evaluations` with the decoding and the splits of each evaluation, `factors`, `bounds`
    and `seed`.
    """
    made = {paths.captioner_of(path): path for path in captions}
    of_scorers = {name: params[name] for name in ("factors", "bounds")}
    for table, files in scores.items():
        for path in progress(files, f"tables of {table}", len(files)):
            yield from results_in(table, path, made, params["evaluations"], of_scorers, params["seed"])


def results_in(
    table: str,
    path: str,
    captions: Mapping[tuple[str, str], str],
    evaluations: Mapping[str, Mapping[str, Any]],
    of_scorers: Mapping[str, Any],
    seed: int,
) -> Iterator[Result]:
    """Yield the results of every captioner and evaluation in a table of scores; `table` is the name of its metric.

    `captions` has the table of captions of each captioner and evaluation; scores of others are left out. `evaluations`
    has the decoding and the splits of each evaluation. `of_scorers` has the factors and the bounds of scores, as the
    class Job takes them.
    """
    metric = module(work_module("evaluation.metrics", table))
    for captioner, evaluation in scored_in(path):
        if (captioner, evaluation) not in captions:
            continue
        context, made = evaluations[evaluation], captions[captioner, evaluation]
        # Captions from files and people are evaluated beside generated captions, but no decoding made them.
        decoding = context["decoding"] if "decoding" in read_metadata(made) else "given"
        job = Job(captioner, evaluation, decoding, context["splits"], devices_of([made, path]), **of_scorers)
        yield from metric.results(job, path, seed)
