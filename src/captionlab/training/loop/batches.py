"""Batches of training data, in an order that depends on the seed and the step alone (captionlab.order)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from captionlab.order import Order, Places


class Batches:
    """Where batches come from: `batches[step]`, from 0 over all epochs, depends on nothing but the step and a seed.

    To be computed in parts, a batch has `split(parts)`, and each part a `weight`. An epoch has `len(batches)`.
    """

    order: Order

    def __len__(self) -> int:
        return self.order.per_epoch

    def __getitem__(self, step: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no batch by its step")


@dataclass(frozen=True)
class CaptionBatch:
    """Reference captions to be learnt, each with its image."""

    visual: torch.Tensor
    """(B, ...) features of the images, a row for each caption"""
    tokens: torch.Tensor
    """(B, T) token ids of the captions with the end token, then padding"""
    mask: torch.Tensor
    """(B, T) whether the position holds a token and not padding"""
    epoch: int = 0
    """the epoch that the batch belongs to, from 0"""

    @property
    def weight(self) -> float:
        """Number of tokens: the loss of a batch is a mean over them."""
        return float(self.mask.sum())

    def split(self, parts: int) -> list["CaptionBatch"]:
        """The same batch in so many parts of nearly equal size."""
        pieces = zip(*(tensor.tensor_split(parts) for tensor in (self.visual, self.tokens, self.mask)), strict=True)
        return [CaptionBatch(visual, tokens, mask, self.epoch) for visual, tokens, mask in pieces]


class CaptionBatches(Batches):
    """Batches to learn references from: in each epoch every image comes once, with captions of its own at random.

    With several captions per image they are consecutive ones from a random start, or, where it has fewer, drawn with
    replacement: as in github.com/ruotianluo/ImageCaptioning.pytorch (captioning/data/dataloader.py).
    """

    def __init__(
        self,
        visual: torch.Tensor,
        captions: Sequence[Sequence[Sequence[int]]],
        size: int,
        seed: int,
        padding: int,
        per_image: int = 1,
        places: Places | None = None,
    ):
        """Make batches of `size` images and `per_image` captions of each, those of an image in consecutive rows.

        `visual` is (images, ...), on the device where the batches are wanted; `captions` has, for each image, the token
        ids of each of its references, the end token included; `padding` is the id that fills up short captions;
        `places` says where what is read of the images lies, where it may be larger than memory. ValueError: an image
        without a caption.
        """
        if empty := [row for row, references in enumerate(captions) if not references]:
            raise ValueError(f"{len(empty)} training images have no caption, the first is number {empty[0]}")
        self.visual, self.padding, self.per_image = visual, padding, per_image
        self.order = Order(len(captions), size, seed, places)
        # One flat array of ids, with the bounds of each caption and the first caption of each image.
        flat = [caption for references in captions for caption in references]
        self.ids = np.concatenate([np.asarray(caption, np.int32) for caption in flat])
        self.bounds = np.cumsum([0, *(len(caption) for caption in flat)])
        self.first = np.cumsum([0, *(len(references) for references in captions)])
        self._epoch, self._draws, self._single = -1, np.empty(0), np.empty(0)

    def __getitem__(self, step: int) -> CaptionBatch:
        rows, epoch = self.order[step], step // len(self)
        chosen = (self.first[rows][:, None] + self._drawn(rows, epoch)).ravel()
        starts, lengths = self.bounds[chosen], self.bounds[chosen + 1] - self.bounds[chosen]
        positions = np.arange(lengths.max())
        mask = positions < lengths[:, None]
        tokens = np.full(mask.shape, self.padding, np.int64)
        tokens[mask] = self.ids[(starts[:, None] + positions)[mask]]
        device = self.visual.device
        return CaptionBatch(
            self.visual[torch.from_numpy(rows.repeat(self.per_image)).to(device)],
            torch.from_numpy(tokens).to(device),
            torch.from_numpy(mask).to(device),
            epoch,
        )

    def _drawn(self, rows: np.ndarray, epoch: int) -> np.ndarray:
        """Ranks (images, per_image) of the captions of these images in an epoch."""
        if epoch != self._epoch:
            self._epoch, self._draws = epoch, self.order.generator(epoch, purpose=1).random(self.order.rows)
            self._single = self.order.generator(epoch, purpose=2).random((self.order.rows, self.per_image))
        count = self.first[rows + 1] - self.first[rows]
        starts = np.maximum(1, count - self.per_image + 1)
        consecutive = (self._draws[rows] * starts).astype(np.int64)[:, None] + np.arange(self.per_image)
        single = (self._single[rows] * count[:, None]).astype(np.int64)
        return np.where((count < self.per_image)[:, None], single, consecutive)


@dataclass(frozen=True)
class ImageBatch:
    """Images to be captioned: all of a batch, or the part of it that starts at row `start`."""

    visual: torch.Tensor
    """(B, ...) features of the images of this part"""
    images: torch.Tensor
    """(N,) rows of all the images of the whole batch in the training set, N >= B: they are the candidates"""
    start: int = 0
    """rank in the whole batch of the first image of this part"""
    step: int = 0
    """the number of the batch, from 0"""
    captions: int = 1
    """how many captions of each image are rewarded, in consecutive rows"""

    @property
    def rows(self) -> torch.Tensor:
        """(B * captions,) for each caption, the rank of its image in the whole batch."""
        ranks = torch.arange(self.start, self.start + len(self.visual), device=self.images.device)
        return ranks.repeat_interleave(self.captions)

    @property
    def weight(self) -> float:
        """Number of images: the loss of a batch is a mean over them."""
        return float(len(self.visual))

    def split(self, parts: int) -> list["ImageBatch"]:
        """The same batch in so many parts of nearly equal size; each still knows the images of the whole batch."""
        pieces = self.visual.tensor_split(parts)
        starts = np.cumsum([self.start, *(len(piece) for piece in pieces)])
        return [replace(self, visual=piece, start=int(start)) for piece, start in zip(pieces, starts[:-1], strict=True)]


class ImageBatches(Batches):
    """Batches of images alone, for objectives that reward the captioner's own captions."""

    def __init__(self, visual: torch.Tensor, size: int, seed: int, places: Places | None = None, updates: int = 1):
        """Make batches of `size` images, each for so many updates in a row.

        `visual` and `places` are as of CaptionBatches.
        """
        self.visual, self.updates = visual, updates
        self.order = Order(len(visual), size, seed, places)

    def __len__(self) -> int:
        return self.order.per_epoch * self.updates

    def __getitem__(self, step: int) -> ImageBatch:
        number = step // self.updates
        rows = torch.from_numpy(self.order[number]).to(self.visual.device)
        return ImageBatch(self.visual[rows], rows, step=number)
