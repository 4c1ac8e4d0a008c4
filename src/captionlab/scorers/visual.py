"""What a scorer keeps of images: states that do not depend on any caption, computed once per image."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def padding_mask(lengths: Sequence[int], longest: int, device: torch.device) -> Tensor | None:
    """Which positions (B, longest) hold something, for rows of these lengths; None when none is padding."""
    if min(lengths) == longest:
        return None
    return torch.arange(longest, device=device) < torch.tensor(lengths, device=device)[:, None]


@dataclass(frozen=True)
class Visual:
    """Images as a scorer has read them."""

    states: Tensor
    """(N, R, width), padded at the end of each row"""
    counts: Sequence[int]
    """the number of positions of each image that are no padding, N numbers"""

    @property
    def mask(self) -> Tensor | None:
        """Which positions (N, R) are no padding; None when none is."""
        return padding_mask(self.counts, self.states.shape[1], self.states.device)

    def select(self, rows: Sequence[int]) -> "Visual":
        """The images at these rows, which may be repeated or left out, with no more padding than they need."""
        counts = [self.counts[row] for row in rows]
        index = torch.tensor(rows, device=self.states.device)
        return Visual(self.states[:, : max(counts)].index_select(0, index), counts)
