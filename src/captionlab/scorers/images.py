"""Images of a corpus as a scorer reads them."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from captionlab.scorers.scorer import Scorer


class ScorerImages:
    """Images for a scorer, from tables of its features. Of regions and pixels, few are in memory at a time."""

    def __init__(
        self, scorer: Scorer, feature_paths: Iterable[str | os.PathLike[str]], device: str | torch.device = "cpu"
    ):
        """Open the tables, all shards of a corpus: regions, embeddings by the scorer's encoder, or images."""
        self.scorer, self.device = scorer, device
        self._batch = scorer.open_images([str(path) for path in feature_paths])

    @torch.no_grad()
    def visual(self, image_ids: Sequence[str]) -> Any:
        """Return the encoded images `image_ids`, in their order.

        Raises TableError for an image without features.
        """
        return self.scorer.encode_image(self._batch(image_ids).to(self.device))
