"""Finetune a captioner by a reward, on the images of the train split of a corpus and without references."""

from pathlib import Path

from captionlab.captioners.store import load_captioner, save_captioner
from captionlab.features.clip import Clip
from captionlab.features.embeddings import load_embeddings
from captionlab.generation.decoding import Decoding, decode
from captionlab.scripting import device, run
from captionlab.training.baselines import NoBaseline, RunningMean
from captionlab.training.batches import ImageBatches
from captionlab.training.checkpoints import fingerprint, remove
from captionlab.training.data import training_images
from captionlab.training.distributed import is_first
from captionlab.training.reinforce import Reinforce, freeze_token_embeddings
from captionlab.training.rewards import Discriminative
from captionlab.training.trainer import train


def main(snakemake):
    params, config, optimizer = snakemake.params, snakemake.params.config, snakemake.params.config["optimizer"]
    objective = config["objective"]
    captioner, tokenizer = load_captioner(Path(snakemake.input.parent_config).parent, device())
    if objective.get("freeze_embeddings", True):
        freeze_token_embeddings(captioner, tokenizer.size)
    ids = training_images(snakemake.input.images)
    visual = load_embeddings(snakemake.input.features, ids).values.to(device())
    decoding = Decoding.from_config(objective["decoding"])
    directory = Path(snakemake.output.weights).parent
    state_directory = Path("results/state/finetune_captioner") / directory.name
    train(
        captioner,
        Reinforce(
            generate=lambda model, visual: decode(model, visual, decoding, tokenizer).tokens,
            decode=lambda tokens: tokenizer.decode(tokens.tolist()),
            end=tokenizer.end,
            reward=retrieval_reward(snakemake, ids, visual),
            baseline={"none": NoBaseline, "running-mean": RunningMean}[objective["baseline"]](),
            log_prob=objective.get("log_prob", "mean"),
            dropout=objective.get("dropout", True),
        ),
        ImageBatches(visual, optimizer["batch"], params.seed),
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


def retrieval_reward(snakemake, ids, visual):
    """The reward of the config, for the training images `ids`; `visual` are what the captioner sees of them."""
    config = snakemake.params.config["objective"]["reward"]
    retriever = Clip.load(Path(snakemake.input.retriever_config).parent, device())
    scale = retriever.logit_scale if config.get("scale", "logit-scale") == "logit-scale" else 1.0
    images = visual
    if list(snakemake.input.retriever_features) != list(snakemake.input.features):
        images = load_embeddings(snakemake.input.retriever_features, ids).values.to(device())
    return Discriminative(config["kind"], retriever.embed_texts, images, config["candidates"], scale)


if __name__ == "__main__":
    run(main, globals(), parallel=True)
