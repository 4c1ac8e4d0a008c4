"""Batches of training data, in an order that depends only on the seed and the step (captionlab.storage.order)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from captionlab.storage.order import BagOrder, Order, Places


class Batches:
    """Base class of batches: `batches[step]`, with steps from 0 over all epochs, depends only on the step and the seed.

    `len(batches)` is the number of batches in an epoch. A batch has `split(parts)`, which returns parts to be computed
    separately, and each part has a `weight`.
    """

    order: Order

    def __len__(self) -> int:
        return self.order.per_epoch

    def __getitem__(self, step: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no batch by its step")


@dataclass(frozen=True)
class CaptionBatch:
    """Reference captions to learn, each with its image."""

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
        """Return the number of tokens, because the loss of a batch is a mean over tokens."""
        return float(self.mask.sum())

    def split(self, parts: int) -> list["CaptionBatch"]:
        """Split the batch into parts of nearly equal size."""
        pieces = zip(*(tensor.tensor_split(parts) for tensor in (self.visual, self.tokens, self.mask)), strict=True)
        return [CaptionBatch(visual, tokens, mask, self.epoch) for visual, tokens, mask in pieces]


class CaptionBatches(Batches):
    """Batches of references: in each epoch every image comes once, with random captions of its own.

    If an image has at least `per_image` captions, consecutive captions from a random start are used. Otherwise captions
    are drawn with replacement. This follows github.com/ruotianluo/ImageCaptioning.pytorch
    (captioning/data/dataloader.py).
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
        """Make batches of `size` images and `per_image` captions of each, the captions of an image in consecutive rows.

        `visual` is (images, ...), on the device of the batches. `captions` has, for each image, the token ids of each
        of its references, the end token included. `padding` is the id that fills up short captions. `places` says where
        the images lie in a table that may be larger than memory. Raises ValueError for an image without captions.
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
        """Return the ranks (images, per_image) of the captions that are used for the images `rows` in an epoch."""
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
    """Images to caption: a whole batch, or the part of a batch that starts at row `start`."""

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
        """Return for each caption the rank of its image in the whole batch, (B * captions,)."""
        ranks = torch.arange(self.start, self.start + len(self.visual), device=self.images.device)
        return ranks.repeat_interleave(self.captions)

    @property
    def weight(self) -> float:
        """Return the number of images, because the loss of a batch is a mean over images."""
        return float(len(self.visual))

    def split(self, parts: int) -> list["ImageBatch"]:
        """Split the batch into parts of nearly equal size; each part keeps the images of the whole batch."""
        pieces = self.visual.tensor_split(parts)
        starts = np.cumsum([self.start, *(len(piece) for piece in pieces)])
        return [replace(self, visual=piece, start=int(start)) for piece, start in zip(pieces, starts[:-1], strict=True)]


class ImageBatches(Batches):
    """Batches of images without references, for objectives that reward the captioner's own captions."""

    def __init__(
        self,
        visual: torch.Tensor,
        size: int,
        seed: int,
        places: Places | None = None,
        updates: int = 1,
        bags: Sequence[tuple[int, np.ndarray]] = (),
    ):
        """Make batches of `size` images, each repeated for `updates` consecutive updates.

        `visual` and `places` are as for CaptionBatches. If there are `bags`, which are as for BagOrder, batches are
        made of bags of look-alikes, and `places` is not used.
        """
        self.visual, self.updates = visual, updates
        self.order = BagOrder(len(visual), size, seed, bags) if bags else Order(len(visual), size, seed, places)

    def __len__(self) -> int:
        return self.order.per_epoch * self.updates

    def __getitem__(self, step: int) -> ImageBatch:
        number = step // self.updates
        rows = torch.from_numpy(self.order[number]).to(self.visual.device)
        return ImageBatch(self.visual[rows], rows, step=number)
