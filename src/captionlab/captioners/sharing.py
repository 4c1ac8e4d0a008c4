"""Rows of a state that share what was computed once for their image."""

import torch
from torch import Tensor


def images_kept(rows: int, images: int, index: Tensor) -> Tensor | None:
    """The images that the rows `index` (N,) need, each for an equal share of consecutive rows; None for no change.

    Before, `images` had an equal share of `rows` consecutive rows each. Where the new rows cannot be shared equally,
    there is an image for each row.
    """
    of_rows = torch.arange(images, device=index.device).repeat_interleave(rows // images)[index]
    kept, counts = of_rows.unique_consecutive(return_counts=True)
    if (counts != counts[0]).any():
        kept = of_rows
    if len(kept) == images and bool((kept == torch.arange(images, device=index.device)).all()):
        return None
    return kept
