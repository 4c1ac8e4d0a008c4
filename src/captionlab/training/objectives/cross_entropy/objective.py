"""Cross-entropy on reference captions, optionally with a mean teacher."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from captionlab.training.loop.batches import CaptionBatch, CaptionBatches
from captionlab.training.loop.data import TrainingData
from captionlab.training.loop.trainer import Objective


@dataclass(eq=False)
class CrossEntropy(Objective):
    """Mean negative log-probability (nats) of the tokens of the references, the end token included.

    The mean is over the tokens of the whole batch; padding is left out by position. (ClipCap's own code leaves out
    token 0 everywhere, because it pads with 0.)
    """

    scheduled_sampling: Mapping[str, float] | None = None
    """With it (Bengio et al. 2015), words drawn from the captioner's own prediction replace given ones with a
    probability that grows by `increase` every `epochs` epochs, from 0 to `maximum`: `sampled` of its `log_probs`."""

    def loss(self, model: Any, batch: CaptionBatch) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the loss of a batch, with gradient, and the statistics for the log."""
        sampled: dict[str, float] = {}
        if schedule := self.scheduled_sampling:
            share = schedule["increase"] * (batch.epoch // schedule["epochs"])
            sampled["sampled"] = min(share, schedule["maximum"])
        log_probs = model.log_probs(batch.visual, batch.tokens, batch.mask, **sampled)
        tokens = batch.mask.sum()
        return -(log_probs * batch.mask).sum() / tokens, {"caption_length": tokens / len(batch.tokens), **sampled}


class MeanTeacher(Objective):
    """Cross-entropy plus the distance of the captioner's logits from a mean teacher's (Barraco et al. 2022).

    After github.com/aimagelab/camel (train.py). The teacher is a running mean of the captioner. The trained captioner
    is kept, as Dessì et al. (2023) finetune it; CaMEL's authors evaluate the teacher.

    The distance is the mean squared difference over tokens and vocabulary, without padding (the original includes
    padding). The captioner must have `logits`.
    """

    kept = ("teacher", "behind")

    def __init__(self, captioner: Any, weight: float, decay: float):
        """Copy the captioner as the teacher.

        If the captioner has adapters, only the trained parameters are copied and all frozen parameters are shared.
        After each update, a teacher weight becomes `decay` times itself plus (1 - `decay`) times the captioner's
        weight. (In the original the teacher starts from other random weights.)
        """
        shared = {id(p): p for p in captioner.parameters() if not p.requires_grad} if captioner.adapters else {}
        self.teacher: Any = copy.deepcopy(captioner, shared)
        for parameter in self.teacher.parameters():
            # Teacher weights are marked as trainable so that checkpoints contain them; they never get a gradient.
            parameter.requires_grad_(id(parameter) not in shared)
        self.weight, self.decay, self.behind = weight, decay, False

    def loss(self, model: Any, batch: CaptionBatch) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the loss of a batch, with gradient, and the statistics for the log."""
        mask = batch.mask
        logits = model.logits(batch.visual, batch.tokens)[mask]
        self.teacher.train(model.training)  # the teacher has its own dropout, as in the original
        with torch.no_grad():
            if self.behind:
                for ours, learnt in zip(self.teacher.parameters(), model.parameters(), strict=True):
                    if ours is not learnt:
                        ours.mul_(self.decay).add_(learnt, alpha=1 - self.decay)
            self.behind = False
            taught = self.teacher.logits(batch.visual, batch.tokens)[mask]
        cross_entropy = functional.cross_entropy(logits.float(), batch.tokens[mask])
        distance = (logits - taught).square().mean()
        statistics = {"cross_entropy": cross_entropy, "distance": distance, "caption_length": mask.sum() / len(mask)}
        return cross_entropy + self.weight * distance, statistics

    def end_batch(self) -> None:
        """Note that the captioner is about to be updated. The teacher follows before the next loss."""
        self.behind = True


def build(config: Mapping[str, Any], data: TrainingData) -> tuple[Objective, CaptionBatches]:
    """Return the objective of a config block, with a mean teacher if `teacher` is set, and batches of references."""
    options = {"padding": data.tokenizer.end, "per_image": config["captions_per_image"], **data.order}
    batches = CaptionBatches(data.visual, data.encoded, **options)
    if "teacher" in config:
        return MeanTeacher(data.captioner, **config["teacher"]), batches
    return CrossEntropy(config.get("scheduled_sampling")), batches
