"""Settings of decoding, and decoded captions as tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor

_ANY = {"max_tokens", "stop", "rules", "repetition_penalty"}
KEYS = {
    "greedy": _ANY,
    "sample": _ANY | {"temperature", "top_k", "top_p", "samples"},
    "beam": _ANY | {"beams", "length_penalty"},
}
RULES = ("transformers", "transformers-2022", "oscar", "camel")


@dataclass(frozen=True)
class Decoding:
    """Settings of decoding: an entry of `decodings` in the config."""

    kind: str  # greedy, sample or beam
    max_tokens: int  # most tokens of a caption, the end token included, a prefix or prompt excluded
    stop: str | None = None  # a token whose text contains this text is the last token
    rules: str = "transformers"  # one of RULES: whose beam search and whose cut of captions is followed
    beams: int = 5
    length_penalty: float = 1.0
    """exponent of the length by which a beam's log-probability is divided, by the rules of transformers"""
    temperature: float = 1.0  # divides the logits before sampling
    top_k: int | None = None
    """number of most probable tokens that a sample is drawn from; tokens as probable as the last are included"""
    top_p: float | None = None
    """a sample is drawn from the fewest most probable tokens whose probability, after temperature and top_k, is at
    least this"""
    samples: int = 1  # captions drawn for each image
    repetition_penalty: float = 1.0
    """the score of a token that the caption already contains is divided by this, or multiplied if it is negative; the
    score is the logit, or in beam search the log-probability; a prefix or prompt is not part of the caption"""

    def __post_init__(self) -> None:
        if self.kind not in KEYS:
            raise ValueError(f"decoding.kind is {self.kind!r}; it must be {', '.join(KEYS)}")
        if self.rules not in RULES:
            raise ValueError(f"decoding.rules is {self.rules!r}; it must be one of {', '.join(RULES)}")
        if self.beams < 2:
            raise ValueError(f"decoding.beams is {self.beams}; beam search has at least 2, one beam is kind: greedy")
        for name in ("max_tokens", "samples", "temperature", "top_k", "top_p", "repetition_penalty"):
            if (value := getattr(self, name)) is not None and value <= 0:
                raise ValueError(f"decoding.{name} is {value}; it must be more than 0")
        if self.top_p is not None and self.top_p > 1:
            raise ValueError(f"decoding.top_p is {self.top_p}; it must be at most 1")
        if self.kind == "beam":
            self._check_penalties()

    def _check_penalties(self) -> None:
        """Raise ValueError for a penalty that the rules of a beam search do not support."""
        if self.length_penalty != 1 and self.rules != "transformers":
            raise ValueError(f"decoding.length_penalty is for the rules transformers, not for {self.rules}")
        if self.repetition_penalty != 1 and self.rules in ("oscar", "camel"):
            raise ValueError(f"decoding.repetition_penalty is nothing that a beam search by the rules {self.rules} has")

    @classmethod
    def from_config(cls, block: Mapping[str, Any]) -> Self:
        """Read an entry of the config.

        Raises ValueError for keys that this kind of decoding does not have, or that are missing.
        """
        known = KEYS.get(block.get("kind", ""), {field.name for field in fields(cls)})
        if unknown := sorted(set(block) - known - {"kind"}):
            raise ValueError(f"decoding.{unknown[0]}: {block.get('kind')} decoding has only {', '.join(sorted(known))}")
        if missing := [name for name in ("kind", "max_tokens") if name not in block]:
            raise ValueError(f"decoding.{missing[0]} is missing")
        return cls(**block)


@dataclass(frozen=True)
class Decoded:
    """Decoded captions as tokens: N rows, one for each image, or `samples` consecutive rows for each image."""

    tokens: Tensor  # (N, T) ids, padded with the end token
    lengths: Tensor  # (N,) number of tokens, the end token included if there is one
    log_prob: Tensor
    """(N,) log-probability (nats) of the tokens under the captioner itself, without temperature, penalties, excluded
    tokens and forced end tokens; where an end token replaced the last token, the log-probability of the last token
    counts"""
    score: Tensor
    """(N,) what the search maximised, where a forced end token counts 0. For a beam: the log-probability, with its
    repetition penalty, / length by the rules, to the power of the length penalty. By the rules of CaMEL: the log-
    probability. Otherwise: `log_prob`"""

    @property
    def mask(self) -> Tensor:
        """Return whether each position holds a token of the caption, the end token included, as bool (N, T)."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.lengths[:, None]

    @property
    def confidence(self) -> Tensor:
        """Return the geometric mean of the probabilities of the tokens, (N,)."""
        return (self.log_prob / self.lengths).exp()
