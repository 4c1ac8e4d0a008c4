"""Train a captioner from scratch on the references of the train split of a corpus."""

from itertools import chain

import torch

from captionlab.plugins import family_class
from captionlab.scripting import parallel_script
from captionlab.training.captioners import train_captioner, training_data
from captionlab.training.loop.data import other_texts


@parallel_script
def main(snakemake):
    config = snakemake.params.config
    data = training_data(snakemake)
    torch.manual_seed(snakemake.params.seed)
    family = family_class("captioners", config["family"])
    size, labels = family.measure_images(data.features)
    texts, others = chain(chain.from_iterable(data.texts), labels), other_texts(data.captions, data.ids)
    captioner, tokenizer = family.for_corpus(texts, others, size, config["architecture"])
    train_captioner(snakemake, captioner, tokenizer, data)
