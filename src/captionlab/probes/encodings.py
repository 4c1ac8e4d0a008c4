"""What a probe reads of an image: the mean of VinVL's last states (Cafagna et al. 2022, §7)."""

import torch
from torch import Tensor

from captionlab.captioners.vinvl import Vinvl
from captionlab.features.tagged_regions import TaggedRegions


@torch.no_grad()
def encode_scenes(captioner: Vinvl, visual: TaggedRegions) -> Tensor:
    """The mean (B, width) of the last layer's states of the tags and regions that can be attended to.

    The caption is no part of it: the states of tags and regions do not depend on it.
    """
    ids = visual.tags.new_full((len(visual), 1), captioner.start_id)
    states, mask = captioner.states(visual, ids)[:, 1:], visual.mask[:, :, None]
    return (states * mask).sum(1) / mask.sum(1)
