"""A scorer: what it offers; and those that are a network, its word pieces and its way of making a score."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from captionlab.networks.wordpiece import WordPieces
from captionlab.regions.batches import RegionBatch
from captionlab.scorers.matching import Matching
from captionlab.scorers.visual import Visual, padding_mask


class ImageTextScorer(Protocol):
    """Says how well captions match images, whatever the family.

    Images are encoded once, by `encode_image`; `score` then costs only what depends on the caption.
    """

    reads: str
    """what `encode_image` is given: regions (a RegionBatch), embeddings (N, d), or pixels (N, 3, height, width)"""

    def encode_image(self, images: Any) -> Visual:
        """What does not depend on captions, computed once per image."""

    def score(
        self, visual: Visual, captions: Sequence[str], rows: Sequence[int] | Tensor | None = None, batch: int = 32
    ) -> Tensor:
        """Matching scores (B,) of captions, without gradient, `batch` captions at a time.

        `rows` (B,) says which of the images of `visual` each caption is about; without it, caption i is about image i.
        """


class Scorer(nn.Module):
    """A scorer that is a network with word pieces; the families of networks are modules of this package."""

    def __init__(self, network: Any, words: WordPieces, matching: Matching):
        """Join a network of one of the families, its vocabulary and settings; ValueError when they do not fit."""
        super().__init__()
        architecture = network.architecture
        if len(words.pieces) != architecture["vocabulary"]:
            raise ValueError(
                f"the vocabulary has {len(words.pieces)} word pieces and the {network.family} network "
                f"{architecture['vocabulary']}; give the vocab.txt that it was trained with"
            )
        if matching.outputs != architecture["outputs"]:
            raise ValueError(f"head is {matching.head}, and the network's has {architecture['outputs']} outputs")
        if matching.max_tokens > architecture["positions"]:
            raise ValueError(f"max_tokens is {matching.max_tokens}; there are {architecture['positions']} positions")
        self.network, self.words, self.matching = network, words, matching
        self.reads: str = network.reads

    def encode_image(self, images: RegionBatch | Tensor) -> Visual:
        """What does not depend on captions, computed once per image; ValueError for regions of another detector."""
        if isinstance(images, RegionBatch):
            size, expected = images.features.shape[2], self.network.architecture["region_size"]
            if size != expected:
                raise ValueError(
                    f"the regions have {size} numbers and this scorer reads {expected}; give it regions of the "
                    "detector that it was trained with"
                )
        visual: Visual = self.network.encode_image(images)
        return visual

    def encode_text(self, captions: Sequence[str]) -> list[list[int]]:
        """Token ids of each caption, cut to the length that the scorer reads."""
        return self.words.encode(captions, self.matching.max_tokens)

    def logits(
        self,
        visual: Visual,
        tokens: Sequence[Sequence[int]],
        rows: Sequence[int] | Tensor | None = None,
        batch: int = 32,
    ) -> Tensor:
        """The head's outputs (B, 2), or (B, 1) of a retrieval head, with gradient, for captions as token ids.

        `rows` (B,) says which of the images of `visual` each caption is about; without it, caption i is about image i.
        What occurs twice is computed once, `batch` captions of about the same length at a time.
        """
        if rows is None:
            rows = range(len(tokens))
        images = rows.tolist() if isinstance(rows, Tensor) else rows
        pairs = [(image, tuple(ids)) for image, ids in zip(images, tokens, strict=True)]
        order = sorted(dict.fromkeys(pairs), key=lambda pair: (visual.counts[pair[0]], len(pair[1])))
        parts = [self._logits(visual, order[start : start + batch]) for start in range(0, len(order), batch)]
        rank = {pair: row for row, pair in enumerate(order)}
        return torch.cat(parts)[[rank[pair] for pair in pairs]]

    @torch.no_grad()
    def score(
        self, visual: Visual, captions: Sequence[str], rows: Sequence[int] | Tensor | None = None, batch: int = 32
    ) -> Tensor:
        """Matching scores (B,) of captions, without gradient; `rows` and `batch` as for `logits`."""
        return self.matching.score(self.logits(visual, self.encode_text(captions), rows, batch))

    def _logits(self, visual: Visual, pairs: Sequence[tuple[int, tuple[int, ...]]]) -> Tensor:
        lengths = [len(ids) for _, ids in pairs]
        longest = max(lengths)
        device = visual.states.device
        ids = torch.tensor([[*ids, *[0] * (longest - len(ids))] for _, ids in pairs], device=device)
        logits: Tensor = self.network.logits(
            visual.select([image for image, _ in pairs]), ids, padding_mask(lengths, longest, device)
        )
        return logits
