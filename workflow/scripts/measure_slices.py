"""Compute every metric on each slice of the evaluations that have slices."""

from captionlab.evaluation.devices import device_note, devices_of
from captionlab.evaluation.schemas import SLICES
from captionlab.evaluation.slices import LEFT_OUT, LENGTH, read_membership, slice_columns
from captionlab.evaluation.summary import Job, scored_in
from captionlab.jobs.progress import progress
from captionlab.jobs.scripting import script
from captionlab.plugins import module, work_module
from captionlab.storage import paths
from captionlab.storage.tables import read_metadata, write_table


@script
def main(snakemake):
    params, captions = snakemake.params, {paths.captioner_of(path): path for path in snakemake.input.captions}
    memberships = {
        name: read_membership(path, [file for (_, of), file in captions.items() if of == name and LENGTH in by])
        for (name, by), path in zip(params.by.items(), snakemake.input.members, strict=True)
    }
    results, tables = [], []
    for name, files in snakemake.input.items():
        if name in ("captions", "members"):
            continue
        table = module(work_module("evaluation.metrics", name))
        for path in progress(files, f"tables of {name}", len(files)):
            tables.append(path)
            for captioner, evaluation in scored_in(path):
                context, made = params.evaluations[evaluation], captions[captioner, evaluation]
                decoding = context["decoding"] if "decoding" in read_metadata(made) else "given"
                of_scorers = {"factors": params.factors, "bounds": params.bounds}
                job = Job(captioner, evaluation, decoding, context["splits"], devices_of([made, path]), **of_scorers)
                results += table.results(job, path, params.seed)
    columns, small = slice_columns(results, memberships, params.seed)
    notes = {**device_note([*snakemake.input.captions, *tables]), LEFT_OUT: small}
    write_table(snakemake.output[0], SLICES, columns, notes)
