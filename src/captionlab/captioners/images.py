"""The images of a corpus as a captioner reads them, all by row number or a batch at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from captionlab.captioners.captioner import Captioner
from captionlab.encoders.embeddings import stream_embeddings
from captionlab.networks.tokenizer import Tokenizer


class Rows:
    """Images of a family that opens its own tables. They are read when they are indexed, and can replace a tensor."""

    def __init__(self, images: Any, ids: Sequence[str], device: str | torch.device):
        """Wrap the images `ids`, in this order, of an object that `Captioner.open_images` returned.

        The images are put on `device`.
        """
        self.images, self.ids, self.device = images, list(ids), torch.device(device)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: Tensor | slice) -> Any:
        ids = self.ids[rows] if isinstance(rows, slice) else [self.ids[row] for row in rows.tolist()]
        return self.images.rows(ids).to(self.device)

    def split(self, size: int) -> Iterator[Any]:
        """Yield `size` images at a time."""
        for start in range(0, len(self), size):
            yield self[start : start + size]


def stream_images(
    captioner: Captioner[Any], tokenizer: Tokenizer, features: Sequence[str], ids: Sequence[str], batch: int
) -> Iterator[Any]:
    """Yield the images `ids` as a captioner reads them, `batch` at a time, on the device of the captioner.

    Embeddings are streamed, so that only a few are in memory.
    """
    device = next(captioner.parameters()).device
    if (images := captioner.open_images(features, tokenizer)) is not None:
        yield from Rows(images, ids, device).split(batch)
    else:
        yield from (visual.to(device) for visual in stream_embeddings(features, ids, batch))
