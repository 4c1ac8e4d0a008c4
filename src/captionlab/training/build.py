"""From the config to what a captioner is trained by: objective, batches, reward and validation, for any family."""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from captionlab.captioners.captioner import Captioner
from captionlab.captioners.images import Rows, read_images
from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.neighbours import read_neighbours
from captionlab.encoders.store import load_encoder
from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.words import words_of
from captionlab.order import Places
from captionlab.regions.batches import RegionTable
from captionlab.tables import read_schema_name
from captionlab.training.loop.batches import CaptionBatches, ImageBatches
from captionlab.training.loop.data import encode_references, references, training_images
from captionlab.training.loop.trainer import Batches, Objective
from captionlab.training.loop.validation import Validation
from captionlab.training.objectives.baselines import InTurn, NoBaseline, RunningMean
from captionlab.training.objectives.cross_entropy import CrossEntropy
from captionlab.training.objectives.masked_language_modelling import MaskedBatches, MaskedLanguageModelling
from captionlab.training.objectives.mean_teacher import MeanTeacher
from captionlab.training.objectives.reinforce import Baseline, Reinforce, Reward, freeze_token_embeddings
from captionlab.training.objectives.self_critical import SelfCritical
from captionlab.training.rewards.combined import Alternate, Sum
from captionlab.training.rewards.references import Bleu, Cider, Fluency
from captionlab.training.rewards.retrieval import KINDS, Discriminative

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class RewardModel:
    """A retriever or scorer that a reward asks."""

    directory: str
    features: Sequence[str]
    """feature tables of the training corpus that it reads"""
    neighbours: Sequence[str] = ()
    """the table of hard negatives in that corpus, where the reward has some"""


@dataclass(frozen=True)
class TrainingData:
    """The corpus that a captioner is trained on; what an objective does not ask for is not read."""

    images: Path
    features: Sequence[str]
    device: str
    captions: Path | None = None
    """nothing where no objective reads references"""
    reader: tuple[Captioner[Any], Tokenizer] | None = None
    """the captioner that reads the images, and its tokenizer; without one, images are embeddings"""

    @cached_property
    def ids(self) -> list[str]:
        """The training images."""
        return training_images(self.images)

    @cached_property
    def visual(self) -> Any:
        """The training images as the captioner reads them, by row: embeddings (images, d) for most, on the device."""
        return self.visual_of(self.ids)

    def visual_of(self, ids: Sequence[str]) -> Any:
        """The same of these images."""
        if self.reader is None:
            return load_embeddings(self.features, ids).values.to(self.device)
        return read_images(*self.reader, self.features, ids, self.device)

    @cached_property
    def texts(self) -> list[list[str]]:
        """The references of each training image."""
        return self.texts_of(self.ids)

    def texts_of(self, ids: Sequence[str]) -> list[list[str]]:
        """The references of each of these images; ValueError where the objective was not to read any."""
        if self.captions is None:
            raise ValueError("this objective reads references, and no table of captions was given")
        return references(self.captions, ids)


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
    """The objective of a config block, and the batches of so many images that it is trained with.

    `config` is `objective` of the config with its decoding spelled out; `reward_models` are the retrievers and scorers
    that its reward names, as encoders/{name} and scorers/{name}. May freeze parameters of the captioner.
    """
    places = find_places(data, reward_models)
    if config["kind"] in ("cross-entropy", "mlm"):
        tokens = encode_references(data.texts, tokenizer, captioner.longest, captioner.cut_keeps_end)
    if config["kind"] == "mlm":
        settings = {name: value for name, value in config.items() if name != "kind"}
        if settings.pop("freeze_embeddings", False):
            freeze_token_embeddings(captioner, tokenizer.size)
        masked = MaskedBatches(
            data.visual,
            tokens,
            batch,
            seed,
            start=captioner.start_id,
            mask=captioner.mask_id,
            vocabulary=tokenizer.size,
            places=places,
        )
        return MaskedLanguageModelling(**settings), masked
    if config["kind"] == "cross-entropy":
        per_image = config.get("captions_per_image", 1)
        batches = CaptionBatches(data.visual, tokens, batch, seed, tokenizer.end, per_image, places)
        if "teacher" in config:
            return MeanTeacher(captioner, **config["teacher"]), batches
        return CrossEntropy(config.get("scheduled_sampling")), batches
    decoding = Decoding.from_config(config["decoding"])
    reward = build_reward(config["reward"], data, reward_models)
    if config["kind"] == "reinforce":
        settings = {**captioner.finetuned_as, **config}
        if settings["freeze_embeddings"]:
            freeze_token_embeddings(captioner, tokenizer.size)
        objective: Objective = Reinforce(
            generate=lambda model, visual: decode(model, visual, decoding, tokenizer).tokens,
            decode=lambda tokens: tokenizer.decode(tokens.tolist()),
            end=tokenizer.end,
            reward=reward,
            baseline=build_baseline(config),
            log_prob=settings["log_prob"],
            dropout=config.get("dropout", True),
        )
    else:
        settings = {name: value for name, value in config.items() if name not in ("kind", "reward", "decoding")}
        if settings.pop("freeze_embeddings", False):
            freeze_token_embeddings(captioner, tokenizer.size)
        parent = copy.deepcopy(captioner).requires_grad_(False).eval() if config.get("kl") else None
        objective = SelfCritical(tokenizer, decoding, reward, parent=parent, **settings)
    return objective, ImageBatches(data.visual, batch, seed, places)


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


def build_baseline(config: Mapping[str, Any]) -> Baseline:
    """The baseline of a reinforce objective; rewards that take turns have a running mean each."""
    if config["baseline"] == "none":
        return NoBaseline()
    if config["reward"]["kind"] == "alternate":
        return InTurn([RunningMean() for _ in config["reward"]["of"]])
    return RunningMean()


def build_reward(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    """The reward of a config block, for the training images."""
    kind = config["kind"]
    build = _retrieval if kind in KINDS else _REWARDS[kind]
    return build(config, data, reward_models)


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


def _retrieval(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    reward_model = reward_models[f"encoders/{config['retriever']}"]
    retriever = load_encoder(reward_model.directory, data.device)
    scale = retriever.logit_scale if config.get("scale", "logit-scale") == "logit-scale" else 1.0
    images = data.visual
    if list(reward_model.features) != list(data.features):
        images = load_embeddings(reward_model.features, data.ids).values.to(data.device)
    neighbours = None
    if hard := config.get("hard_negatives"):
        neighbours = read_neighbours(reward_model.neighbours[0], data.ids, hard).to(data.device)
    return Discriminative(config["kind"], retriever.embed_texts, images, config["candidates"], scale, neighbours)


def _scorer(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    from captionlab.scorers.images import ScorerImages
    from captionlab.scorers.store import load_scorer
    from captionlab.training.rewards.scorers import MatchingScore

    reward_model = reward_models[f"scorers/{config['scorer']}"]
    scorer = load_scorer(reward_model.directory, data.device)
    images = ScorerImages(scorer, reward_model.features, data.device)
    return MatchingScore(scorer, images.visual, data.ids, config.get("scale", 1.0))


def _cider(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    return Cider(data.texts)


def _bleu(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    return Bleu(data.texts)


def _fluency(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    from captionlab.texts.ngram import train

    return Fluency(train([words_of(text) for of_image in data.texts for text in of_image]))


def _sum(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    weights = [part["weight"] for part in config["of"]]
    rewards = _named([part["reward"] for part in config["of"]], data, reward_models)
    return Sum({name: (weight, rewards[name]) for name, weight in zip(rewards, weights, strict=True)})


def _alternate(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Reward:
    return Alternate(_named(config["of"], data, reward_models))


def _named(
    parts: Sequence[Mapping[str, Any]], data: TrainingData, reward_models: Mapping[str, RewardModel]
) -> dict[str, Reward]:
    """Rewards under the name of their scorer or retriever, or their kind, with a number where that is there already."""
    found: dict[str, Reward] = {}
    for part in parts:
        name = plain = part.get("scorer", part.get("retriever", part["kind"]))
        while name in found:
            name = f"{plain}_{len(found) + 1}"
        found[name] = build_reward(part, data, reward_models)
    return found


_REWARDS: dict[str, Callable[[Mapping[str, Any], TrainingData, Mapping[str, RewardModel]], Reward]] = {
    "scorer": _scorer,
    "cider": _cider,
    "bleu": _bleu,
    "fluency": _fluency,
    "sum": _sum,
    "alternate": _alternate,
}
