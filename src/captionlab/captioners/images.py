"""What captioners read of images: embeddings, or whatever their family opens by itself.

A family that reads no embeddings has `open_images`, which gives an object whose `rows` are images by their identifiers
and whose `places` say where these lie, and, to be trained from scratch, `measure_images`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from captionlab.encoders.embeddings import stream_embeddings
from captionlab.networks.tokenizer import Tokenizer
from captionlab.order import Places


class Rows:
    """Images of a family that opens them by itself, read when they are asked for, in the place of a tensor."""

    def __init__(self, images: Any, ids: Sequence[str], device: str | torch.device):
        """The images `ids`, in this order, on a device."""
        self.images, self.ids, self.device = images, list(ids), torch.device(device)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def places(self) -> Places:
        """Where these images lie in their table."""
        found: Places = self.images.places(self.ids)
        return found

    def __getitem__(self, rows: torch.Tensor | slice) -> Any:
        ids = self.ids[rows] if isinstance(rows, slice) else [self.ids[row] for row in rows.tolist()]
        return self.images.rows(ids).to(self.device)

    def split(self, size: int) -> Iterator[Any]:
        """So many images at a time."""
        for start in range(0, len(self), size):
            yield self[start : start + size]


def stream_images(
    captioner: Any, tokenizer: Tokenizer, features: Sequence[str], ids: Sequence[str], batch: int
) -> Iterator[Any]:
    """The images `ids` from their tables as a captioner reads them, `batch` at a time, on the captioner's device."""
    device = next(captioner.parameters()).device
    if hasattr(captioner, "open_images"):
        yield from Rows(captioner.open_images(features, tokenizer), ids, device).split(batch)
    else:
        yield from (visual.to(device) for visual in stream_embeddings(features, ids, batch))
