"""Finetune a captioner, or adapters for it, by a reward or by references, on the train split of a corpus."""

from captionlab.captioners.adapters import merge_adapters, new_adapters
from captionlab.captioners.store import load_captioner
from captionlab.jobs.scripting import device, folder_of, parallel_script
from captionlab.questions.answering import with_servers
from captionlab.training.captioners import train_captioner
from captionlab.training.loop.checkpoints import Training
from captionlab.training.loop.data import TrainingData


@parallel_script
def main(snakemake):
    input, params, output = snakemake.input, snakemake.params, snakemake.output
    parent = folder_of(input.parent_config)
    captioner, tokenizer = load_captioner(parent, device())
    merge_adapters(captioner)
    if lora := params.config.get("lora"):
        new_adapters(captioner, lora, parent, params.seed)
    data = TrainingData(
        images=input.images,
        features=input.features,
        device=device(),
        batch=params.config["optimizer"]["batch"],
        seed=params.seed,
        captions=next(iter(input.captions), ""),
        bag_features=input.bag_features,
        reward_models=with_servers(params.reward_models, snakemake.config),
    )
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
