"""Group Relative Policy Optimization (Shao et al. 2024, DeepSeekMath, arXiv 2402.03300, section 4.1).

For an image, G captions o_i are drawn from the captioner as it is then (old) and get rewards r_i. To be maximised is

    1/G sum_i 1/|o_i| sum_t [ min(ratio_it A_i, clip(ratio_it, 1 - epsilon, 1 + epsilon) A_i) - beta KL_it ]   (eq. 3)

over the tokens t of caption i, with

    ratio_it = p(o_it) / p_old(o_it),   A_i = (r_i - mean(r)) / std(r),
    KL_it = p_parent(o_it) / p(o_it) - log(p_parent(o_it) / p(o_it)) - 1,                                      (eq. 4)

by as many updates as one set of captions is used for. Where there is one, every ratio is 1 and the gradient is that of
REINFORCE with normalised rewards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from captionlab.distributed import gathered
from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.data import TrainingData
from captionlab.training.loop.trainer import Objective
from captionlab.training.parent import LogProbs, frozen_parent
from captionlab.training.rewards.reward import Reward, build_reward

# Added to the standard deviation of a group, as in TRL; the paper does not say what becomes of one that is 0.
LEAST = 1e-4


def group_advantages(rewards: Tensor) -> Tensor:
    """Rewards (images, samples) less the mean of their image, by the (unbiased) standard deviation there plus LEAST.

    They are 0 where all samples of an image earn the same: in double precision, as rounding would be magnified.
    """
    exact = rewards.double()
    advantages = (exact - exact.mean(1, keepdim=True)) / (exact.std(1, keepdim=True) + LEAST)
    return advantages.to(rewards.dtype)


@dataclass(eq=False)
class Grpo(Objective):
    """GRPO with rewards of whole captions. Loss and statistics are means over captions of means over their tokens.

    Dropout is off throughout: `p` and `p_old` are of one captioner, whose ratio is 1 before its first update, and not
    of two that miss different units. An end that `stop` forced is no token of |o_i|, since the captioner did not choose
    it. What is drawn, and all that does not change with the captioner, is kept for the further updates of the set.
    """

    tokenizer: Tokenizer
    decoding: Decoding
    """a plain sample: with a temperature, or tokens left out, captions would not be drawn from `p_old`"""
    reward: Reward
    samples: int = 8
    """captions drawn of each image"""
    clip: float = 0.2
    """epsilon"""
    kl: float = 0.04
    """beta"""
    parent: LogProbs | None = None
    """log-probabilities under the parent (captionlab.training.parent)"""
    drawn: list[dict[str, Tensor]] = field(default_factory=list)
    """of the parts of this batch so far, where it is new"""
    seen: int = -1
    """the number of the batch that is worked on"""
    kept = ("held", "number")

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise ValueError(f"objective.samples is {self.samples}; advantages are among at least 2 captions")
        if self.kl and self.parent is None:
            raise ValueError("objective.kl needs a parent to stay close to")
        self.sampling = replace(self.decoding, samples=self.samples)
        stop = self.decoding.stop
        self.stops = torch.tensor([] if stop is None else self.tokenizer.stop_ids(stop), dtype=torch.long)
        # What was drawn for all images of a batch, captions of an image in consecutive rows, and the batch's number.
        self.held: dict[str, Tensor] = {}
        self.number = -1

    def loss(self, model: Any, batch: ImageBatch) -> tuple[Tensor, dict[str, Any]]:
        """The loss of a batch with its gradient, and what to log: of rewards and captions when they are drawn."""
        model.eval()
        self.seen = batch.step
        visual = batch.visual.repeat_interleave(self.samples, dim=0)
        new = batch.step != self.number
        found, statistics = self._draw(model, batch) if new else (self._drawn_before(batch), {})
        tokens = found["tokens"]
        mask = torch.arange(tokens.shape[1], device=tokens.device) < found["lengths"][:, None]
        log_probs = model.log_probs(visual, tokens, mask)
        if new:
            found["old"] = log_probs.detach()
            if self.parent is not None and self.kl:
                found["parent"] = self.parent(visual, tokens, mask)
            self.drawn.append(found)
        gain, details = self._gain(log_probs, found, self._chosen(tokens, mask))
        return -gain.mean(), {**statistics, **{name: values.mean() for name, values in details.items()}}

    def end_batch(self) -> None:
        """Keep what was drawn for the whole batch: in each process, as the first one alone writes checkpoints."""
        if self.drawn:
            width = self.decoding.max_tokens
            parts = {name: [_widened(part[name], width) for part in self.drawn] for name in self.drawn[0]}
            self.held = {name: gathered(torch.cat(of_parts)) for name, of_parts in parts.items()}
            self.number = self.seen
            self.drawn.clear()

    def earned(self, batch: ImageBatch, captions: Sequence[str]) -> list[float | None]:
        """The reward of each of these captions of a batch's images."""
        return [*self.reward(batch, captions)[0].tolist()]

    def _draw(self, model: Any, batch: ImageBatch) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Captions of a batch's images with their advantages, and what to log of them."""
        decoded = decode(model, batch.visual, self.sampling, self.tokenizer)
        captions = self.tokenizer.decode(decoded.tokens.tolist())
        reward, of_captions = self.reward(replace(batch, captions=self.samples), captions)
        advantages = group_advantages(reward.view(-1, self.samples))
        return {"tokens": decoded.tokens, "lengths": decoded.lengths, "advantages": advantages.flatten()}, {
            "reward": reward.mean(),
            **{name: values.mean() for name, values in of_captions.items()},
            "advantage_deviation": advantages.std(1).mean(),
            "caption_length": decoded.lengths.float().mean(),
            "distinct": len(set(captions)) / len(captions),
        }

    def _drawn_before(self, batch: ImageBatch) -> dict[str, Tensor]:
        """The same of an earlier update, and what was computed of it then."""
        rows = slice(batch.start * self.samples, (batch.start + len(batch.visual)) * self.samples)
        found = {name: values[rows].to(batch.images.device) for name, values in self.held.items()}
        width = int(found["lengths"].max())
        return {name: values[:, :width] if values.ndim == 2 else values for name, values in found.items()}

    def _chosen(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """(N, T) the tokens of a caption, but for an end that was forced."""
        forced = torch.isin(tokens[:, :-1], self.stops.to(tokens.device))
        return mask & ~pad(forced, (1, 0))

    def _gain(self, log_probs: Tensor, found: Mapping[str, Tensor], chosen: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """What is maximised, by caption (N,), of log-probabilities (N, T), and what to log of each caption (N,)."""

        def of_captions(values: Tensor) -> Tensor:
            return (values * chosen).sum(1) / chosen.sum(1)

        advantages = found["advantages"][:, None]
        ratio = ((log_probs - found["old"]) * chosen).exp()
        clipped = ratio.clamp(1 - self.clip, 1 + self.clip) * advantages
        gain = of_captions(torch.minimum(ratio * advantages, clipped))
        details = {
            "clipped": of_captions((clipped < ratio * advantages).float()),
            "log_prob": of_captions(log_probs.detach()),
        }
        if "parent" in found:
            more = (found["parent"] - log_probs) * chosen
            divergence = of_captions(more.exp() - more - 1)
            gain, details["kl"] = gain - self.kl * divergence, divergence.detach()
        return gain, details


def _widened(values: Tensor, width: int) -> Tensor:
    """Of tokens (N, T) the same as (N, width), with zeros; of captions (N,) the same."""
    return pad(values, (0, width - values.shape[1])) if values.ndim == 2 else values


def build(config: Mapping[str, Any], data: TrainingData) -> tuple[Objective, ImageBatches]:
    """The objective of a config block, and the images to be captioned, each batch of them for several updates."""
    parent = frozen_parent(data.captioner) if config["kl"] else None
    settings = {name: config[name] for name in ("samples", "clip", "kl")}
    decoding, reward = Decoding.from_config(config["decoding"]), build_reward(config["reward"], data)
    objective = Grpo(data.tokenizer, decoding, reward, parent=parent, **settings)
    return objective, ImageBatches(data.visual, updates=config["updates"], **data.order)
