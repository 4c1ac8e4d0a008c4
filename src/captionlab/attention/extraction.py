"""What a captioner attends to in many images, as rows of tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from captionlab.attention.blocks import blocks, image_attention, received, special_shares
from captionlab.captioners.vinvl import Vinvl
from captionlab.generation.contract import Decoding
from captionlab.generation.decoding import decode
from captionlab.networks.tokenizer import Tokenizer
from captionlab.progress import progress
from captionlab.regions.tagged_images import TaggedImages
from captionlab.regions.tagged_regions import TaggedRegions

Rows = list[dict[str, Any]]
BATCH = 32


@dataclass
class Extracted:
    """Rows of the tables of a captioner; `attention.schemas` says what they are."""

    blocks: Rows = field(default_factory=list)
    received: Rows = field(default_factory=list)
    shares: Rows = field(default_factory=list)
    matrices: Rows = field(default_factory=list)


def extract_attention(
    captioner: Vinvl,
    tokenizer: Tokenizer,
    images: TaggedImages,
    ids: Sequence[str],
    sample: Sequence[str],
    examples: Sequence[str],
    layer: int,
    decoding: Decoding,
) -> Extracted:
    """Attention to the tags of the images `ids`; blocks and shares of special tokens of those of a `sample`; and the
    matrices of a few `examples` of these, also of a layer halfway up and of the last one.

    Special tokens need a caption: the captioner's own.
    """
    device = next(captioner.parameters()).device
    captioner.eval()
    found, sampled, shown = Extracted(), {*sample}, {*examples}
    everything = list(dict.fromkeys([*ids, *sample]))
    parts = [everything[start : start + BATCH] for start in range(0, len(everything), BATCH)]
    for part in progress(parts, what="batches", total=len(parts)):
        visual = images.rows(part).to(device)
        attention = image_attention(captioner, visual, layer).cpu().numpy()
        owners = images.owners(part).numpy()
        for row, image in enumerate(part):
            tags, regions, of_tags = _places(visual, owners, row)
            found.received += _received(attention[row], images, image, of_tags, tags | regions)
            if image in sampled:
                place = {"image_id": image, "layer": layer}
                found.blocks += [{**place, **vars(block)} for block in blocks(attention[row], tags, regions)]
        if kept := [row for row, image in enumerate(part) if image in sampled]:
            names, of_kept = [part[row] for row in kept], visual[torch.tensor(kept, device=device)]
            found.shares += _shares(captioner, tokenizer, of_kept, names, decoding)
        if kept := [row for row, image in enumerate(part) if image in shown]:
            names, of_kept = [part[row] for row in kept], visual[torch.tensor(kept, device=device)]
            found.matrices += _matrices(captioner, tokenizer, of_kept, names, layer)
    return found


def _places(visual: TaggedRegions, owners: np.ndarray, row: int) -> tuple[np.ndarray, ...]:
    """Of the positions (S,) of an image: word pieces of tags, regions, and the tag that each piece is of."""
    regions = visual.region_mask[row].cpu().numpy()
    of_tags = np.concatenate([owners[row], np.full(len(regions), -1)])
    return of_tags >= 0, np.concatenate([np.zeros(visual.tags.shape[1], bool), regions]), of_tags


def _received(attention: np.ndarray, images: TaggedImages, image: str, owners: np.ndarray, valid: np.ndarray) -> Rows:
    labels = images.labels(image)
    values = received(attention, owners, valid, len(labels))
    return [
        {"image_id": image, "tag_index": number, "label": label, "attention": float(value)}
        for number, (label, value) in enumerate(zip(labels, values, strict=True))
    ]


def _matrices(captioner: Vinvl, tokenizer: Tokenizer, visual: TaggedRegions, images: Sequence[str], layer: int) -> Rows:
    """The attention of images in this layer, halfway up and in the last one: 1, 6 and 12 in Figure 11."""
    depth = captioner.architecture["layers"]
    return [
        _matrix(attention[row], visual, row, tokenizer, image, number)
        for number in sorted({layer, (depth + 1) // 2, depth})
        for attention in [image_attention(captioner, visual, number).cpu().numpy()]
        for row, image in enumerate(images)
    ]


def _matrix(
    attention: np.ndarray, visual: TaggedRegions, row: int, tokenizer: Tokenizer, image: str, layer: int
) -> dict[str, Any]:
    """The attention of an image without padding, and the names of its positions."""
    kept = np.flatnonzero(visual.mask[row].cpu().numpy())
    pieces = [tokenizer.tokenizer.id_to_token(piece) for piece in visual.tags[row][visual.tag_mask[row]].tolist()]
    names = [*pieces, *map(str, range(int(visual.region_mask[row].sum())))]
    values = attention[np.ix_(kept, kept)].ravel().tolist()
    return {"image_id": image, "layer": layer, "positions": names, "attention": values}


def _shares(
    captioner: Vinvl, tokenizer: Tokenizer, visual: TaggedRegions, images: Sequence[str], decoding: Decoding
) -> Rows:
    tokens = decode(captioner, visual, decoding, tokenizer).tokens
    starts, ends = (torch.full_like(tokens[:, :1], token) for token in (captioner.start_id, tokenizer.end))
    ids = torch.cat([starts, tokens, ends], dim=1)  # a caption of greatest length may have no end of its own
    return [
        {
            "image_id": image,
            "layer": layer,
            "attending": kind,
            "target": target,
            "share": None if np.isnan(share) else float(share),
        }
        for layer, kind, target, shares in special_shares(captioner, visual, ids, tokenizer.end)
        for image, share in zip(images, shares, strict=True)
    ]
