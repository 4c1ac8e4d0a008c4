"""Decoded captions as tokens."""

from dataclasses import dataclass

import torch
from torch import Tensor


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
