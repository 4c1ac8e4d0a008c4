"""The order of the training data: batch number `step` is a pure function of the seed and the step.

Each epoch is a new permutation of the images; a last batch that is not full is left out. As nothing here has a state,
the position in the data is the step, and a resumed training sees exactly the batches that it would have seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch


class Order:
    """Which rows make up batch `step`: a seeded permutation of all rows in each epoch, the tail dropped."""

    def __init__(self, rows: int, size: int, seed: int):
        """Order so many rows in batches of `size`; ValueError when there are not enough rows for one batch."""
        if rows < size:
            raise ValueError(
                f"a batch of {size} images cannot be made of {rows} training images; "
                f"set optimizer.batch to {rows} or less"
            )
        self.rows, self.size, self.seed = rows, size, seed
        self.per_epoch = rows // size
        self._epoch, self._permutation = -1, np.empty(0, np.int64)

    def __getitem__(self, step: int) -> np.ndarray:
        """The rows of batch `step`, counted from 0 over all epochs, as int64 of shape (size,)."""
        epoch, batch = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            self._epoch, self._permutation = epoch, self.generator(epoch).permutation(self.rows)
        return self._permutation[batch * self.size : (batch + 1) * self.size]

    def generator(self, epoch: int, purpose: int = 0) -> np.random.Generator:
        """The random numbers of an epoch; another `purpose` gives an independent stream."""
        return np.random.default_rng([self.seed, epoch, purpose])


@dataclass(frozen=True)
class CaptionBatch:
    """Images, each with one reference caption to be learnt."""

    visual: torch.Tensor
    """(B, ...) features of the images"""
    tokens: torch.Tensor
    """(B, T) token ids of the captions with the end token, then padding"""
    mask: torch.Tensor
    """(B, T) whether the position holds a token and not padding"""

    @property
    def weight(self) -> float:
        """Number of tokens: the loss of a batch is a mean over them."""
        return float(self.mask.sum())

    def split(self, parts: int) -> list["CaptionBatch"]:
        """The same batch in so many parts of nearly equal size."""
        pieces = zip(*(tensor.tensor_split(parts) for tensor in (self.visual, self.tokens, self.mask)), strict=True)
        return [CaptionBatch(*piece) for piece in pieces]


class CaptionBatches:
    """Batches to learn references from: in each epoch every image comes once, with one of its captions at random."""

    def __init__(
        self, visual: torch.Tensor, captions: Sequence[Sequence[Sequence[int]]], size: int, seed: int, padding: int
    ):
        """Make batches of images and captions.

        `visual` is (images, ...), on the device where the batches are wanted; `captions` has, for each image, the token
        ids of each of its references, the end token included; `padding` is the id that fills up short captions.
        """
        if empty := [row for row, references in enumerate(captions) if not references]:
            raise ValueError(f"{len(empty)} training images have no caption, the first is number {empty[0]}")
        self.visual, self.padding = visual, padding
        self.order = Order(len(captions), size, seed)
        # One flat array of ids, with the bounds of each caption and the first caption of each image.
        flat = [caption for references in captions for caption in references]
        self.ids = np.concatenate([np.asarray(caption, np.int32) for caption in flat])
        self.bounds = np.cumsum([0, *(len(caption) for caption in flat)])
        self.first = np.cumsum([0, *(len(references) for references in captions)])
        self._epoch, self._draws = -1, np.empty(0)

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return self.order.per_epoch

    def __getitem__(self, step: int) -> CaptionBatch:
        """Batch number `step`, counted from 0 over all epochs."""
        rows, epoch = self.order[step], step // len(self)
        if epoch != self._epoch:
            self._epoch, self._draws = epoch, self.order.generator(epoch, purpose=1).random(self.order.rows)
        count = self.first[rows + 1] - self.first[rows]
        chosen = self.first[rows] + (self._draws[rows] * count).astype(np.int64)
        starts, lengths = self.bounds[chosen], self.bounds[chosen + 1] - self.bounds[chosen]
        positions = np.arange(lengths.max())
        mask = positions < lengths[:, None]
        tokens = np.full(mask.shape, self.padding, np.int64)
        tokens[mask] = self.ids[(starts[:, None] + positions)[mask]]
        device = self.visual.device
        return CaptionBatch(
            self.visual[torch.from_numpy(rows).to(device)],
            torch.from_numpy(tokens).to(device),
            torch.from_numpy(mask).to(device),
        )


@dataclass(frozen=True)
class ImageBatch:
    """Images to be captioned: all of a batch, or the part of it that starts at row `start`."""

    visual: torch.Tensor
    """(B, ...) features of the images of this part"""
    images: torch.Tensor
    """(N,) rows of all the images of the whole batch in the training set, N >= B: they are the candidates"""
    start: int = 0
    """rank in the whole batch of the first image of this part"""

    @property
    def rows(self) -> torch.Tensor:
        """(B,) ranks of this part's images in the whole batch."""
        return torch.arange(self.start, self.start + len(self.visual), device=self.images.device)

    @property
    def weight(self) -> float:
        """Number of images: the loss of a batch is a mean over them."""
        return float(len(self.visual))

    def split(self, parts: int) -> list["ImageBatch"]:
        """The same batch in so many parts of nearly equal size; each still knows the images of the whole batch."""
        pieces = self.visual.tensor_split(parts)
        starts = np.cumsum([self.start, *(len(piece) for piece in pieces)])
        return [ImageBatch(piece, self.images, int(start)) for piece, start in zip(pieces, starts[:-1], strict=True)]


class ImageBatches:
    """Batches of images alone, for objectives that judge the captioner's own captions."""

    def __init__(self, visual: torch.Tensor, size: int, seed: int):
        """Make batches of `visual`, (images, ...), on the device where the batches are wanted."""
        self.visual = visual
        self.order = Order(len(visual), size, seed)

    def __len__(self) -> int:
        """Number of batches in an epoch."""
        return self.order.per_epoch

    def __getitem__(self, step: int) -> ImageBatch:
        """Batch number `step`, counted from 0 over all epochs."""
        rows = torch.from_numpy(self.order[step]).to(self.visual.device)
        return ImageBatch(self.visual[rows], rows)
