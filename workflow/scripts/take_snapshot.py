"""Turn a snapshot of a training into a captioner of its own. Files are hard links if the disk supports them."""

from pathlib import Path

from captionlab.jobs.scripting import script
from captionlab.storage.files import link_file


@script
def main(snakemake):
    output, folder = snakemake.output, Path(snakemake.input.snapshots, str(snakemake.params.snapshot))
    for path in (output.config, output.weights, output.tokenizer, output.training):
        link_file(folder / Path(path).name, path)
