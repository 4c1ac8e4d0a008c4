"""Encodings of images for probes: the mean of VinVL's last states (Cafagna et al. 2022, §7)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.jobs.progress import progress
from captionlab.regions.removal import Removal
from captionlab.regions.tagged_regions import TaggedRegions

BATCH = 64


@torch.no_grad()
def encode_scenes(captioner: Vinvl, visual: TaggedRegions) -> Tensor:
    """Return the mean (B, width) of the last states of the tags and regions that can be attended to.

    No caption changes these states.
    """
    ids = visual.tags.new_full((len(visual), 1), captioner.start_id)
    states, mask = captioner.states(visual, ids)[:, 1:], visual.mask[:, :, None]
    return (states * mask).sum(1) / mask.sum(1)


def encode_images(
    captioner: Vinvl,
    removal: Removal,
    classes: Mapping[str, str],
    diagnostic: Mapping[str, Sequence[str]],
    numbers: Sequence[int],
) -> dict[str, Any]:
    """Return the columns of a table of encodings.

    For each of the `numbers`, all images of `classes` are encoded without that number of diagnostic objects of their
    scene.
    """
    device = next(captioner.parameters()).device
    captioner.eval()
    images = list(classes)
    batches = [(number, images[start : start + BATCH]) for number in numbers for start in range(0, len(images), BATCH)]
    parts = []
    for number, part in progress(batches, what="batches", total=len(batches)):
        labels = [{*diagnostic.get(classes[image], ())[:number]} for image in part]
        parts.append(encode_scenes(captioner, removal.without(part, labels).to(device)).cpu().numpy())
    values = np.concatenate(parts).astype(np.float32)
    return {
        "image_id": images * len(numbers),
        "scene": [*classes.values()] * len(numbers),
        "objects": [number for number in numbers for _ in images],
        "encoding": pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1]),
    }
