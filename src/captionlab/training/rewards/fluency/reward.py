"""Reward of fluency under an n-gram language model of all references."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from captionlab.networks.words import words_of
from captionlab.texts.ngram import LOG_ZERO, NgramModel, score, train
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward, Rewarded


def fluency(model: NgramModel, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
    """Return the mean log10-probability (B,) per word of each caption, its end included: -log10 of the perplexity.

    A word that the model does not know has the probability of the model's rarest word, so that unknown words gain
    nothing. (SRILM's perplexity leaves such words out.) The images are not used.
    """
    rarest = float(model.log_probs[0][model.log_probs[0] > LOG_ZERO].min())
    scores = score(model, [words_of(caption) for caption in captions])
    values = (scores.log_probs + rarest * (scores.unknown + scores.zero)) / (scores.words + 1)
    return torch.from_numpy(np.asarray(values, np.float32)).to(batch.images.device), {}


def build(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """Return the fluency reward with a language model of the references of the training images."""
    return partial(fluency, train([words_of(text) for of_image in data.texts for text in of_image]))
