"""Boxes as the networks read them: relative to the size of the image, with what each family adds.

Boxes are corners (left, top, right, bottom) in pixels, (N, R, 4); sizes are (width, height) in pixels, (N, 2).
"""

import torch
from torch import Tensor


def corners(boxes: Tensor, sizes: Tensor) -> Tensor:
    """LXMERT's four numbers, (N, R, 4): x1/W, y1/H, x2/W, y2/H."""
    return boxes / sizes.repeat(1, 2)[:, None]


def corners_area(boxes: Tensor, sizes: Tensor) -> Tensor:
    """The five numbers of ROSITA and ViLBERT, (N, R, 5): the corners and the share of the image's area."""
    return torch.cat([corners(boxes, sizes), _sides(boxes, sizes).prod(-1, keepdim=True)], dim=-1)


def corners_sides_area(boxes: Tensor, sizes: Tensor) -> Tensor:
    """UNITER's seven numbers, (N, R, 7): the corners, w/W, h/H and the product of these two."""
    sides = _sides(boxes, sizes)
    return torch.cat([corners(boxes, sizes), sides, sides.prod(-1, keepdim=True)], dim=-1)


def _sides(boxes: Tensor, sizes: Tensor) -> Tensor:
    return (boxes[..., 2:] - boxes[..., :2]) / sizes[:, None]
