"""Compute every metric of every evaluation, and differences from parents and from the end of the finetuning."""

from captionlab.evaluation.devices import device_note
from captionlab.evaluation.results import read_results
from captionlab.evaluation.summary import comparison_columns, summary_columns
from captionlab.jobs.scripting import script
from captionlab.storage.schemas import COMPARISONS, SUMMARY
from captionlab.storage.tables import read_metadata, write_table


@script
def main(snakemake):
    params = snakemake.params
    scores = {name: files for name, files in snakemake.input.items() if name != "captions"}
    results = [*read_results(scores, snakemake.input.captions, dict(params.items()))]
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
