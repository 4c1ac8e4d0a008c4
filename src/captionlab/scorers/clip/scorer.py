"""CLIP or another encoder as a scorer: the scaled cosine of image and caption, with a prompt before the caption.

Radford et al. 2021. CLIPScore (Hessel et al. 2021, github.com/jmhessel/clipscore) is 2.5 times the cosine, at least 0,
with the prompt "A photo depicts ". Images are embeddings by the encoder; only its text tower is stored and loaded.
"""

import os
from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor
from torch.nn.functional import normalize

from captionlab.encoders.embeddings import load_embeddings
from captionlab.encoders.encoder import Encoder
from captionlab.encoders.store import load_encoder
from captionlab.plugins import Member
from captionlab.scorers.scorer import Scorer, Visual


class ClipScorer(Scorer, Member):
    """Scorer that is an encoder with a text tower."""

    def __init__(self, encoder: Encoder, prompt: str = "", scale: float = 100.0, clamp: bool = False):
        """Score by an encoder: `prompt` goes before each caption; with `clamp`, no score is below 0."""
        super().__init__()
        self.encoder, self.prompt, self.scale, self.clamp = encoder, prompt, scale, clamp

    def open_images(self, paths: Sequence[str]) -> Callable[[Sequence[str]], Tensor]:
        """Return a function that gives the encoder's embeddings of images by their ids, from tables of embeddings."""
        return load_embeddings(paths).rows

    def encode_image(self, images: Tensor) -> Visual:
        """Return image embeddings (N, d) normalised to length 1, as a single state per image."""
        return Visual(normalize(images.float(), dim=1)[:, None], [1] * len(images))

    @torch.no_grad()
    def score(
        self, visual: Visual, captions: Sequence[str], rows: Sequence[int] | Tensor | None = None, batch: int = 256
    ) -> Tensor:
        """Return the scores (B,) of captions, without gradient; `rows` as for Scorer.score.

        Each distinct caption is encoded once, in batches of captions of similar length.
        """
        texts = normalize(self.encoder.embed_texts(self._prompted(captions), batch), dim=1)
        images = visual.states[:, 0]
        if rows is not None:
            images = images[torch.as_tensor(rows, device=images.device)]
        cosine = (texts * images).sum(1)
        return self.scale * (cosine.clamp(min=0) if self.clamp else cosine)

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """Return for each caption the number of tokens that `score` ignores, because prompt and caption are long."""
        return self.encoder.tokens_left_out(self._prompted(captions))

    def _prompted(self, captions: Sequence[str]) -> list[str]:
        return [self.prompt + caption for caption in captions]

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write config.json and model.safetensors: the encoder without its image tower, and the scorer's settings."""
        settings = {"prompt": self.prompt, "scale": self.scale, "clamp": self.clamp}
        self.encoder.text_tower({"scorer": self.family, "matching": settings}).save(directory)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str | torch.device = "cpu") -> Self:
        """Return the scorer that `save` wrote, frozen."""
        encoder = load_encoder(directory, str(device))
        return cls(encoder, **encoder.config["matching"])


FAMILY = ClipScorer
