"""Finetune a captioner, or adapters for it, by a reward or by references, on the train split of a corpus."""

from captionlab.captioners.adapters import merge_adapters, new_adapters
from captionlab.captioners.store import load_captioner
from captionlab.scripting import device, folder_of, parallel_script
from captionlab.training.captioners import train_captioner, training_data


@parallel_script
def main(snakemake):
    parent, params = folder_of(snakemake.input.parent_config), snakemake.params
    captioner, tokenizer = load_captioner(parent, device())
    merge_adapters(captioner)
    if lora := params.config.get("lora"):
        new_adapters(captioner, lora, parent, params.seed)
    train_captioner(snakemake, captioner, tokenizer, training_data(snakemake))
