"""Compute every metric on each slice of the evaluations that have slices."""

from itertools import chain

from captionlab.evaluation.devices import device_note
from captionlab.evaluation.results import read_results
from captionlab.evaluation.schemas import SLICES
from captionlab.evaluation.slices import LEFT_OUT, LENGTH, read_membership, slice_columns
from captionlab.jobs.scripting import script
from captionlab.storage import paths
from captionlab.storage.tables import write_table


@script
def main(snakemake):
    params, captions = snakemake.params, {paths.captioner_of(path): path for path in snakemake.input.captions}
    memberships = {
        name: read_membership(path, [file for (_, of), file in captions.items() if of == name and LENGTH in by])
        for (name, by), path in zip(params.by.items(), snakemake.input.members, strict=True)
    }
    scores = {name: files for name, files in snakemake.input.items() if name not in ("captions", "members")}
    results = read_results(scores, snakemake.input.captions, dict(params.items()))
    columns, small = slice_columns(results, memberships, params.seed)
    notes = {**device_note([*snakemake.input.captions, *chain.from_iterable(scores.values())]), LEFT_OUT: small}
    write_table(snakemake.output[0], SLICES, columns, notes)
