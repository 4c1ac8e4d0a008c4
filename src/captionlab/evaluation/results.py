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
    for name, files in scores.items():
        table = module(work_module("evaluation.metrics", name))
        for path in progress(files, f"tables of {name}", len(files)):
            for captioner, evaluation in scored_in(path):
                if (captioner, evaluation) not in made:
                    continue
                context, of_captions = params["evaluations"][evaluation], made[captioner, evaluation]
                # Captions from files and people are evaluated beside generated captions, but no decoding made them.
                decoding = context["decoding"] if "decoding" in read_metadata(of_captions) else "given"
                about = (captioner, evaluation, decoding, context["splits"], devices_of([of_captions, path]))
                yield from table.results(Job(*about, params["factors"], params["bounds"]), path, params["seed"])
