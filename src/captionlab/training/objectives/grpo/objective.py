"""Group Relative Policy Optimization (Shao et al. 2024, DeepSeekMath, arXiv 2402.03300, section 4.1).

For an image, G captions o_i are drawn from the current captioner (old) and get rewards r_i. The objective to maximise
is

    1/G sum_i 1/|o_i| sum_t [ min(ratio_it A_i, clip(ratio_it, 1 - epsilon, 1 + epsilon) A_i) - beta KL_it ]   (eq. 3)

over the tokens t of caption i, with

    ratio_it = p(o_it) / p_old(o_it),   A_i = (r_i - mean(r)) / std(r),
    KL_it = p_parent(o_it) / p(o_it) - log(p_parent(o_it) / p(o_it)) - 1.                                      (eq. 4)

Each set of captions is used for a number of updates. If it is used for a single update, every ratio is 1 and the
gradient equals the gradient of REINFORCE with normalised rewards.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from captionlab.config.evaluations import Sample
from captionlab.generation.decoding import decode
from captionlab.jobs.processes import gathered
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.data import TrainingData
from captionlab.training.loop.trainer import Objective
from captionlab.training.parent import LogProbs, frozen_parent
from captionlab.training.rewards.reward import Reward, build_reward

# Added to the standard deviation of a group, as in TRL; the paper does not say how to handle a deviation of 0.
LEAST = 1e-4


def group_advantages(rewards: Tensor) -> Tensor:
    """Return the advantages of rewards (images, samples) within each image.

    An advantage is the reward minus the mean of its image, divided by the unbiased standard deviation of its image plus
    LEAST. Advantages are 0 if all samples of an image earn the same. They are computed in double precision, because
    rounding errors would be magnified.
    """
    exact = rewards.double()
    advantages = (exact - exact.mean(1, keepdim=True)) / (exact.std(1, keepdim=True) + LEAST)
    return advantages.to(rewards.dtype)


@dataclass(eq=False)
class Grpo(Objective):
    """GRPO with rewards of whole captions.

    The loss and the statistics are means over captions of means over their tokens. Dropout is always off: `p` and
    `p_old` belong to one captioner, so the ratio is 1 before the first update. An end token that `stop` forced does not
    count as a token of |o_i|, since the captioner did not choose it. The drawn captions and all quantities that do not
    change with the captioner are kept for the further updates with the same captions.
    """

    tokenizer: Tokenizer
    decoding: Sample
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
        self.sampling = self.decoding.model_copy(update={"samples": self.samples})
        stop = self.decoding.stop
        self.stops = torch.tensor([] if stop is None else self.tokenizer.stop_ids(stop), dtype=torch.long)
        # The draws for all images of a batch, with the captions of an image in consecutive rows; the batch's number.
        self.held: dict[str, Tensor] = {}
        self.number = -1

    def loss(self, model: Any, batch: ImageBatch) -> tuple[Tensor, dict[str, Any]]:
        """Return the loss of a batch, with gradient, and the statistics for the log.

        Statistics of rewards and captions are included only if the captions are drawn in this call.
        """
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
        """Keep the draws of the whole batch in each process, since only the first process writes checkpoints."""
        if self.drawn:
            width = self.decoding.max_tokens
            parts = {name: [_widened(part[name], width) for part in self.drawn] for name in self.drawn[0]}
            self.held = {name: gathered(torch.cat(of_parts)) for name, of_parts in parts.items()}
            self.number = self.seen
            self.drawn.clear()

    def earned(self, batch: ImageBatch, captions: Sequence[str]) -> list[float | None]:
        """Return the reward of each caption of a batch's images."""
        return [*self.reward(batch, captions)[0].tolist()]

    def _draw(self, model: Any, batch: ImageBatch) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Draw captions of a batch's images, and return them with their advantages, and the statistics for the log."""
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
        """Return the kept draws of an earlier update for the images of a batch."""
        rows = slice(batch.start * self.samples, (batch.start + len(batch.visual)) * self.samples)
        found = {name: values[rows].to(batch.images.device) for name, values in self.held.items()}
        width = int(found["lengths"].max())
        return {name: values[:, :width] if values.ndim == 2 else values for name, values in found.items()}

    def _chosen(self, tokens: Tensor, mask: Tensor) -> Tensor:
        """Return which tokens (N, T) of captions the captioner chose: all but an end that was forced."""
        forced = torch.isin(tokens[:, :-1], self.stops.to(tokens.device))
        return mask & ~pad(forced, (1, 0))

    def _gain(self, log_probs: Tensor, found: Mapping[str, Tensor], chosen: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the objective (N,) of captions from log-probabilities (N, T), and statistics (N,) for the log."""

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
    """Pad tokens (N, T) to (N, width) with zeros. Values (N,) are returned unchanged."""
    return pad(values, (0, width - values.shape[1])) if values.ndim == 2 else values


def build(config: Mapping[str, Any], data: TrainingData) -> tuple[Objective, ImageBatches]:
    """Return the objective of a config block, and batches of images, each used for several updates."""
    parent = frozen_parent(data.captioner) if config["kl"] else None
    settings = {name: config[name] for name in ("samples", "clip", "kl")}
    decoding, reward = Sample.model_validate(config["decoding"]), build_reward(config["reward"], data)
    objective = Grpo(data.tokenizer, decoding, reward, parent=parent, **settings)
    return objective, ImageBatches(data.visual, updates=config["updates"], **data.order)
