"""Rewards by what people wrote: likeness to the references of the image, and fluency in the language of them all."""

from collections.abc import Sequence

import numpy as np
import torch
from pycocoevalcap.bleu.bleu_scorer import BleuScorer

from captionlab.networks.words import words_of
from captionlab.texts.ngram import LOG_ZERO, NgramModel, score
from captionlab.training.loop.batches import ImageBatch
from captionlab.training.rewards.cider import CiderD

# Stands after each caption, so that one that breaks off is told from one that ends. No word has angle brackets.
END = "<end>"


def ended(text: str) -> list[str]:
    """The words of a text, and its end."""
    return [*words_of(text), END]


class Cider:
    """CIDEr-D with the document frequencies of the training references (Rennie et al. 2017).

    As in github.com/ruotianluo/ImageCaptioning.pytorch (scripts/prepro_ngrams.py), words are those of the annotations,
    and the end of a caption is one of them.
    """

    def __init__(self, references: Sequence[Sequence[str]]):
        """Count the references, texts, of the training images, in the order of the batches' rows."""
        self.cider = CiderD([[ended(text) for text in of_image] for of_image in references])

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The reward (B,), 0 to 10, of captions of the batch's images."""
        words = [ended(caption) for caption in captions]
        scores = self.cider.score(batch.images[batch.rows].cpu().numpy(), words)
        return torch.from_numpy(scores).float().to(batch.images.device), {}


class Bleu:
    """BLEU-4 of single captions against the reference closest in length, with pycocoevalcap's smoothing constants.

    As in github.com/ruotianluo/ImageCaptioning.pytorch (captioning/utils/rewards.py); words are those of `Cider`.
    """

    def __init__(self, references: Sequence[Sequence[str]]):
        """Keep the references, texts, of the training images, in the order of the batches' rows."""
        self.references = [[" ".join(ended(text)) for text in of_image] for of_image in references]

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The reward (B,), 0 to 1, of captions of the batch's images."""
        scorer = BleuScorer(n=4)
        for image, caption in zip(batch.images[batch.rows].tolist(), captions, strict=True):
            scorer += (" ".join(ended(caption)), self.references[image])
        _, per_caption = scorer.compute_score(option="closest")
        return torch.tensor(per_caption[-1], device=batch.images.device), {}


class Fluency:
    """The mean log10-probability of the words of a caption and its end under an n-gram model: -log10 of perplexity.

    A word that the model does not know counts as its rarest one, so that there is nothing to gain by it. (SRILM's
    perplexity leaves such words out.)
    """

    def __init__(self, model: NgramModel):
        self.model = model
        known = model.log_probs[0][model.log_probs[0] > LOG_ZERO]
        self.rarest = float(known.min())

    def __call__(self, batch: ImageBatch, captions: Sequence[str]) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The reward (B,), below 0, of captions; the images do not matter."""
        scores = score(self.model, [words_of(caption) for caption in captions])
        left_out = scores.unknown + scores.zero
        values = (scores.log_probs + self.rarest * left_out) / (scores.words + 1)
        return torch.from_numpy(np.asarray(values, np.float32)).to(batch.images.device), {}
