"""Extract the attention of a captioner to images, as rows of tables; tags and regions do not attend to captions."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from captionlab.attention.schemas import ALL, RELATIONS
from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.config.evaluations import Decoding
from captionlab.generation.decoding import decode
from captionlab.jobs.progress import progress
from captionlab.networks.tokenizer import Tokenizer
from captionlab.regions.tagged_images import TaggedImages
from captionlab.regions.tagged_regions import TaggedRegions

Rows = list[dict[str, Any]]
BATCH = 32


def extract_attention(
    captioner: Vinvl,
    tokenizer: Tokenizer,
    images: TaggedImages,
    ids: Sequence[str],
    sample: Sequence[str],
    examples: Sequence[str],
    layer: int,
    decoding: Decoding,
) -> dict[str, Rows]:
    """Return rows of tables about the attention of a captioner to images.

    `received` has the attention to the tags of all images `ids` in `layer`. `blocks` has the relations between tags and
    regions in the images of `sample`, in `layer`. `shares` has the attention to special tokens in the images of
    `sample`, in all layers, with the captioner's own captions. `matrices` has the captions and the attention of the
    images of `examples`, in `layer`, a layer halfway up, and the last layer.
    """
    device = next(captioner.parameters()).device
    captioner.eval()
    found: dict[str, Rows] = {name: [] for name in ("blocks", "received", "shares", "matrices")}
    sampled, shown = {*sample}, {*examples}
    parts = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
    for part in progress(parts, what="batches", total=len(parts)):
        visual = images.rows(part).to(device)
        attention = image_attention(captioner, visual, layer).cpu().numpy()
        # For each position (B, S): the tag whose word piece it holds, or -1, and whether it holds a region.
        owners = np.pad(images.owners(part).numpy(), ((0, 0), (0, visual.regions.shape[1])), constant_values=-1)
        regions = np.pad(visual.region_mask.cpu().numpy(), ((0, 0), (visual.tags.shape[1], 0)))
        tags = owners >= 0
        for row, image in enumerate(part):
            labels = images.labels(image)
            values = received(attention[row], owners[row], tags[row] | regions[row], len(labels))
            found["received"] += [
                {"image_id": image, "tag_index": number, "label": label, "attention": float(value)}
                for number, (label, value) in enumerate(zip(labels, values, strict=True))
            ]
            if image in sampled:
                place = {"image_id": image, "layer": layer}
                found["blocks"] += [{**place, **block} for block in blocks(attention[row], tags[row], regions[row])]
        if kept := [row for row, image in enumerate(part) if image in sampled]:
            names, of_kept = [part[row] for row in kept], visual[torch.tensor(kept, device=device)]
            found["shares"] += _shares(captioner, tokenizer, of_kept, names, decoding)
        if kept := [row for row, image in enumerate(part) if image in shown]:
            names, of_kept = [part[row] for row in kept], visual[torch.tensor(kept, device=device)]
            found["matrices"] += _matrices(captioner, tokenizer, of_kept, names, layer, decoding)
    return found


def _matrices(
    captioner: Vinvl,
    tokenizer: Tokenizer,
    visual: TaggedRegions,
    images: Sequence[str],
    layer: int,
    decoding: Decoding,
) -> Rows:
    """Return the captions of images, and their attention without padding in three layers.

    The layers are `layer`, the layer halfway up and the last layer: 1, 6 and 12 in Figure 11.
    """
    depth, rows = captioner.architecture["layers"], []
    captions = tokenizer.decode(decode(captioner, visual, decoding, tokenizer).tokens.tolist())
    for number in sorted({layer, (depth + 1) // 2, depth}):
        attention = image_attention(captioner, visual, number).cpu().numpy()
        for row, (image, caption) in enumerate(zip(images, captions, strict=True)):
            kept = np.flatnonzero(visual.mask[row].cpu().numpy())
            pieces = map(tokenizer.tokenizer.id_to_token, visual.tags[row][visual.tag_mask[row]].tolist())
            positions = [*pieces, *map(str, range(int(visual.region_mask[row].sum())))]
            values = attention[row][np.ix_(kept, kept)].ravel().tolist()
            place = {"image_id": image, "layer": number, "caption": caption}
            rows.append({**place, "positions": positions, "attention": values})
    return rows


def _shares(
    captioner: Vinvl, tokenizer: Tokenizer, visual: TaggedRegions, images: Sequence[str], decoding: Decoding
) -> Rows:
    tokens = decode(captioner, visual, decoding, tokenizer).tokens
    starts, ends = (torch.full_like(tokens[:, :1], token) for token in (captioner.start_id, tokenizer.end))
    ids = torch.cat([starts, tokens, ends], dim=1)  # a caption of maximal length may have no end token
    rows = []
    for layer, kind, target, shares in special_shares(captioner, visual, ids, tokenizer.end):
        place = {"layer": layer, "attending": kind, "target": target}
        values = [None if np.isnan(share) else float(share) for share in shares]
        rows += [{"image_id": image, **place, "share": value} for image, value in zip(images, values, strict=True)]
    return rows


@torch.no_grad()
def image_attention(captioner: Vinvl, visual: TaggedRegions, layer: int) -> Tensor:
    """Return the attention (B, S, S), query by key, among tags and regions in a layer, from 1.

    It is the maximum over heads. Rows of padding are undefined. Raises ValueError for a layer that does not exist.
    """
    ids = visual.tags.new_full((len(visual), 1), captioner.start_id)
    return captioner.attention(visual, ids, layer)[:, :, 1:, 1:].amax(1)


def blocks(attention: np.ndarray, tags: np.ndarray, regions: np.ndarray) -> Rows:
    """Return the three relations of an image and all relations together, as rows of BLOCKS.

    `attention` is (S, S), query by key. `tags` and `regions` (S,) say which positions hold a word piece of a tag and
    which hold a region; padding and the end token are neither. A relation without values, as in an image without tags,
    is left out.
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
    """Return the attention that each of the `tags` of an image receives, (tags,).

    `attention` is (S, S), query by key. `owners` (S,) has the number of the tag whose word piece is at a position, or
    -1. `queries` (S,) says which positions count as queries. Attention is averaged over queries and summed over the
    word pieces of a tag.
    """
    inbound = attention[queries].mean(0)
    pieces = owners >= 0
    return np.bincount(owners[pieces], weights=inbound[pieces], minlength=tags)


@torch.no_grad()
def special_shares(
    captioner: Vinvl, visual: TaggedRegions, ids: Tensor, end: int
) -> Iterator[tuple[int, str, str, np.ndarray]]:
    """Yield the share of attention that each kind of positions gives to each special token (Figure 10).

    `ids` (B, T) are captions from [CLS] to [SEP], whose id is `end`, padded with 0. Each item is the layer, from 1, the
    kind of attending positions (caption, tags, regions, special), the special token, and shares (B,), means over
    positions and heads. A share is NaN if the image has no such position.
    """
    length = ids.shape[1]
    text = torch.arange(length, device=ids.device) <= (ids == end).int().argmax(1, keepdim=True)
    sequence = torch.cat([ids, visual.tags, visual.regions.new_full(visual.region_mask.shape, -1).long()], dim=1)
    valid = torch.cat([text, visual.mask], dim=1)
    starts, ends = valid & (sequence == captioner.start_id), valid & (sequence == end)
    targets, special = {"[CLS]": starts, "[SEP]": ends, "[PAD]": ~valid}, starts | ends
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
