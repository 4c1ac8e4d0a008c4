"""Write a captioner in the format of another library: adapters for peft, a whole model for transformers."""

from collections import ChainMap
from pathlib import Path

from captionlab.captioners.adapters import export_adapters
from captionlab.captioners.store import load_captioner
from captionlab.jobs.scripting import folder_of, script
from captionlab.networks.checkpoints import read_checkpoint


@script
def main(snakemake):
    captioner, tokenizer = load_captioner(folder_of(snakemake.input.config))
    directory = Path(snakemake.output[0])
    if captioner.adapters:
        export_adapters(captioner, directory)
    else:
        sides = [read_checkpoint(path) for path in snakemake.input.image_side]
        captioner.export(tokenizer, directory, dict(ChainMap(*sides)))
