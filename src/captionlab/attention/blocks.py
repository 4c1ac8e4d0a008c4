"""The attention between tags and regions of an image, which no caption changes, and what special tokens draw of all."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from captionlab.captioners.vinvl import Vinvl
from captionlab.regions.tagged_regions import TaggedRegions

# Which positions attend to which ones: the sub-blocks that Cafagna et al. 2022 mark in Figure 3.
RELATIONS = {
    "vision-vision": ("regions", "regions"),
    "label-vision": ("tags", "regions"),
    "vision-label": ("regions", "tags"),
}
# All three together (Figure 4).
ALL = "all"
SPECIAL = ("[CLS]", "[SEP]", "[PAD]")


@torch.no_grad()
def image_attention(captioner: Vinvl, visual: TaggedRegions, layer: int) -> Tensor:
    """Attention (B, S, S) among tags and regions in a layer, from 1, the maximum over heads; padding means nothing."""
    ids = visual.tags.new_full((len(visual), 1), captioner.start_id)
    return captioner.attention(visual, ids, layer)[:, :, 1:, 1:].amax(1)


def blocks(attention: np.ndarray, tags: np.ndarray, regions: np.ndarray) -> list[dict[str, Any]]:
    """The three relations of an image and all of them together, as rows of BLOCKS.

    `attention` is (S, S), query by key; `tags` and `regions` (S,) say which positions hold a word piece of a tag, and
    which a region: padding and the end token are neither. An image without tags has no values in two of them, and a
    relation without values is left out.
    """
    places = {"tags": tags, "regions": regions}
    found = {name: attention[np.ix_(places[query], places[key])].ravel() for name, (query, key) in RELATIONS.items()}
    found[ALL] = np.concatenate(list(found.values()))
    return [
        {"relation": name, "deviation": float(values.std()), "mass": float(values.sum()), "values": values.size}
        for name, values in found.items()
        if values.size
    ]


def received(attention: np.ndarray, owners: np.ndarray, queries: np.ndarray, tags: int) -> np.ndarray:
    """How much attention each of the `tags` of an image receives, (tags,).

    `attention` is (S, S), query by key; `owners` (S,) has the number of the tag whose word piece a position holds, or
    -1; `queries` (S,) says which positions count as queries. The pieces of a tag add up, the queries are averaged.
    """
    inbound = attention[queries].mean(0)
    pieces = owners >= 0
    return np.bincount(owners[pieces], weights=inbound[pieces], minlength=tags)


@torch.no_grad()
def special_shares(
    captioner: Vinvl, visual: TaggedRegions, ids: Tensor, end: int
) -> Iterator[tuple[int, str, str, np.ndarray]]:
    """How much of their attention the positions of each kind give to special tokens (Figure 10).

    `ids` (B, T) are captions from [CLS] to [SEP], the id `end`, padded with 0. For each layer, from 1, each kind of
    positions that attend (caption, tags, regions, special) and each special token: shares (B,), means over positions
    and heads; NaN where an image has no such position.
    """
    length = ids.shape[1]
    text = torch.arange(length, device=ids.device) <= (ids == end).int().argmax(1, keepdim=True)
    sequence = torch.cat([ids, visual.tags, visual.regions.new_full(visual.region_mask.shape, -1).long()], dim=1)
    valid = torch.cat([text, visual.mask], dim=1)
    starts, ends = valid & (sequence == captioner.start_id), valid & (sequence == end)
    targets, special = dict(zip(SPECIAL, (starts, ends, ~valid), strict=True)), starts | ends
    position = torch.arange(sequence.shape[1], device=ids.device)
    tags_end = length + visual.tags.shape[1]
    kinds = {
        "caption": valid & ~special & (position < length),
        "tags": valid & ~special & (position >= length) & (position < tags_end),
        "regions": valid & (position >= tags_end),
        "special": special,
    }
    for layer, attention in enumerate(captioner.attentions(visual, ids), 1):
        mean = attention.mean(1)
        for target, keys in targets.items():
            drawn = (mean * keys[:, None]).sum(2)
            for kind, queries in kinds.items():
                share = (drawn * queries).sum(1) / queries.sum(1)
                yield layer, kind, target, share.cpu().numpy()
