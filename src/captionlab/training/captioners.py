"""The training of a captioner as a rule asks for it, from scratch or from a parent, by any objective."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.captioners.captioner import Captioner
from captionlab.captioners.store import save_captioner
from captionlab.distributed import is_first
from captionlab.networks.tokenizer import Tokenizer
from captionlab.scripting import device
from captionlab.training.build import build_objective, build_validation
from captionlab.training.loop.checkpoints import fingerprint, intervals, remove
from captionlab.training.loop.data import RewardModel, TrainingData
from captionlab.training.loop.trainer import train


def training_data(job: Any) -> TrainingData:
    """The corpus of a rule's inputs: images and features, and captions where the rule has them."""
    captions = list(job.input.get("captions", []))
    return TrainingData(job.input.images, job.input.features, device(), captions[0] if captions else None)


def train_captioner(job: Any, captioner: Captioner[Any], tokenizer: Tokenizer, data: TrainingData) -> None:
    """Train a captioner by the objective of the rule's config, and write what the rule declares.

    `job` is the `snakemake` object. Checkpoints lie in results/state until all outputs are in their places.
    """
    params, config = job.params, job.params.config
    data = replace(data, reader=(captioner, tokenizer))
    objective, batches = build_objective(
        config["objective"],
        captioner,
        tokenizer,
        data,
        {name: RewardModel(**reward_model) for name, reward_model in params.get("reward_models", {}).items()},
        batch=config["optimizer"]["batch"],
        seed=params.seed,
    )
    directory = Path(job.output.weights).parent
    state_directory = paths.state(job.rule, directory.name)
    train(
        captioner.to(device()),
        objective,
        batches,
        config["optimizer"],
        seed=params.seed,
        log_path=job.output.training,
        state_directory=state_directory,
        fingerprint=fingerprint(job),
        device=device(),
        **intervals(job.config),
        validation=build_validation(config.get("validation"), tokenizer, data),
    )
    if is_first():
        save_captioner(captioner, tokenizer, directory, {"config": config, "seed": params.seed})
        remove(state_directory)
