"""Match regions with tagged objects by the boxes of two detectors (Cafagna et al. 2022, §6.1)."""

from dataclasses import dataclass

import numpy as np

# The paper's thresholds: intersection over union, and the share of a region's area that is inside the object's box.
OVERLAP, INSIDE = 0.6, 0.8


@dataclass(frozen=True)
class Match:
    """Match of the R regions and T tags of an image: arrays of shape (R, T)."""

    overlap: np.ndarray  # intersection over union
    inside: np.ndarray  # share of the region's area inside the box of the tag
    tagged: np.ndarray  # whether the region gets the tag; it may get several


def match_regions(regions: np.ndarray, tags: np.ndarray, overlap: float = OVERLAP, inside: float = INSIDE) -> Match:
    """Assign tags with boxes (T, 4) to regions with boxes (R, 4), corners in pixels.

    A region gets a tag if their intersection over union is at least `overlap`, or if at least the share `inside` of the
    region's area is inside the tag's box.
    """
    corners = np.maximum(regions[:, None, :2], tags[None, :, :2]), np.minimum(regions[:, None, 2:], tags[None, :, 2:])
    shared = np.clip(corners[1] - corners[0], 0, None).prod(2)
    of_regions, of_tags = (np.clip(boxes[:, 2:] - boxes[:, :2], 0, None).prod(1) for boxes in (regions, tags))
    union = of_regions[:, None] + of_tags - shared
    # A box without area overlaps nothing.
    ratio, share = (
        np.divide(shared, whole, out=np.zeros_like(shared), where=whole > 0)
        for whole in (union, np.broadcast_to(of_regions[:, None], shared.shape))
    )
    return Match(ratio, share, (ratio >= overlap) | (share >= inside))
