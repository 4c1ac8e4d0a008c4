"""REINFORCE: captions of the captioner that earn more than the baseline become more likely."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from captionlab.config.evaluations import read_decoding
from captionlab.generation.decoding import decode
from captionlab.jobs.processes import gathered
from captionlab.training.loop.batches import ImageBatch, ImageBatches
from captionlab.training.loop.data import TrainingData
from captionlab.training.loop.trainer import Objective
from captionlab.training.objectives.baselines import Baseline, build_baseline
from captionlab.training.rewards.reward import Reward, build_reward


def policy_loss(reward: torch.Tensor, baseline: float | torch.Tensor, log_prob: torch.Tensor) -> torch.Tensor:
    """Return the mean of (baseline - reward) * log-probability over captions (B,).

    Minimising it raises the mean reward.
    """
    return ((baseline - reward) * log_prob).mean()


def through_end(tokens: torch.Tensor, ends: Sequence[int]) -> torch.Tensor:
    """Return which positions (B, T) belong to captions: through the first of the `ends`, else the whole row."""
    ended = torch.isin(tokens, torch.tensor(ends, device=tokens.device)).long()
    return ended.cumsum(1) == ended


def words_of(tokens: torch.Tensor, ends: Sequence[int]) -> torch.Tensor:
    """Return which positions (B, T) are before the first of the `ends`."""
    return torch.isin(tokens, torch.tensor(ends, device=tokens.device)).cumsum(1) == 0


def caption_log_probs(
    log_probs: torch.Tensor, tokens: torch.Tensor, ends: Sequence[int], reduction: str
) -> torch.Tensor:
    """Return the log-probabilities (B,) of captions from the log-probabilities of their tokens (B, T).

    Tokens after the first of the `ends` do not count. The `reduction` `sum` is the log-probability of the caption with
    its end, as in equation 1 of Dessì et al. (2023). `mean` is used by their training code: the end itself is not
    scored but counts in the length. The sum over n tokens and an end is divided by n + 1, and the sum over the T tokens
    of a caption without an end is divided by T. They finetune ClipCap with `mean`. They finetune BLIP and CaMEL with
    `mean-with-end`, the mean over all tokens, the end included. Raises ValueError for another reduction.
    """
    if reduction not in ("mean", "mean-with-end", "sum"):
        raise ValueError(f"objective.log_prob is {reduction!r}; it must be mean, mean-with-end or sum")
    through = through_end(tokens, ends)
    counted = words_of(tokens, ends) if reduction == "mean" else through
    summed = (log_probs * counted).sum(1)
    return summed if reduction == "sum" else summed / through.sum(1)


def freeze_token_embeddings(captioner: torch.nn.Module, vocabulary: int) -> None:
    """Exclude the table of token embeddings, and an output layer tied to it, from training.

    In the authors' code the optimizer got the table before a larger copy replaced it, so the table never changed.
    Raises ValueError if the captioner has no table of `vocabulary` token embeddings.
    """
    tables = [m for m in captioner.modules() if isinstance(m, torch.nn.Embedding) and m.num_embeddings == vocabulary]
    if not tables:
        raise ValueError(f"objective.freeze_embeddings: the captioner has no table of {vocabulary} token embeddings")
    for table in tables:
        table.requires_grad_(False)


@dataclass(eq=False)
class Reinforce(Objective):
    """Policy gradient of a reward of whole captions, as in Dessì et al. (2023, section 3).

    The captions are decoded without a gradient, and a second pass computes their log-probabilities. With `dropout`,
    dropout is active in both passes, with different units dropped, as in the authors' code. With greedy decoding,
    dropout is the only source of exploration.
    """

    generate: Callable[[Any, torch.Tensor], torch.Tensor]
    """a model's captions of visual features as token ids (B, T), with an end after each that is shorter than T"""
    decode: Callable[[torch.Tensor], list[str]]
    """turns them into text"""
    ends: tuple[int, ...]
    reward: Reward
    baseline: Baseline
    log_prob: str = "mean"
    """see caption_log_probs"""
    dropout: bool = True
    rewards: list[torch.Tensor] = field(default_factory=list)
    """of the parts of this batch so far"""
    kept = ("baseline",)

    def loss(self, model: Any, batch: ImageBatch) -> tuple[torch.Tensor, dict[str, Any]]:
        """Return the policy loss of a batch, with gradient, and the statistics for the log."""
        model.train(self.dropout)
        with torch.no_grad():
            tokens = self.generate(model, batch.visual)
        captions = self.decode(tokens)
        reward, statistics = self.reward(batch, captions)
        self.rewards.append(reward)
        log_probs = model.log_probs(batch.visual, tokens, through_end(tokens, self.ends))
        log_prob = caption_log_probs(log_probs, tokens, self.ends, self.log_prob)
        baseline = self.baseline.predict(batch)
        return policy_loss(reward, baseline, log_prob), {
            "reward": reward.mean(),
            **{name: values.mean() for name, values in statistics.items()},
            "baseline": torch.as_tensor(baseline).float().mean(),
            "log_prob": log_prob.mean(),
            "caption_length": words_of(tokens, self.ends).sum(1).float().mean(),
            "distinct": len(set(captions)) / len(captions),
        }

    def end_batch(self) -> None:
        """Pass the rewards of the whole batch to the baseline, which must not know them before."""
        self.baseline.update(gathered(torch.cat(self.rewards)))
        self.rewards.clear()

    def earned(self, batch: ImageBatch, captions: Sequence[str]) -> list[float | None]:
        """Return the reward of each caption of a batch's images."""
        return [*self.reward(batch, captions)[0].tolist()]


def build(config: Mapping[str, Any], data: TrainingData) -> tuple[Objective, ImageBatches]:
    """Return the objective of a config block, and batches of images to caption.

    If `freeze_embeddings` is set, the token embeddings of the captioner are frozen.
    """
    decoding, tokenizer = read_decoding(config["decoding"]), data.tokenizer
    settings = {**data.captioner.finetuned_as, **config}
    if settings["freeze_embeddings"]:
        freeze_token_embeddings(data.captioner, tokenizer.size)
    objective = Reinforce(
        generate=lambda model, visual: decode(model, visual, decoding, tokenizer).tokens,
        decode=lambda tokens: tokenizer.decode(tokens.tolist()),
        ends=tokenizer.ends,
        reward=build_reward(config["reward"], data),
        baseline=build_baseline(config),
        log_prob=settings["log_prob"],
        dropout=config["dropout"],
    )
    return objective, ImageBatches(data.visual, **data.order, bags=data.bags(config))
