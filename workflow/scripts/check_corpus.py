"""Check that a corpus has the images that trainings and evaluations need."""

from pathlib import Path

from captionlab.corpora.splits import check_splits
from captionlab.jobs.scripting import script


@script
def main(snakemake):
    check_splits(snakemake.input.images, snakemake.params.needs)
    Path(snakemake.output[0]).touch()
