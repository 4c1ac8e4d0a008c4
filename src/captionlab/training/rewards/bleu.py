"""Likeness to the references of the image: BLEU-4."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from pycocoevalcap.bleu.bleu_scorer import BleuScorer

from captionlab.declarations import RewardKind
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import RewardModel, TrainingData
from captionlab.training.rewards.cider import ended
from captionlab.training.rewards.reward import Rewarded

DECLARATION = RewardKind(keys={}, required=(), asks="nothing", references=True, of=False, libraries=("pycocoevalcap",))


class Bleu:
    """BLEU-4 of single captions against the reference closest in length, with pycocoevalcap's smoothing constants.

    As in github.com/ruotianluo/ImageCaptioning.pytorch (captioning/utils/rewards.py); words are those of `Cider`.
    """

    def __init__(self, references: Sequence[Sequence[str]]):
        """Keep the references, texts, of the training images, in the order of the batches' rows."""
        self.references = [[" ".join(ended(text)) for text in of_image] for of_image in references]

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
        """The reward (B,), 0 to 1, of captions of the batch's images."""
        scorer = BleuScorer(n=4)
        for image, caption in zip(batch.images[batch.rows].tolist(), captions, strict=True):
            scorer += (" ".join(ended(caption)), self.references[image])
        _, per_caption = scorer.compute_score(option="closest")
        return torch.tensor(per_caption[-1], device=batch.images.device), {}


def build(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Bleu:
    """The reward, from the references of the training images."""
    return Bleu(data.texts)
