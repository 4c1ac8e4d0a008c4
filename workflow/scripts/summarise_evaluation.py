"""Values of every metric of every evaluation; differences from parents and from the end of the finetuning."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from captionlab import paths
from captionlab.evaluation.devices import device_note, devices_of
from captionlab.evaluation.spice import SPICE
from captionlab.evaluation.summary import (
    SPICE_METRICS,
    Job,
    Result,
    alignment_results,
    comparison_columns,
    nlg_results,
    retrieval_results,
    summary_columns,
)
from captionlab.progress import progress
from captionlab.schemas import ALIGNMENT, COMPARISONS, NLG, RETRIEVAL, SUMMARY
from captionlab.scripting import script
from captionlab.tables import read_metadata, read_table, write_table


def _results(snakemake: Any) -> Iterator[Result]:
    sources = [(path, NLG, nlg_results) for path in snakemake.input.nlg]
    sources += [(path, RETRIEVAL, retrieval_results) for path in snakemake.input.retrieval]
    spice_results = partial(nlg_results, metrics=SPICE_METRICS)
    sources += [(path, SPICE, spice_results) for path in snakemake.input.spice]
    of_scorers = partial(alignment_results, factors=snakemake.params.factors)
    sources += [(path, ALIGNMENT, of_scorers) for path in snakemake.input.alignment]
    captions = {paths.captioner_of(path): path for path in snakemake.input.captions}
    for path, kind, results_of in progress(sources, "tables of scores", len(sources)):
        captioner, evaluation = paths.captioner_of(path)
        context = snakemake.params.evaluations[evaluation]
        device = devices_of([captions[captioner, evaluation], path])
        job = Job(captioner, evaluation, context["decoding"], context["splits"], device)
        yield from results_of(job, read_table(path, kind), snakemake.params.seed)


def _notes(inputs: Any) -> dict[str, str]:
    """What the tables of scores say of how they were made, for the footers."""
    reasons = {read_metadata(path).get("unavailable") for path in inputs.spice} - {None}
    notes = device_note([*inputs.captions, *inputs.retrieval, *inputs.alignment])
    return notes | ({"without SPICE:": reasons.pop()} if reasons else {})


@script
def main(snakemake: Any) -> None:
    results = list(_results(snakemake))
    parents = {captioner: of["parent"] for captioner, of in snakemake.params.lineage.items()}
    write_table(snakemake.output.summary, SUMMARY, summary_columns(results), _notes(snakemake.input))
    comparisons = comparison_columns(results, parents, snakemake.params.ends)
    write_table(snakemake.output.comparisons, COMPARISONS, comparisons)
