"""Train a captioner further, by a reward or by references, on the train split of a corpus."""

from captionlab.captioners.store import load_captioner
from captionlab.scripting import device, folder_of, parallel_script
from captionlab.training.captioners import train_captioner, training_data


@parallel_script
def main(snakemake):
    captioner, tokenizer = load_captioner(folder_of(snakemake.input.parent_config), device())
    train_captioner(snakemake, captioner, tokenizer, training_data(snakemake))
