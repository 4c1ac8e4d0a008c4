"""Direct preference optimisation (Rafailov et al. 2023, arXiv 2305.18290, equation 7).

For an image x with a preferred caption w and another caption l, the loss is

    -log sigmoid(beta (log p(w|x) / p_parent(w|x) - log p(l|x) / p_parent(l|x)))

with log-probabilities of whole captions, end included, also of captions that `max_tokens` cut. The parent samples both
captions of each image once, before the training, and a reward says which caption is preferred.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from captionlab.config.evaluations import Sample
from captionlab.generation.decoding import decode
from captionlab.training.loop.batches import CaptionBatch, CaptionBatches, ImageBatch, ImageBatches
from captionlab.training.loop.data import TrainingData, encode_references
from captionlab.training.loop.trainer import Objective
from captionlab.training.parent import LogProbs, frozen_parent
from captionlab.training.rewards.reward import build_reward

# By the row of a training image: its preferred caption and its other caption.
Pairs = dict[int, list[str]]


def draw_pairs(config: Mapping[str, Any], data: TrainingData) -> Pairs:
    """Return two captions of each training image, the caption with the larger reward first.

    The captioner of `data` samples them. Images are captioned and rewarded in batches of the training; images that fill
    no batch are left out. Images whose captions have equal rewards are left out. Raises ValueError if no image is left.
    """
    decoding = Sample.model_validate({**config["decoding"], "samples": 2})
    reward, batches = build_reward(config["reward"], data), ImageBatches(data.visual, **data.order)
    generator = torch.Generator(data.device).manual_seed(data.seed)
    data.captioner.eval()
    pairs: Pairs = {}
    for step in range(len(batches)):
        batch = batches[step]
        decoded = decode(data.captioner, batch.visual, decoding, data.tokenizer, generator)
        captions = data.tokenizer.decode(decoded.tokens.tolist())
        rewards = reward(ImageBatch(batch.visual, batch.images, step=step, captions=2), captions)[0].tolist()
        for rank, row in enumerate(batch.images.tolist()):
            first, second = rewards[2 * rank : 2 * rank + 2]
            if first != second:
                pair = captions[2 * rank : 2 * rank + 2]
                pairs[row] = pair if first > second else pair[::-1]
    if not pairs:
        raise ValueError("objective.reward gives both sampled captions of each image the same reward; use another")
    return pairs


class PairBatch(CaptionBatch):
    """Pairs of captions in consecutive rows, the preferred caption first."""

    @property
    def weight(self) -> float:
        """Return the number of pairs, because the loss of a batch is a mean over pairs."""
        return len(self.tokens) / 2

    def split(self, parts: int) -> list[CaptionBatch]:
        """Split the batch into parts of nearly equal size that contain whole pairs."""
        rows = torch.arange(len(self.tokens), device=self.tokens.device).view(-1, 2)
        pieces = [piece.flatten() for piece in rows.tensor_split(parts)]
        return [PairBatch(self.visual[piece], self.tokens[piece], self.mask[piece], self.epoch) for piece in pieces]


class PairBatches(CaptionBatches):
    """Batches of images, each with its pair of captions."""

    def __getitem__(self, step: int) -> PairBatch:
        batch = super().__getitem__(step)
        return PairBatch(batch.visual, batch.tokens, batch.mask, batch.epoch)


@dataclass(eq=False)
class Dpo(Objective):
    """DPO without dropout, as in TRL: `p` and `p_parent` are equal before the first update."""

    beta: float
    parent: LogProbs
    """log-probabilities under the parent (captionlab.training.parent)"""

    def loss(self, model: Any, batch: PairBatch) -> tuple[Tensor, dict[str, Any]]:
        """Return the loss of a batch, with gradient, and the statistics for the log."""
        model.eval()
        inputs = (batch.visual, batch.tokens, batch.mask)
        gain = ((model.log_probs(*inputs) - self.parent(*inputs)) * batch.mask).sum(1)
        preferred, other = self.beta * gain.view(-1, 2).T
        margin = preferred - other
        statistics = {"margin": margin.detach().mean(), "preferred": (margin.detach() > 0).float().mean()}
        return -logsigmoid(margin).mean(), statistics


def build(config: Mapping[str, Any], data: TrainingData) -> tuple[Objective, PairBatches]:
    """Return the objective of a config block, and batches of pairs that the captioner draws now."""
    pairs = draw_pairs(config, data)
    captioner, tokenizer = data.captioner, data.tokenizer
    tokens = encode_references([*pairs.values()], tokenizer, captioner.longest, captioner.cut_keeps_end)
    visual = data.visual_of([data.ids[row] for row in pairs])
    size = min(data.batch, len(pairs))
    batches = PairBatches(visual, tokens, size=size, seed=data.seed, padding=tokenizer.end, per_image=2)
    return Dpo(config["beta"], frozen_parent(captioner)), batches
