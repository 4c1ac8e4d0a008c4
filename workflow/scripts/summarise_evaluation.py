"""Compute every metric of every evaluation, and differences from parents and from the end of the finetuning."""

from captionlab.evaluation.devices import device_note
from captionlab.evaluation.results import results_in
from captionlab.evaluation.summary import comparison_columns, summary_columns
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script
from captionlab.storage import paths
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_metadata, write_table


@script
def main(snakemake):
    params, captions = snakemake.params, {paths.captioner_of(path): path for path in snakemake.input.captions}
    scores = {name: files for name, files in snakemake.input.items() if name != "captions"}
    of_scorers = {"factors": params.factors, "bounds": params.bounds}
    results = []
    for name, files in scores.items():
        for path in progress(files, f"tables of {name}", len(files)):
            results += results_in(name, path, captions, params.evaluations, of_scorers, params.seed)
    every = [path for files in scores.values() for path in files]
    # Metadata of the tables of scores, for the footers.
    notes = device_note([*snakemake.input.captions, *every])
    if reasons := {read_metadata(path).get("unavailable") for path in every} - {None}:
        notes["without SPICE:"] = "; ".join(sorted(reasons))
    if params.unreferenced:
        notes["without references:"] = (
            f"nobody described the images of {', '.join(params.unreferenced)}, so no caption of them is held against "
            "references, and only metrics that need none are there"
        )
    write_table(snakemake.output.summary, SUMMARY, summary_columns(results, params.trainings), notes)
    parents = {captioner: of["parent"] for captioner, of in params.lineage.items()}
    comparisons = comparison_columns(results, parents, params.ends, params.trainings, params.pairs)
    write_table(snakemake.output.comparisons, COMPARISONS, comparisons)
