"""Reward of Ma et al. (2022, section 3.3): the matching score of a frozen vision-language model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import load_scorer
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Rewarded


@dataclass(eq=False)
class MatchingScore:
    """Reward of how well a caption matches its image according to a scorer."""

    scorer: Any
    read_images: Callable[[Sequence[str]], Any]
    """a function of image ids that returns what the scorer reads of the images, independent of captions"""
    ids: Sequence[str]
    """ids of the training images, in the order of the rows of batches"""
    scale: float = 1.0
    """factor on the scores"""

    @torch.no_grad()
    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
        """Return the scaled matching scores (B,) of captions of the batch's images, and no statistics."""
        needed, rows = batch.rows.unique(return_inverse=True)
        visual = self.read_images([self.ids[image] for image in batch.images[needed].tolist()])
        return self.scale * self.scorer.score(visual, captions, rows.tolist()).float(), {}


def build(config: Mapping[str, Any], data: TrainingData) -> MatchingScore:
    """Return the matching-score reward of a config block."""
    asked = data.reward_models[f"scorers/{config['scorer']}"]
    scorer = load_scorer(asked["directory"], data.device)
    images = ScorerImages(scorer, asked["features"], data.device)
    return MatchingScore(scorer, images.visual, data.ids, config["scale"])
