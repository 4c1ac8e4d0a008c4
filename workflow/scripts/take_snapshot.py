"""Make a snapshot of a training a captioner of its own, without a second copy of its files where the disk can."""

from pathlib import Path

from captionlab.files import link_file
from captionlab.scripting import script


@script
def main(snakemake):
    output, folder = snakemake.output, Path(snakemake.input.snapshots, str(snakemake.params.snapshot))
    for path in (output.config, output.weights, output.tokenizer, output.training):
        link_file(folder / Path(path).name, path)
