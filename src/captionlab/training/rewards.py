"""Rewards: how good the captioner's own captions are, without references.

The discriminative reward of Dessì et al. (2023, section 3) asks a frozen retriever to find the image by its caption
among the images of the batch. Rewards are to be maximised; the paper's code minimises their negatives.
"""

from collections.abc import Callable, Sequence

import torch
from torch.nn.functional import normalize

from captionlab.training.batches import ImageBatch

KINDS = ("discriminative", "accuracy", "similarity")


def scores(text: torch.Tensor, image: torch.Tensor, scale: float) -> torch.Tensor:
    """Scaled cosine of each text with each image: (B, D) and (N, D) to (B, N)."""
    return scale * normalize(text, dim=-1) @ normalize(image, dim=-1).T


def rewards(kind: str, scores: torch.Tensor, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Reward and accuracy (B,) of captions from their scores (B, C) with candidates, of which `target` (B,) is right.

    `discriminative` is the log-probability of the target in a softmax over the candidates, `accuracy` whether no other
    candidate scores higher (a tie is in favour of the target), and `similarity` the score of the target.
    """
    right = scores.gather(1, target[:, None])[:, 0]
    accuracy = (right >= scores.max(1).values).to(scores.dtype)
    if kind == "discriminative":
        return right - scores.logsumexp(1), accuracy
    if kind == "accuracy":
        return accuracy, accuracy
    if kind == "similarity":
        return right, accuracy
    raise ValueError(f"reward.kind is {kind!r}; it must be {', '.join(KINDS)}")


class Discriminative:
    """Retrieval of the image by its caption among the images of its group in the batch, by a frozen retriever."""

    def __init__(
        self,
        kind: str,
        embed_texts: Callable[[Sequence[str]], torch.Tensor],
        image_embeddings: torch.Tensor,
        candidates: int,
        scale: float,
    ):
        """Set up the reward.

        `embed_texts` gives the retriever's embeddings (B, D) of captions; `image_embeddings` (images, D) are those of
        the training images, in the order of the batches' rows; a batch is cut into groups of `candidates`, which it
        must be a multiple of; the softmax is over cosines times `scale` (1 gives the plain dot product of the paper).
        """
        self.kind, self.embed_texts, self.image_embeddings = kind, embed_texts, image_embeddings
        self.candidates, self.scale = candidates, scale

    @torch.no_grad()
    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The reward (B,) of a caption per image of the batch, and statistics (B,)."""
        if len(batch.images) % self.candidates:
            raise ValueError(
                f"a batch of {len(batch.images)} images cannot be cut into groups of {self.candidates} candidates; "
                "set optimizer.batch to a multiple of reward.candidates"
            )
        text = self.embed_texts(captions).float()
        images = self.image_embeddings[batch.images].float()
        with_all = scores(text, images, self.scale)
        group, target = batch.rows // self.candidates, batch.rows % self.candidates
        with_group = with_all.view(len(text), -1, self.candidates)[torch.arange(len(text)), group]
        reward, accuracy = rewards(self.kind, with_group, target)
        return reward, {"accuracy": accuracy}
