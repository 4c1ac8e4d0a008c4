"""Masked language modelling: the captioner learns to predict masked words of a reference.

As VinVL is trained to caption (github.com/microsoft/Oscar, oscar/run_captioning.py and BertCaptioningLoss in
oscar/modeling/modeling_bert.py). Other settings (optimizer, schedule, epochs) belong to the trainer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from captionlab.storage.order import Order, Places
from captionlab.training.loop.batches import Batches
from captionlab.training.loop.data import TrainingData
from captionlab.training.loop.trainer import Objective
from captionlab.training.objectives.reinforce.objective import freeze_token_embeddings

# Oscar's defaults (run_captioning.py: mask_prob, max_masked_tokens).
SHARE, MOST = 0.15, 3


@dataclass(frozen=True)
class MaskedBatch:
    """Images, each with a reference that has some tokens masked."""

    visual: Any
    """B images"""
    ids: Tensor
    """(B, T) token ids from [CLS] to [SEP] with some masked, then padding"""
    chosen: Tensor
    """(B, T) whether the token is to be predicted"""
    targets: Tensor
    """(n,) the tokens at these positions, row by row"""

    @property
    def weight(self) -> float:
        """Return the number of tokens to predict, because the loss of a batch is a mean over these tokens."""
        return float(len(self.targets))

    def split(self, parts: int) -> list["MaskedBatch"]:
        """Split the batch into parts of nearly equal size."""
        visual, ids, chosen = (whole.tensor_split(parts) for whole in (self.visual, self.ids, self.chosen))
        targets = self.targets.split([int(part.sum()) for part in chosen])
        return [MaskedBatch(*piece) for piece in zip(visual, ids, chosen, targets, strict=True)]


class MaskedBatches(Batches):
    """Batches of references, each with its image.

    Each reference comes once in an epoch, every time with other tokens masked.
    """

    def __init__(
        self,
        visual: Any,
        captions: Sequence[Sequence[Sequence[int]]],
        size: int,
        seed: int,
        *,
        start: int,
        mask: int,
        vocabulary: int,
        places: Places | None = None,
    ):
        """Make batches of `size` references; other arguments are as for CaptionBatches.

        `start` is the id of the token before every caption, `mask` the id of the mask token. A chosen token may be
        replaced by any of the `vocabulary` tokens.
        """
        self.visual, self.mask, self.vocabulary = visual, mask, vocabulary
        self.images = np.repeat(np.arange(len(captions)), [len(references) for references in captions])
        flat = [[start, *caption] for references in captions for caption in references]
        self.lengths = np.array([len(ids) for ids in flat])
        self.ids = np.zeros((len(flat), int(self.lengths.max())), np.int32)
        self.ids[np.arange(self.ids.shape[1]) < self.lengths[:, None]] = np.concatenate(flat)
        if places is not None:  # from the groups of the images to the groups of the references
            places = replace(places, groups=places.groups[self.images])
        self.order = Order(len(flat), size, seed, places)

    def __getitem__(self, step: int) -> MaskedBatch:
        rows = self.order[step]
        lengths = self.lengths[rows]
        ids = self.ids[rows, : lengths.max()].astype(np.int64)
        # Each batch has its own stream of random numbers.
        generator = np.random.default_rng([self.order.seed, step, 1])
        masked, chosen = mask_tokens(ids, lengths, self.mask, self.vocabulary, generator)
        visual = self.visual[torch.from_numpy(self.images[rows])]
        device = visual.device
        tensors = (torch.from_numpy(array).to(device) for array in (masked, chosen, ids[chosen]))
        return MaskedBatch(visual, *tensors)


@dataclass(eq=False)
class MaskedLanguageModelling(Objective):
    """Mean divergence (nats) between smoothed targets and predictions, over the tokens to predict.

    `smoothing` is the probability that a target gives to all other tokens in equal shares. After `drop_after` updates,
    the share `drop_worst` of the tokens with the largest losses is left out.
    """

    smoothing: float = 0.0
    drop_worst: float = 0.0
    drop_after: int = 0
    updates: int = 0
    kept = ("updates",)

    def loss(self, model: Any, batch: MaskedBatch) -> tuple[Tensor, dict[str, Any]]:
        """Return the loss of a batch, with gradient, and the statistics for the log."""
        logits = model.masked_logits(batch.visual, batch.ids, batch.chosen).float()
        losses = divergences(logits, batch.targets, self.smoothing)
        if self.drop_worst and self.updates >= self.drop_after:
            # A part of a batch may have a single token to be predicted.
            losses = losses.topk(max(1, int(len(losses) * (1 - self.drop_worst))), largest=False).values
        predicted = (logits.argmax(1) == batch.targets).float().mean()
        return losses.mean(), {"masked_accuracy": predicted}

    def end_batch(self) -> None:
        """Count the update."""
        self.updates += 1


def divergences(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Return the Kullback-Leibler divergence (n,) in nats of predictions (n, vocabulary) from smoothed targets (n,)."""
    log_probs = logits.log_softmax(1)
    right = log_probs.gather(1, targets[:, None])[:, 0]
    if not smoothing:
        return -right
    share = smoothing / (logits.shape[1] - 1)
    entropy = -(1 - smoothing) * math.log(1 - smoothing) - smoothing * math.log(share)
    return -(1 - smoothing) * right - share * (log_probs.sum(1) - right) - entropy


def mask_tokens(
    ids: np.ndarray, lengths: np.ndarray, mask: int, vocabulary: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return captions `ids` (B, T) with some tokens masked, and which tokens (B, T) were chosen.

    The captions run from [CLS] to [SEP] and are padded. 15 % of a caption's tokens, but 1 to 3, are chosen; [SEP] can
    be chosen, [CLS] cannot. 80 % of the chosen tokens become `mask`, 10 % any token of the vocabulary, and 10 % stay.
    """
    places = np.arange(ids.shape[1])
    # A random order of the places that can be chosen, the others last.
    keys = np.where((places > 0) & (places < lengths[:, None]), generator.random(ids.shape), 2.0)
    rank = keys.argsort(axis=1).argsort(axis=1)
    # The round function of numpy rounds half to even, as Python's does.
    chosen = rank < np.clip(np.round(SHARE * lengths), 1, MOST)[:, None]
    fate = generator.random(ids.shape)
    strangers = generator.integers(0, vocabulary, ids.shape)
    replaced = np.where(fate < 0.8, mask, np.where(fate < 0.9, strangers, ids))
    return np.where(chosen, replaced, ids), chosen


def build(config: Mapping[str, Any], data: TrainingData) -> tuple[Objective, MaskedBatches]:
    """Return the objective of a config block, and batches of references with masked tokens."""
    settings = {name: value for name, value in config.items() if name != "kind"}
    if settings.pop("freeze_embeddings"):
        freeze_token_embeddings(data.captioner, data.tokenizer.size)
    ids = {"start": data.captioner.start_id, "mask": data.captioner.mask_id, "vocabulary": data.tokenizer.size}
    batches = MaskedBatches(data.visual, data.encoded, **ids, **data.order)
    return MaskedLanguageModelling(**settings), batches
