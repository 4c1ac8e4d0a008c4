"""Reward of similarity to the references of the image: BLEU-4."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from pycocoevalcap.bleu.bleu_scorer import BleuScorer

from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.cider.reward import ended
from captionlab.training.rewards.reward import Reward, Rewarded


def bleu(references: Sequence[Sequence[str]], batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
    """Return BLEU-4 (B,), 0 to 1, of each caption against the references of its image.

    The brevity penalty uses the reference of the closest length. As in github.com/ruotianluo/ImageCaptioning.pytorch
    (captioning/utils/rewards.py), the smoothing constants are pycocoevalcap's. `references` are words joined by spaces,
    by the rows of the training images.
    """
    scorer = BleuScorer(n=4)
    for image, caption in zip(batch.images[batch.rows].tolist(), captions, strict=True):
        scorer += (" ".join(ended(caption)), references[image])
    _, per_caption = scorer.compute_score(option="closest")
    return torch.tensor(per_caption[-1], device=batch.images.device), {}


def build(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """Return the BLEU-4 reward against the references of the training images, tokenised as for the reward cider."""
    return partial(bleu, [[" ".join(ended(text)) for text in of_image] for of_image in data.texts])
