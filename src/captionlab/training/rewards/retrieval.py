"""Retrieval rewards: how well a caption finds its image, without references.

The discriminative reward of Dessì et al. (2023, section 3) asks a frozen retriever to find the image by its caption
among the images of the batch. Rewards are maximised; the paper's code minimises their negatives.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import normalize

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.neighbours import read_neighbours
from captionlab.encoders.store import load_encoder
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Rewarded


def scores(text: torch.Tensor, image: torch.Tensor, scale: float, normalised: bool = True) -> torch.Tensor:
    """Return the scaled score of each text with each image: (..., B, D) and (..., N, D) to (..., B, N).

    A score is the cosine of the two embeddings or, if `normalised` is false, their dot product.
    """
    if normalised:
        text, image = normalize(text, dim=-1), normalize(image, dim=-1)
    return scale * text @ image.mT


def rewards(kind: str, scores: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return reward and accuracy (B,) of captions from their scores (B, C) with C candidates.

    `target` (B,) is the column of the right candidate. The reward `discriminative` is the log-probability of the target
    in a softmax over the candidates, `accuracy` is 1 if no other candidate scores higher (a tie favours the target) and
    else 0, and `similarity` is the score of the target. Raises KeyError for another `kind`.
    """
    right = scores.gather(1, target[:, None])[:, 0]
    accuracy = (right >= scores.max(1).values).to(scores.dtype)
    if kind == "discriminative":
        return right - scores.logsumexp(1), accuracy
    return {"accuracy": accuracy, "similarity": right}[kind], accuracy


@dataclass(eq=False)
class Discriminative:
    """Reward of a frozen retriever that finds the image by its caption among a group of images of the batch.

    With `neighbours`, each image also has its own hard negatives (Dessì et al. 2023, appendix D.2).
    """

    kind: str
    embed_texts: Callable[[Sequence[str]], torch.Tensor]
    """the retriever's embeddings (B, D) of captions"""
    image_embeddings: torch.Tensor
    """embeddings (images, D) of the training images, in the order of the rows of batches"""
    candidates: int
    """number of candidates for a caption: its neighbours, and images of its group of the batch"""
    scale: float
    """factor on the scores of captions with images"""
    neighbours: torch.Tensor | None = None
    """hard negatives (images, k), rows of the training images"""
    normalised: bool = True
    """whether a score is the cosine of the two embeddings; else it is their dot product"""

    @property
    def group(self) -> int:
        """Return the number of candidates that come from the batch."""
        return self.candidates - (0 if self.neighbours is None else self.neighbours.shape[1])

    @torch.no_grad()
    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
        """Return the reward (B,) of a caption per image of the batch, and statistics (B,).

        Raises ValueError if the images of the batch cannot be cut into groups of equal size.
        """
        if len(batch.images) % self.group:
            raise ValueError(
                f"a batch of {len(batch.images)} images cannot be cut into groups of {self.group} candidates; set "
                "optimizer.batch to a multiple of reward.candidates, less the hard negatives"
            )
        text = self.embed_texts(captions).float()
        images = self.image_embeddings[batch.images].float()
        with_all = scores(text, images, self.scale, self.normalised)
        group, target = batch.rows // self.group, batch.rows % self.group
        compared = with_all.view(len(text), -1, self.group)[torch.arange(len(text)), group]
        if self.neighbours is not None:
            hard = self.image_embeddings[self.neighbours[batch.images[batch.rows]]].float()
            of_hard = scores(text[:, None], hard, self.scale, self.normalised)[:, 0]
            compared = torch.cat([compared, of_hard], dim=1)
        reward, accuracy = rewards(self.kind, compared, target)
        return reward, {"accuracy": accuracy}


def build_retrieval(config: Mapping[str, Any], data: TrainingData) -> Discriminative:
    """Return the reward of a config block of kind discriminative, accuracy or similarity."""
    asked = data.reward_models[f"encoders/{config['retriever']}"]
    retriever = load_encoder(asked["directory"], data.device)
    scale = retriever.logit_scale if config["score"] == "scaled-cosine" else 1.0
    images = data.visual
    if list(asked["features"]) != list(data.features):
        images = load_embeddings(asked["features"], data.ids).values.to(data.device)
    neighbours = None
    if hard := config.get("hard_negatives"):
        neighbours = read_neighbours(asked["neighbours"][0], data.ids, hard).to(data.device)
    return Discriminative(
        config["kind"],
        retriever.embed_texts,
        images,
        config["candidates"],
        scale,
        neighbours,
        normalised=config["score"] != "dot-product",
    )
