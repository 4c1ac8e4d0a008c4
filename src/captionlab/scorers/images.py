"""The images of a corpus as a scorer reads them."""

import os
from collections.abc import Iterable, Sequence
from functools import partial

import torch
from torch import Tensor

from captionlab.encoders.images import decode, squeeze
from captionlab.schemas import IMAGES
from captionlab.scorers.scorer import Scorer
from captionlab.scorers.visual import Visual
from captionlab.tables import TableError, read_table


class PixelTable:
    """Images from tables of images, decoded when they are asked for and squeezed to a square."""

    def __init__(self, paths: Sequence[str], size: int):
        """Read the tables, but no image that is in a file; `size` is the width and height in pixels."""
        self.table = read_table(paths, IMAGES, ["image_id", "path", "data"])
        self.row = {image: row for row, image in enumerate(self.table["image_id"].to_pylist())}
        self.files, self.size = paths, size

    def batch(self, images: Sequence[str]) -> Tensor:
        """These images (N, 3, size, size) as bytes; TableError names the first that is not in the tables."""
        if missing := [image for image in images if image not in self.row]:
            raise TableError(f"{', '.join(self.files)}: there is no image {missing[0]!r}")
        rows = self.table.take([self.row[image] for image in images])
        return torch.stack(list(decode(rows, partial(squeeze, size=self.size), threads=torch.get_num_threads())))


class ScorerImages:
    """Images for a scorer, from tables of what it reads; of regions and pixels, few are in memory at a time."""

    def __init__(
        self, scorer: Scorer, feature_paths: Iterable[str | os.PathLike[str]], device: str | torch.device = "cpu"
    ):
        """Open the tables, all shards of a corpus: of regions, of embeddings by the scorer's encoder, or of images."""
        self.scorer, self.device = scorer, device
        self._batch = scorer.open_images([str(path) for path in feature_paths])

    @torch.no_grad()
    def visual(self, image_ids: Sequence[str]) -> Visual:
        """These images as the scorer has read them, in this order; TableError names the first that has no features."""
        return self.scorer.encode_image(self._batch(image_ids).to(self.device))
