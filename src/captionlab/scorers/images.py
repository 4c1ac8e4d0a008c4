"""The images of a corpus as a scorer reads them."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from captionlab.features.embeddings import load_embeddings
from captionlab.features.region_batches import RegionTable
from captionlab.scorers.scorer import ImageTextScorer
from captionlab.scorers.visual import Visual

# What a scorer reads, and how images are had of tables of that.
_SOURCES: dict[str, Callable[[list[str]], Callable[[Sequence[str]], Any]]] = {
    "regions": lambda paths: RegionTable(paths).batch,
    "embeddings": lambda paths: load_embeddings(paths).rows,
}


class ScorerImages:
    """Images for a scorer, from its tables of regions or embeddings; of regions, few are in memory at a time."""

    def __init__(
        self,
        scorer: ImageTextScorer,
        feature_paths: Iterable[str | os.PathLike[str]],
        device: str | torch.device = "cpu",
    ):
        """Open the tables, all shards of one or more corpora: of regions, or of embeddings by the scorer's encoder."""
        self.scorer, self.device = scorer, device
        self._batch = _SOURCES[scorer.reads]([str(path) for path in feature_paths])

    @torch.no_grad()
    def visual(self, image_ids: Sequence[str]) -> Visual:
        """These images as the scorer has read them, in this order; TableError names the first that has no features."""
        return self.scorer.encode_image(self._batch(image_ids).to(self.device))
