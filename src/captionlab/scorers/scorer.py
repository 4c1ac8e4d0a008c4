"""The interface of scorers, and of the families of networks that most scorers belong to.

A family is a folder of this package and has the name of the folder. In `scorer.py`, FAMILY is a subclass of
ScorerNetwork, or of Scorer if the family stores its scorers itself: an encoder, or a model that is published as a
folder. `config.py` has the keys of the family, and FACTS (captionlab.config.scorers.ScorerFacts), which the workflow
reads without importing the network.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from captionlab.networks.checkpoints import Rebuilt
from captionlab.networks.wordpiece import WordPieces
from captionlab.plugins import Member
from captionlab.regions.batches import RegionBatch, RegionTable


@dataclass(frozen=True)
class Matching:
    """Settings of a scorer. The defaults of each family are the settings of its authors' code."""

    match_index: int
    """index of the output of the itm head that says that image and text match"""
    max_tokens: int
    """longer texts are cut to so many tokens, the two special ones included"""
    head: str = "itm"
    """itm: two outputs, trained to tell pairs from strangers; retrieval: one output, fine-tuned to rank"""
    scale: float = 1.0
    """factor on the probability; 100 gives per cent"""
    lowercase: bool = True
    """whether text is put in lower case and loses its accents, as the vocabulary asks for"""
    strip_punctuation: bool = False
    """whether punctuation is taken out of the text first"""

    @property
    def outputs(self) -> int:
        """Return the number of outputs of the head."""
        return 2 if self.head == "itm" else 1

    def score(self, logits: Tensor) -> Tensor:
        """Return matching scores (B,), from 0 to `scale`, from the head's outputs (B, 2 or 1)."""
        # UNITER was fine-tuned on the sigmoid, which ranks images and texts as the output itself does.
        probability = logits.softmax(1)[:, self.match_index] if self.head == "itm" else logits[:, 0].sigmoid()
        return self.scale * probability


def padding_mask(lengths: Sequence[int], longest: int, device: torch.device) -> Tensor | None:
    """Return which positions (B, longest) of rows with `lengths` are no padding, or None if there is no padding."""
    if min(lengths) == longest:
        return None
    return torch.arange(longest, device=device) < torch.tensor(lengths, device=device)[:, None]


@dataclass(frozen=True)
class Visual:
    """Images as encoded by a scorer."""

    states: Tensor
    """(N, R, width), padded at the end of each row"""
    counts: Sequence[int]
    """the number of positions of each image that are no padding, N numbers"""

    @property
    def mask(self) -> Tensor | None:
        """Return which positions (N, R) are no padding, or None if there is no padding."""
        return padding_mask(self.counts, self.states.shape[1], self.states.device)

    def select(self, rows: Sequence[int]) -> "Visual":
        """Return the images at `rows`, which may repeat or omit images, with no more padding than they need."""
        counts = [self.counts[row] for row in rows]
        index = torch.tensor(rows, device=self.states.device)
        return Visual(self.states[:, : max(counts)].index_select(0, index), counts)


class Scorer(nn.Module, ABC):
    """Base class of scorers, which score how well captions match images.

    Images are encoded once, so that `score` only repeats the computations that depend on captions.
    """

    @abstractmethod
    def open_images(self, paths: Sequence[str]) -> Callable[[Sequence[str]], Any]:
        """Return a function that gives images of tables by their ids, in the form that `encode_image` takes."""

    @abstractmethod
    def encode_image(self, images: Any) -> Any:
        """Return the encoded images: everything that does not depend on captions, in the form that `score` takes."""

    @abstractmethod
    def score(
        self, visual: Any, captions: Sequence[str], rows: Sequence[int] | Tensor | None = None, batch: int = 32
    ) -> Tensor:
        """Return matching scores (B,) of captions, without gradient, computed in batches of `batch` captions.

        `rows` (B,) says which image of `visual` each caption is about; without it, caption i is about image i.
        """

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """Return for each caption the number of tokens that `score` ignores, because the caption is too long.

        By default captions are read as a whole.
        """
        return [0] * len(captions)


class ScorerNetwork(Rebuilt, Member, ABC):
    """Base class of the network of a family. By default it reads the regions of an image, and word pieces."""

    MATCHING: ClassVar[Matching]
    """the settings of the code of its authors"""
    PROJECTION: ClassVar[str]
    """name of the layer that the features of regions go through first, of a family that can be trained here"""
    WORDS: ClassVar[str] = "embeddings.word_embeddings"
    """name of the table of word pieces, of a family that can be trained here"""
    ADDED: ClassVar[tuple[str, ...]] = ()
    """word pieces that are added after the word pieces of a published vocabulary"""

    @classmethod
    @abstractmethod
    def from_published(cls, *checkpoint: Any, **options: Any) -> tuple[Self, dict[str, Tensor]]:
        """Return a network with the sizes of a published state dict, and the weights to load into it.

        `options` are the `head` of `Matching` and the config keys that the family declares, which cannot be read off
        the weights. Raises KeyError for a missing tensor, ValueError for a head that the family does not have, and
        CheckpointError if a number of heads is not given.
        """

    def open_images(self, paths: Sequence[str]) -> Callable[[Sequence[str]], Any]:
        """Return a function that gives images of tables by their ids, by default as a RegionBatch."""
        return RegionTable(paths).batch

    @abstractmethod
    def encode_image(self, images: Any) -> Visual:
        """Return the encoded images: everything that does not depend on captions."""

    @abstractmethod
    def logits(self, visual: Visual, ids: Tensor, mask: Tensor | None) -> Tensor:
        """Return the head's logits (B, outputs) of image-text pairs; `mask` (B, T) hides padding of `ids` (B, T)."""

    @property
    def word_embeddings(self) -> nn.Embedding:
        """Return the table of word-piece embeddings."""
        return cast(nn.Embedding, self.get_submodule(self.WORDS))

    @property
    def region_projection(self) -> nn.Linear:
        """Return the layer that projects the features of regions."""
        return cast(nn.Linear, self.get_submodule(self.PROJECTION))


class NetworkScorer(Scorer):
    """Scorer that is a network with word pieces and settings of matching."""

    def __init__(self, network: ScorerNetwork, words: WordPieces, matching: Matching):
        """Join a network of a family, its vocabulary and its settings. Raises ValueError if they do not fit."""
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

    def open_images(self, paths: Sequence[str]) -> Callable[[Sequence[str]], Any]:
        """Return a function that gives images of tables by their ids, as the network reads them."""
        return self.network.open_images(paths)

    def encode_image(self, images: RegionBatch | Tensor) -> Visual:
        """Return the encoded images: everything that does not depend on captions.

        Raises ValueError for regions of another size than the network reads.
        """
        if isinstance(images, RegionBatch):
            size, expected = images.features.shape[2], self.network.architecture["region_size"]
            if size != expected:
                raise ValueError(
                    f"the regions have {size} numbers and this scorer reads {expected}; give it regions of the "
                    "detector that it was trained with"
                )
        return self.network.encode_image(images)

    def encode_text(self, captions: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each caption, cut to the scorer's `max_tokens`."""
        return self.words.encode(captions, self.matching.max_tokens)

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """Return for each caption the number of tokens that `score` ignores, because the caption is too long."""
        return self.words.left_out(captions, self.matching.max_tokens)

    def logits(
        self,
        visual: Visual,
        tokens: Sequence[Sequence[int]],
        rows: Sequence[int] | Tensor | None = None,
        batch: int = 32,
    ) -> Tensor:
        """Return the head's outputs (B, 2), or (B, 1) of a retrieval head, with gradient, for captions as token ids.

        `rows` (B,) says which image of `visual` each caption is about; without it, caption i is about image i. Each
        distinct pair is computed once, in batches of `batch` captions of similar length.
        """
        if rows is None:
            rows = range(len(tokens))
        images = rows.tolist() if isinstance(rows, Tensor) else rows
        pairs = [(image, tuple(ids)) for image, ids in zip(images, tokens, strict=True)]
        order = sorted(dict.fromkeys(pairs), key=lambda pair: (visual.counts[pair[0]], len(pair[1])))
        device = visual.states.device
        parts: list[Tensor] = []
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            lengths = [len(ids) for _, ids in part]
            padded = pad_sequence([torch.tensor(ids) for _, ids in part], batch_first=True).to(device)
            mask = padding_mask(lengths, max(lengths), device)
            parts.append(self.network.logits(visual.select([image for image, _ in part]), padded, mask))
        rank = {pair: row for row, pair in enumerate(order)}
        return torch.cat(parts)[[rank[pair] for pair in pairs]]

    @torch.no_grad()
    def score(
        self, visual: Visual, captions: Sequence[str], rows: Sequence[int] | Tensor | None = None, batch: int = 32
    ) -> Tensor:
        """Return matching scores (B,) of captions, without gradient; `rows` and `batch` are as for `logits`."""
        return self.matching.score(self.logits(visual, self.encode_text(captions), rows, batch))
