"""Reward of similarity to the references of the image: CIDEr-D."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch

from captionlab.evaluation.cider import CiderD
from captionlab.networks.words import words_of
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.loop.data import TrainingData
from captionlab.training.rewards.reward import Reward, Rewarded

# Follows each caption, so that a truncated caption differs from a complete one. No word has angle brackets.
END = "<end>"


def ended(text: str) -> list[str]:
    """Return the words of a text, followed by the end word."""
    return [*words_of(text), END]


def cider(references: CiderD, batch: ImageBatch, captions: Sequence[str]) -> Rewarded:
    """Return CIDEr-D (B,), 0 to 10, of captions of a batch's images."""
    scores = references.score(batch.images[batch.rows].cpu().numpy(), [ended(caption) for caption in captions])
    return torch.from_numpy(scores).float().to(batch.images.device), {}


def build(config: Mapping[str, Any], data: TrainingData) -> Reward:
    """Return the CIDEr-D reward with the document frequencies of the training references (Rennie et al. 2017).

    As in github.com/ruotianluo/ImageCaptioning.pytorch (scripts/prepro_ngrams.py), words are the words of the
    annotations, and the end of a caption counts as a word.
    """
    return partial(cider, CiderD([[ended(text) for text in of_image] for of_image in data.texts]))
