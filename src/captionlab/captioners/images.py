"""The images of a corpus as a captioner reads them, all by their rows or some at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from captionlab.captioners.captioner import Captioner
from captionlab.encoders.embeddings import stream_embeddings
from captionlab.networks.tokenizer import Tokenizer


class Rows:
    """Images of a family that opens them by itself, read when they are asked for, in the place of a tensor."""

    def __init__(self, images: Any, ids: Sequence[str], device: str | torch.device):
        """The images `ids`, in this order, on a device, of what a family opens (Captioner.open_images)."""
        self.images, self.ids, self.device = images, list(ids), torch.device(device)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: Tensor | slice) -> Any:
        ids = self.ids[rows] if isinstance(rows, slice) else [self.ids[row] for row in rows.tolist()]
        return self.images.rows(ids).to(self.device)

    def split(self, size: int) -> Iterator[Any]:
        """So many images at a time."""
        for start in range(0, len(self), size):
            yield self[start : start + size]


def stream_images(
    captioner: Captioner[Any], tokenizer: Tokenizer, features: Sequence[str], ids: Sequence[str], batch: int
) -> Iterator[Any]:
    """The images `ids` as a captioner reads them, `batch` at a time, on its device; of embeddings, few in memory."""
    device = next(captioner.parameters()).device
    if (images := captioner.open_images(features, tokenizer)) is not None:
        yield from Rows(images, ids, device).split(batch)
    else:
        yield from (visual.to(device) for visual in stream_embeddings(features, ids, batch))
