"""Train a captioner from scratch on the references of the train split of a corpus."""

from itertools import chain

import torch

from captionlab.jobs.scripting import device, parallel_script
from captionlab.plugins import family_class
from captionlab.training.captioners import train_captioner
from captionlab.training.loop.checkpoints import Training
from captionlab.training.loop.data import TrainingData, other_texts


@parallel_script
def main(snakemake):
    input, params, output = snakemake.input, snakemake.params, snakemake.output
    data = TrainingData(
        images=input.images,
        features=input.features,
        device=device(),
        batch=params.config["optimizer"]["batch"],
        seed=params.seed,
        captions=next(iter(input.captions), ""),
    )
    torch.manual_seed(params.seed)
    family = family_class("captioners", params.config["family"])
    size, labels = family.measure_images(data.features)
    texts, others = chain(chain.from_iterable(data.texts), labels), other_texts(data.captions, data.ids)
    captioner, tokenizer = family.for_corpus(texts, others, size, params.config["architecture"])
    training = Training(
        rule=snakemake.rule,
        params=dict(params.items()),
        images=input.images,
        weights=output.weights,
        log=output.training,
        checkpoints=snakemake.config.get("checkpoints", {}),
        tracking=snakemake.config.get("tracking", "none"),
    )
    train_captioner(captioner, tokenizer, data, training, output.training_captions, output.snapshots)
