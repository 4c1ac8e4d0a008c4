"""Self-critical training (Rennie et al. 2017): captions that earn more than the greedy caption become more likely.

After github.com/ruotianluo/ImageCaptioning.pytorch (captioning/modules/loss_wrapper.py, losses.py), with which Ma et
al. (2022) train. With the baseline `leave-one-out` it is the "new self-critical" of the same repository (Luo 2020).
With a beam search in place of samples it is REINFORCE with the greedy baseline of Dessì et al. (2023, appendix B.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from captionlab.captioners.decoded import Decoded
from captionlab.config.evaluations import Decoding, Sample, read_decoding
from captionlab.generation.decoding import decode, decode_with_gradient
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.data import TrainingData
from captionlab.training.loop.trainer import Objective
from captionlab.training.objectives.reinforce.objective import caption_log_probs, freeze_token_embeddings, policy_loss
from captionlab.training.parent import LogProbs, frozen_parent
from captionlab.training.rewards.reward import Reward, build_reward


def self_critical_loss(
    reward: torch.Tensor, baseline: torch.Tensor, log_prob: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    """Return the policy loss of captions (N,) as a mean over their tokens, the end token included.

    `log_prob` (N,) are sums over the `lengths` (N,) tokens of each caption. Every token of a caption is weighted by the
    same reward.
    """
    return policy_loss(reward, baseline, log_prob) * len(lengths) / lengths.sum()


@dataclass(eq=False)
class SelfCritical(Objective):
    """Policy gradient of several samples of each image, against a baseline of the same images.

    If the captioner's decoding steps are differentiable, the gradient comes from the pass that drew the sample, with
    its dropout. Otherwise, and with `log_prob` or `search`, the log-probabilities come from a second pass, with other
    units dropped.
    """

    tokenizer: Tokenizer
    greedy: Decoding
    """decoding of the baseline; samples end by the same rules"""
    reward: Reward
    samples: int = 5
    baseline: str = "greedy"
    """the reward of the greedy caption, made without dropout, or `leave-one-out`, that of the image's other samples"""
    temperature: float = 1.0
    dropout: bool = True
    """that of the samples"""
    scale: float = 1.0
    """multiplies rewards"""
    kl: float = 0.0
    """The reward of a caption loses so many times the mean over its tokens of log-probability minus that under the
    parent: on average over samples that is the divergence of the captioner from the parent, per token."""
    parent: LogProbs | None = None
    """log-probabilities under the parent (captionlab.training.parent)"""
    search: Decoding | None = None
    """beam search that makes the one caption of an image that learns, in place of samples"""
    log_prob: str | None = None
    """With one (see caption_log_probs) the loss is REINFORCE's, a mean over captions whose log-probabilities come from
    a second pass; without, one over tokens."""

    def __post_init__(self) -> None:
        if self.baseline == "leave-one-out" and self.samples < 2:
            raise ValueError("objective.samples is 1; the baseline leave-one-out needs at least 2")
        if self.kl and self.parent is None:
            raise ValueError("objective.kl needs a parent to stay close to")
        ends = self.greedy.model_dump(include={"max_tokens", "stop"}, exclude_none=True)
        self.sampling = self.search or Sample(kind="sample", temperature=self.temperature, **ends)

    def loss(self, model: Any, batch: ImageBatch) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the loss of a batch, with gradient, and the statistics for the log."""
        model.train(self.dropout)
        sampled, log_prob = self._sample(model, batch.visual.repeat_interleave(self.samples, dim=0))
        samples = self.tokenizer.decode(sampled.tokens.tolist())
        captions = [samples[first : first + self.samples] for first in range(0, len(samples), self.samples)]
        penalty = self._divergence(sampled, batch.visual, self.samples)
        if self.baseline == "greedy":
            model.eval()
            greedy = decode(model, batch.visual, self.greedy, self.tokenizer)
            model.train(self.dropout)
            for of_image, best in zip(captions, self.tokenizer.decode(greedy.tokens.tolist()), strict=True):
                of_image.append(best)
            penalty = torch.cat([penalty, self._divergence(greedy, batch.visual, 1)], dim=1)
        # All captions are rewarded at once, because a scorer then reads each image and each distinct caption only once.
        asked = replace(batch, captions=len(captions[0]))
        reward, of_captions = self.reward(asked, [caption for of_image in captions for caption in of_image])
        rewards, *details = (values.view(len(captions), -1) for values in (reward, *of_captions.values()))
        net = self.scale * rewards - self.kl * penalty
        earned = net[:, : self.samples]
        if self.baseline == "greedy":
            baseline = net[:, self.samples :].expand_as(earned)
        else:
            baseline = (earned.sum(1, keepdim=True) - earned) / (self.samples - 1)
        rewarded = earned.flatten(), baseline.flatten(), log_prob
        loss = policy_loss(*rewarded) if self.log_prob else self_critical_loss(*rewarded, sampled.lengths)
        return loss, {
            "reward": rewards[:, : self.samples].mean(),
            **{name: of[:, : self.samples].mean() for name, of in zip(of_captions, details, strict=True)},
            **({"kl": penalty[:, : self.samples].mean()} if self.kl else {}),
            "baseline": baseline.mean(),
            "log_prob": log_prob.mean(),
            "caption_length": sampled.lengths.float().mean(),
            "distinct": len(set(samples)) / len(samples),
        }

    def earned(self, batch: ImageBatch, captions: Sequence[str]) -> list[float | None]:
        """Return the unscaled reward of each caption of a batch's images."""
        return [*self.reward(batch, captions)[0].tolist()]

    def _sample(self, model: Any, visual: torch.Tensor) -> tuple[Decoded, torch.Tensor]:
        """Return a caption of each row, and its log-probability (rows,) as the loss weighs it, with a gradient.

        The steps of a beam search have no gradient, so its captions are scored in a second pass.
        """
        if model.differentiable_steps and not self.log_prob and not self.search:
            sampled = decode_with_gradient(model, visual, self.sampling, self.tokenizer)
            return sampled, sampled.log_prob
        sampled = decode(model, visual, self.sampling, self.tokenizer)
        log_probs = model.log_probs(visual, sampled.tokens, sampled.mask)
        summed, ends = log_probs.sum(1), self.tokenizer.ends
        weighed = caption_log_probs(log_probs, sampled.tokens, ends, self.log_prob) if self.log_prob else summed
        return replace(sampled, log_prob=summed), weighed

    @torch.no_grad()
    def _divergence(self, decoded: Decoded, visual: torch.Tensor, copies: int) -> torch.Tensor:
        """Return the mean per token of the log-probability minus the parent's, (images, copies).

        Without a parent or with `kl` 0, the result is zeros.
        """
        if self.parent is None or not self.kl:
            return decoded.log_prob.new_zeros(len(visual), copies)
        rows = visual.repeat_interleave(copies, dim=0)
        parents = self.parent(rows, decoded.tokens, decoded.mask).sum(1)
        return ((decoded.log_prob - parents) / decoded.lengths).view(len(visual), copies)


def build(config: Mapping[str, Any], data: TrainingData) -> tuple[Objective, ImageBatches]:
    """Return the objective of a config block, and batches of images to caption.

    If `freeze_embeddings` is set, the token embeddings of the captioner are frozen.
    """
    settings = {name: value for name, value in config.items() if name not in ("kind", "reward", "bags", "decoding")}
    if "search" in config:
        settings |= {"search": read_decoding(config["search"]), "samples": 1}
    if settings.pop("freeze_embeddings"):
        freeze_token_embeddings(data.captioner, data.tokenizer.size)
    parent = frozen_parent(data.captioner) if config["kl"] else None
    decoding, reward = read_decoding(config["decoding"]), build_reward(config["reward"], data)
    objective = SelfCritical(data.tokenizer, decoding, reward, parent=parent, **settings)
    return objective, ImageBatches(data.visual, **data.order, bags=data.bags(config))
