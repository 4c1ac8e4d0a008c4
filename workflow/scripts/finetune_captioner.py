"""Train a captioner further, by a reward or by references, on the train split of a corpus."""

from pathlib import Path

from captionlab.captioners.store import load_captioner
from captionlab.scripting import device, parallel_script
from captionlab.training.captioners import train_captioner, training_data


@parallel_script
def main(snakemake):
    captioner, tokenizer = load_captioner(Path(snakemake.input.parent_config).parent, device())
    train_captioner(snakemake, captioner, tokenizer, training_data(snakemake))
