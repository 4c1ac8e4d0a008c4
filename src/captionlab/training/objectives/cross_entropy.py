"""Cross-entropy: the captioner learns to give the reference caption of an image."""

from collections.abc import Mapping
from typing import Any

import torch

from captionlab.captioners.captioner import Captioner
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import CaptionBatch, CaptionBatches
from captionlab.training.loop.data import RewardModel, TrainingData, encode_references
from captionlab.training.loop.trainer import Objective
from captionlab.training.objectives.mean_teacher import MeanTeacher


class CrossEntropy(Objective):
    """Mean negative log-probability (nats) of the tokens of the references, the end token included.

    The mean is over the tokens of the whole batch, padding left out by position. (ClipCap's own code leaves out token 0
    wherever it stands, because it pads with 0.)
    """

    def __init__(self, scheduled_sampling: Mapping[str, float] | None = None):
        """Set up the objective.

        With `scheduled_sampling` (Bengio et al. 2015), words drawn from the captioner's own prediction replace given
        ones with a probability that grows by `increase` every `epochs` epochs, from 0 to `maximum`; the captioner's
        `log_probs` takes it as `sampled`.
        """
        self.scheduled_sampling = scheduled_sampling

    def loss(self, model: Any, batch: CaptionBatch) -> tuple[torch.Tensor, dict[str, Any]]:
        """The loss of a batch with its gradient, and what to log."""
        sampled = {"sampled": self._sampled(batch.epoch)} if self.scheduled_sampling else {}
        log_probs = model.log_probs(batch.visual, batch.tokens, batch.mask, **sampled)
        tokens = batch.mask.sum()
        return -(log_probs * batch.mask).sum() / tokens, {"caption_length": tokens / len(batch.tokens), **sampled}

    def _sampled(self, epoch: int) -> float:
        schedule = self.scheduled_sampling or {}
        return min(schedule["increase"] * (epoch // schedule["epochs"]), schedule["maximum"])


def build(
    config: Mapping[str, Any],
    captioner: Captioner[Any],
    tokenizer: Tokenizer,
    data: TrainingData,
    reward_models: Mapping[str, RewardModel],
    order: Mapping[str, Any],
) -> tuple[Objective, CaptionBatches]:
    """The objective of a config block, with a mean teacher where it has one, and the references to learn from."""
    tokens = encode_references(data.texts, tokenizer, captioner.longest, captioner.cut_keeps_end)
    per_image = config.get("captions_per_image", 1)
    batches = CaptionBatches(data.visual, tokens, padding=tokenizer.end, per_image=per_image, **order)
    if "teacher" in config:
        return MeanTeacher(captioner, **config["teacher"]), batches
    return CrossEntropy(config.get("scheduled_sampling")), batches
