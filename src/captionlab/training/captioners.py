"""The training of a captioner as a rule asks for it: by any objective, of any family, from scratch or from a parent."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.captioners.captioner import Captioner
from captionlab.captioners.store import save_captioner
from captionlab.declarations import defined
from captionlab.distributed import is_first
from captionlab.generation.contract import Decoding
from captionlab.networks.tokenizer import Tokenizer
from captionlab.scripting import device
from captionlab.training.loop.checkpoints import fingerprint, intervals, remove
from captionlab.training.loop.data import RewardModel, TrainingData, references, training_images
from captionlab.training.loop.trainer import Validation, train


def training_data(job: Any) -> TrainingData:
    """What a rule's inputs have: images and features, captions where the rule has them, and what its reward asks."""
    batch, asked = job.params.config["optimizer"]["batch"], job.params.get("reward_models", {})
    models = {name: RewardModel(**reward_model) for name, reward_model in asked.items()}
    captions = next(iter(job.input.get("captions", [])), "")
    return TrainingData(job.input.images, job.input.features, device(), batch, job.params.seed, captions, models)


def train_captioner(job: Any, captioner: Captioner[Any], tokenizer: Tokenizer, data: TrainingData) -> None:
    """Train a captioner by the objective of the rule's config, and write what the rule declares.

    `job` is the `snakemake` object. Checkpoints lie in results/state until all outputs are in their places.
    """
    params, config = job.params, job.params.config
    data = replace(data, captioner=captioner, tokenizer=tokenizer)
    build = defined("training.objectives", config["objective"]["kind"], "build")
    objective, batches = build(config["objective"], data)
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
        validation=build_validation(config["validation"], data) if "validation" in config else None,
    )
    if is_first():
        save_captioner(captioner, tokenizer, directory, {"config": config, "seed": params.seed})
        remove(state_directory)


def build_validation(config: Mapping[str, Any], data: TrainingData) -> Validation:
    """Selection of weights by CIDEr on a split of the training corpus."""
    # Not at the top: CIDEr's references are tokenised in Java, which no other training needs.
    from captionlab.training.caption_quality import CiderOfCaptions

    ids = training_images(data.images, config["split"])
    decoding = Decoding.from_config(config["decoding"])
    score = CiderOfCaptions(data.visual_of(ids), references(data.captions, ids), data.tokenizer, decoding)
    return Validation(score, config["every"], "cider", select=config["select"])
