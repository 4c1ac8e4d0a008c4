"""From the config to what a captioner is trained by: objective, batches, reward and validation, for any family."""

from collections.abc import Mapping
from typing import Any

from captionlab.captioners.captioner import Captioner
from captionlab.captioners.images import Rows
from captionlab.declarations import defined
from captionlab.generation.contract import Decoding
from captionlab.networks.tokenizer import Tokenizer
from captionlab.order import Places
from captionlab.regions.batches import RegionTable
from captionlab.tables import read_schema_name
from captionlab.training.loop.data import RewardModel, TrainingData, training_images
from captionlab.training.loop.trainer import Batches, Objective
from captionlab.training.loop.validation import Validation


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
    objective, batches = build(config, captioner, tokenizer, data, reward_models, order)
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
