"""The training of a captioner as a rule asks for it: by any objective, of any family, from scratch or from a parent."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from captionlab import paths
from captionlab.captioners.captioner import Captioner
from captionlab.captioners.images import Rows
from captionlab.captioners.store import save_captioner
from captionlab.declarations import defined
from captionlab.distributed import is_first
from captionlab.generation.contract import Decoding
from captionlab.networks.tokenizer import Tokenizer
from captionlab.order import Places
from captionlab.regions.batches import RegionTable
from captionlab.scripting import device
from captionlab.tables import read_schema_name
from captionlab.training.loop.batches import Batches
from captionlab.training.loop.checkpoints import fingerprint, intervals, remove
from captionlab.training.loop.data import RewardModel, TrainingData, training_images
from captionlab.training.loop.trainer import Objective, train
from captionlab.training.loop.validation import Validation
from captionlab.training.objectives.learner import Learner


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


def build_objective(
    config: Mapping[str, Any],
    captioner: Captioner[Any],
    tokenizer: Tokenizer,
    data: TrainingData,
    reward_models: Mapping[str, RewardModel],
    *,
    batch: int,
    seed: int,
) -> tuple[Objective, Batches]:
    """What the module named as the kind of objective builds, and the batches of so many images to train with.

    `config` is `objective` of the config with its decoding spelled out; `reward_models` are the retrievers and scorers
    that its reward names, as encoders/{name} and scorers/{name}. May freeze parameters of the captioner.
    """
    order = {"size": batch, "seed": seed, "places": find_places(data, reward_models)}
    build = defined("training.objectives", config["kind"], "build")
    objective, batches = build(config, Learner(captioner, tokenizer, data, reward_models, order))
    return objective, batches


def find_places(data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Places | None:
    """Where the training images lie in the regions that a training reads; None where it reads embeddings or pixels.

    The captioner's own regions, or else those of the first reward_model that has some.
    """
    if isinstance(data.visual, Rows):
        return data.visual.places
    for reward_model in reward_models.values():
        if read_schema_name(reward_model.features[0]) == "regions":
            return RegionTable(reward_model.features).places(data.ids)
    return None


def build_validation(config: Mapping[str, Any] | None, tokenizer: Tokenizer, data: TrainingData) -> Validation | None:
    """Selection of weights by CIDEr on a split of the training corpus, when the config asks for it."""
    if config is None:
        return None
    # Not at the top: CIDEr's references are tokenised in Java, which no other training needs.
    from captionlab.training.caption_quality import CiderOfCaptions

    ids = training_images(data.images, config["split"])
    decoding = Decoding.from_config(config["decoding"])
    score = CiderOfCaptions(data.visual_of(ids), data.texts_of(ids), tokenizer, decoding)
    return Validation(score, config["every"], "cider", select=config.get("select", True))
