"""Train a captioner from scratch on the references of the train split of a corpus."""

from pathlib import Path

import torch

from captionlab.captioners.store import family_class, save_captioner
from captionlab.captioners.tokenizer import Tokenizer
from captionlab.features.embeddings import load_embeddings
from captionlab.scripting import device, run
from captionlab.training.batches import CaptionBatches
from captionlab.training.checkpoints import fingerprint, remove
from captionlab.training.cross_entropy import CrossEntropy
from captionlab.training.data import encode_references, references, training_images
from captionlab.training.distributed import is_first
from captionlab.training.trainer import train


def main(snakemake):
    params, config, optimizer = snakemake.params, snakemake.params.config, snakemake.params.config["optimizer"]
    ids = training_images(snakemake.input.images)
    visual = load_embeddings(snakemake.input.features, ids).values.to(device())
    texts = references(snakemake.input.captions, ids)
    sizes = dict(config["architecture"])
    tokenizer = Tokenizer.train((text for of_image in texts for text in of_image), sizes.pop("vocabulary"))
    torch.manual_seed(params.seed)
    captioner = family_class(config["family"])(prefix_size=visual.shape[1], vocabulary=tokenizer.size, **sizes)
    tokens = encode_references(texts, tokenizer, captioner.positions - captioner.prefix_length)
    directory = Path(snakemake.output.weights).parent
    state_directory = Path("results/state/pretrain_captioner") / directory.name
    train(
        captioner.to(device()),
        CrossEntropy(),
        CaptionBatches(visual, tokens, optimizer["batch"], params.seed, padding=tokenizer.end),
        optimizer,
        seed=params.seed,
        log_path=snakemake.output.training,
        state_directory=state_directory,
        fingerprint=fingerprint(
            {name: params[name] for name in ("code", "versions", "config", "seed")}, list(snakemake.input)
        ),
        device=device(),
    )
    if is_first():
        save_captioner(captioner, tokenizer, directory, {"config": config, "seed": params.seed})
        remove(state_directory)


if __name__ == "__main__":
    run(main, globals(), parallel=True)
