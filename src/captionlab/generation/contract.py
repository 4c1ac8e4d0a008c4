"""How captions are decoded, and captions as tokens."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import torch
from torch import Tensor

KEYS = {
    "greedy": {"max_tokens", "stop", "rules"},
    "sample": {"max_tokens", "stop", "rules", "temperature", "samples"},
    "beam": {"max_tokens", "stop", "rules", "beams"},
}
RULES = ("transformers", "transformers-2022", "oscar", "camel")


@dataclass(frozen=True)
class Decoding:
    """How captions are decoded: an entry of `decodings` in the config."""

    kind: str  # greedy, sample or beam
    max_tokens: int  # longest caption in tokens, the end token included, a prefix or prompt not
    stop: str | None = None  # a token that contains this text is the last one
    rules: str = "transformers"  # one of RULES: whose beam search, and whose way to cut a caption
    beams: int = 5
    temperature: float = 1.0  # divides the logits before sampling
    samples: int = 1  # captions drawn for each image

    def __post_init__(self) -> None:
        if self.kind not in KEYS:
            raise ValueError(f"decoding.kind is {self.kind!r}; it must be {', '.join(KEYS)}")
        if self.rules not in RULES:
            raise ValueError(f"decoding.rules is {self.rules!r}; it must be one of {', '.join(RULES)}")
        if self.beams < 2:
            raise ValueError(f"decoding.beams is {self.beams}; beam search has at least 2, one beam is kind: greedy")
        for name in ("max_tokens", "samples", "temperature"):
            if getattr(self, name) <= 0:
                raise ValueError(f"decoding.{name} is {getattr(self, name)}; it must be more than 0")

    @classmethod
    def from_config(cls, block: Mapping[str, Any]) -> Self:
        """Read a config entry; ValueError for a key that its kind of decoding does not have."""
        known = KEYS.get(block.get("kind", ""), {field.name for field in fields(cls)})
        if unknown := sorted(set(block) - known - {"kind"}):
            raise ValueError(f"decoding.{unknown[0]}: {block.get('kind')} decoding has only {', '.join(sorted(known))}")
        if missing := [name for name in ("kind", "max_tokens") if name not in block]:
            raise ValueError(f"decoding.{missing[0]} is missing")
        return cls(**block)


@dataclass(frozen=True)
class Decoded:
    """Captions as tokens; N rows: one for each image, or `samples` consecutive ones."""

    tokens: Tensor  # (N, T) ids, filled up with the end token
    lengths: Tensor  # (N,) number of tokens, the end token included where there is one
    log_prob: Tensor
    """(N,) log-probability (nats) of these tokens under the captioner itself: no temperature, no forced end; where
    an end token took the place of the last token, that of the latter"""
    score: Tensor
    """(N,) what the search maximised, a forced end counting 0: for a beam, log-probability / length as its rules count
    it, by those of CaMEL log-probability; else `log_prob`"""

    @property
    def mask(self) -> Tensor:
        """(N, T) whether a position holds a token of the caption, the end token included."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.lengths[:, None]

    @property
    def confidence(self) -> Tensor:
        """(N,) geometric mean of the probabilities of the tokens."""
        return (self.log_prob / self.lengths).exp()
