"""Fluency in the language of all references."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from captionlab.declarations import RewardKind
from captionlab.networks.words import words_of
from captionlab.texts.ngram import LOG_ZERO, NgramModel, score, train
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import RewardModel, TrainingData
from captionlab.training.rewards.reward import Rewarded

DECLARATION = RewardKind(keys={}, required=(), asks="nothing", references=True, of=False, libraries=("numpy",))


class Fluency:
    """The mean log10-probability of the words of a caption and its end under an n-gram model: -log10 of perplexity.

    A word that the model does not know counts as its rarest one, so that there is nothing to gain by it. (SRILM's
    perplexity leaves such words out.)
    """

    def __init__(self, model: NgramModel):
        self.model = model
        known = model.log_probs[0][model.log_probs[0] > LOG_ZERO]
        self.rarest = float(known.min())

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
        """The reward (B,), below 0, of captions; the images do not matter."""
        scores = score(self.model, [words_of(caption) for caption in captions])
        left_out = scores.unknown + scores.zero
        values = (scores.log_probs + self.rarest * left_out) / (scores.words + 1)
        return torch.from_numpy(np.asarray(values, np.float32)).to(batch.images.device), {}


def build(config: Mapping[str, Any], data: TrainingData, reward_models: Mapping[str, RewardModel]) -> Fluency:
    """The reward, from the references of the training images."""
    return Fluency(train([words_of(text) for of_image in data.texts for text in of_image]))
