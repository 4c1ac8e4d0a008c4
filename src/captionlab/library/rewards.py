"""Rewards of captions as functions, for trainings and programs outside the workflow."""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from captionlab import plugins
from captionlab.config.rewards import RewardFacts
from captionlab.jobs.scripting import device as best_device
from captionlab.library.blocks import mistakes_named
from captionlab.library.images import AnyImage, embed, open_encoder, write_images
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import load_scorer
from captionlab.storage.schemas import CAPTIONS, IMAGES
from captionlab.storage.tables import write_table
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.retrieval import rewards as retrieval_rewards
from captionlab.training.rewards.retrieval import scores
from captionlab.training.rewards.reward import build_reward
from captionlab.userfiles.model_config import NAME, read_config

References = Mapping[str, Sequence[str]]
# By a function of a list of images, each distinct, of captions, and of the row of each caption's image.
Rewarding = Callable[[Sequence[Any], Sequence[str], torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class CaptionReward:
    """A reward of captions, to be maximised."""

    kind: str
    of_distinct: Rewarding

    def __call__(self, images: Sequence[Any], captions: Sequence[str]) -> np.ndarray:
        """Return the reward (n,), float64, of n captions, each of the image in the same row.

        An image that several captions describe is repeated. Raises ValueError if the numbers differ.
        """
        if len(images) != len(captions):
            raise ValueError(
                f"there are {len(images)} images and {len(captions)} captions; repeat an image for each caption"
            )
        keys = [_key(image) for image in images]
        distinct = dict(zip(keys, images, strict=True))
        row_of = {key: row for row, key in enumerate(distinct)}
        rows = torch.tensor([row_of[key] for key in keys])
        return self.of_distinct([*distinct.values()], list(captions), rows).cpu().numpy().astype(np.float64)

    def for_trl(self, column: str = "image") -> Callable[..., list[float]]:
        """Return a reward function for TRL's GRPOTrainer. `column` of the data set has the image of each prompt.

        For the rewards cider and bleu, the column has the keys of `references`. Completions are texts or conversations.
        """

        def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float]:
            return self(columns[column], [_text(completion) for completion in completions]).tolist()

        reward.__name__ = self.kind
        return reward


def load_reward(
    kind: str,
    *,
    encoder: str | os.PathLike[str] | None = None,
    scorer: str | os.PathLike[str] | None = None,
    references: References | None = None,
    device: str | None = None,
    **options: Any,
) -> CaptionReward:
    """Return a reward of the workflow as a function of images and captions.

    `discriminative`, `accuracy` and `similarity` ask an `encoder`, the folder of an encoder of a run or of a CLIP of
    transformers; the candidates are the distinct images of a call. `scorer` asks the folder of a `scorer` of a run that
    reads pixels. `cider`, `bleu` and `fluency` read `references`, texts by image; the images of a call are the keys.
    `options` are other keys of the reward in a config, such as `score="scaled-cosine"`. `device` is cpu or cuda; by
    default a GPU is used if there is one. Raises ValueError if an argument is missing or the reward only works in a
    training of the workflow.
    """
    facts = plugins.facts("training.rewards")
    if kind not in facts:
        raise ValueError(f"there is no reward {kind!r}; there are {', '.join(facts)}")
    device = device or best_device()
    if facts[kind].of or facts[kind].asks == "questions":
        why = "add or average the other rewards" if facts[kind].of else "questions belong to a corpus"
        raise ValueError(f"the reward {kind!r} works in a training of the workflow only: {why}")
    if facts[kind].asks == "retriever":
        return CaptionReward(kind, _retrieval(kind, _needed(kind, "encoder", encoder), options, device))
    if facts[kind].asks == "scorer":
        return CaptionReward(kind, _matching(_needed(kind, "scorer", scorer), options, device))
    if facts[kind].references:
        _needed(kind, "references", references)
    return CaptionReward(kind, _of_texts(kind, facts[kind], references or {}, options, device))


def _needed(kind: str, name: str, value: Any) -> Any:
    if value is None:
        raise ValueError(f"the reward {kind!r} needs `{name}`")
    return value


def _block(kind: str, options: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """Return the checked block of a reward, with its defaults. Raises ValueError for an unknown option."""
    model = plugins.config_module("training.rewards", kind).Config
    with mistakes_named(f"the reward {kind!r}"):
        return dict(model.model_validate({"kind": kind, **names, **options}).model_dump())


def _retrieval(kind: str, folder: Any, options: Mapping[str, Any], device: str) -> Rewarding:
    """Return a reward by an encoder, whose candidates are the distinct images of a call."""
    if other := options.keys() & {"candidates", "hard_negatives"}:
        raise ValueError(f"`{min(other)}` is a key of trainings; here the candidates are the distinct images of a call")
    block = _block(kind, {"candidates": 2, **options}, retriever=str(folder))
    model = open_encoder(folder, device)
    scale = model.logit_scale if block["score"] == "scaled-cosine" else 1.0
    how = scale, block["score"] != "dot-product"

    @torch.no_grad()
    def reward(images: Sequence[AnyImage], captions: Sequence[str], rows: torch.Tensor) -> torch.Tensor:
        text, pictures = model.embed_texts(captions).float().cpu(), embed(model, images).float()
        return retrieval_rewards(kind, scores(text, pictures, *how), rows)[0]

    return reward


def _matching(folder: Any, options: Mapping[str, Any], device: str) -> Rewarding:
    """Return a reward by a scorer that reads pixels."""
    block = _block("scorer", options, scorer=str(folder))
    config = read_config(Path(folder) / NAME)
    family = str(config.get("scorer", config.get("family")))
    facts = plugins.facts("scorers")
    if family not in facts:
        raise ValueError(f"{folder} has no {NAME} of a scorer; name a folder such as results/scorers/NAME")
    if facts[family].reads != "pixels":
        instead = (
            "use `similarity` with its encoder" if facts[family].reads == "embeddings" else "regions need a detector"
        )
        raise ValueError(f"{folder} is a {family}, which reads {facts[family].reads} and not images: {instead}")
    scorer = load_scorer(folder, device)

    def reward(images: Sequence[AnyImage], captions: Sequence[str], rows: torch.Tensor) -> torch.Tensor:
        with TemporaryDirectory() as place:
            ids = write_images(images, Path(place) / "images.parquet")
            visual = ScorerImages(scorer, [Path(place) / "images.parquet"], device).visual(ids)
            return block["scale"] * scorer.score(visual, captions, rows.tolist()).float()

    return reward


def _of_texts(
    kind: str, facts: RewardFacts, references: References, options: Mapping[str, Any], device: str
) -> Rewarding:
    """Return a reward of captions that asks no model, as a training on images with these references builds it."""
    if single := [image for image, texts in references.items() if isinstance(texts, str)]:
        raise ValueError(f"the references of {single[0]!r} are a text; give a list of texts")
    row_of = {str(image): row for row, image in enumerate(references)}
    block = _block(kind, options)
    with TemporaryDirectory() as folder:
        built = build_reward(block, _training_data(Path(folder), references, device))

    @torch.no_grad()
    def reward(images: Sequence[Any], captions: Sequence[str], rows: torch.Tensor) -> torch.Tensor:
        names = [str(image) for image in images]
        if unknown := [name for name in names if name not in row_of] if facts.references else []:
            raise ValueError(f"image {unknown[0]!r} has no references; there are references of {len(row_of)} images")
        of_images = torch.tensor([row_of.get(name, 0) for name in names], device=device)[rows]
        return built(ImageBatch(of_images[:, None], of_images), captions)[0]

    return reward


def _training_data(folder: Path, references: References, device: str) -> TrainingData:
    """Return training data with these references, whose tables are in a folder."""
    images, captions = folder / "images.parquet", folder / "captions.parquet"
    place = {"split": "train", "path": "", "width": 1, "height": 1}
    other = {"offset": None, "length": None, "data": None, "image_set": None}
    names = [str(image) for image in references]
    write_table(
        images,
        IMAGES,
        [{"image_id": name, "position": row, **place, **other} for row, name in enumerate(names)]
        or {name: [] for name in IMAGES.columns},
    )
    texts = [
        {"image_id": name, "caption_index": index, "caption": text}
        for name, of_image in zip(names, references.values(), strict=True)
        for index, text in enumerate(of_image)
    ]
    write_table(captions, CAPTIONS, texts or {name: [] for name in CAPTIONS.columns})
    return TrainingData(images, [], device, batch=1, seed=0, captions=captions)


def _text(completion: Any) -> str:
    """Return the text of a completion, which may be a conversation."""
    if isinstance(completion, str):
        return completion
    content = completion[-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _key(image: Any) -> str:
    """Return a text that is the same for equal images: the path, or the digest of pixels."""
    if hasattr(image, "tobytes"):
        return f"{image.mode} {image.size} {hashlib.blake2b(image.tobytes()).hexdigest()}"
    return str(image)
