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
    """Rows of the tables BLOCKS, RECEIVED, SHARES and MATRICES of a captioner."""

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
    """Attention to the tags of the images `ids`; blocks and shares of special tokens of a `sample` of them; and the
    matrices of a few `examples` of these, also of a layer halfway up and of the last one.

    Special tokens need a caption: the captioner's own.
    """
    device = next(captioner.parameters()).device
    captioner.eval()
    found, sampled, shown = Extracted(), {*sample}, {*examples}
    parts = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
    for part in progress(parts, what="batches", total=len(parts)):
        visual = images.rows(part).to(device)
        attention = image_attention(captioner, visual, layer).cpu().numpy()
        # Of the positions (B, S): the tag whose word piece one holds, and whether it holds a region.
        owners = np.pad(images.owners(part).numpy(), ((0, 0), (0, visual.regions.shape[1])), constant_values=-1)
        regions = np.pad(visual.region_mask.cpu().numpy(), ((0, 0), (visual.tags.shape[1], 0)))
        tags = owners >= 0
        for row, image in enumerate(part):
            labels = images.labels(image)
            values = received(attention[row], owners[row], tags[row] | regions[row], len(labels))
            found.received += [
                {"image_id": image, "tag_index": number, "label": label, "attention": float(value)}
                for number, (label, value) in enumerate(zip(labels, values, strict=True))
            ]
            if image in sampled:
                place = {"image_id": image, "layer": layer}
                found.blocks += [{**place, **block} for block in blocks(attention[row], tags[row], regions[row])]
        if kept := [row for row, image in enumerate(part) if image in sampled]:
            names, of_kept = [part[row] for row in kept], visual[torch.tensor(kept, device=device)]
            found.shares += _shares(captioner, tokenizer, of_kept, names, decoding)
        if kept := [row for row, image in enumerate(part) if image in shown]:
            names, of_kept = [part[row] for row in kept], visual[torch.tensor(kept, device=device)]
            found.matrices += _matrices(captioner, tokenizer, of_kept, names, layer)
    return found


def _matrices(captioner: Vinvl, tokenizer: Tokenizer, visual: TaggedRegions, images: Sequence[str], layer: int) -> Rows:
    """The attention of images, without padding, in this layer, halfway up and in the last: 1, 6, 12 in Figure 11."""
    depth, rows = captioner.architecture["layers"], []
    for number in sorted({layer, (depth + 1) // 2, depth}):
        attention = image_attention(captioner, visual, number).cpu().numpy()
        for row, image in enumerate(images):
            kept = np.flatnonzero(visual.mask[row].cpu().numpy())
            pieces = map(tokenizer.tokenizer.id_to_token, visual.tags[row][visual.tag_mask[row]].tolist())
            positions = [*pieces, *map(str, range(int(visual.region_mask[row].sum())))]
            values = attention[row][np.ix_(kept, kept)].ravel().tolist()
            rows.append({"image_id": image, "layer": number, "positions": positions, "attention": values})
    return rows


def _shares(
    captioner: Vinvl, tokenizer: Tokenizer, visual: TaggedRegions, images: Sequence[str], decoding: Decoding
) -> Rows:
    tokens = decode(captioner, visual, decoding, tokenizer).tokens
    starts, ends = (torch.full_like(tokens[:, :1], token) for token in (captioner.start_id, tokenizer.end))
    ids = torch.cat([starts, tokens, ends], dim=1)  # a caption of greatest length may have no end of its own
    rows = []
    for layer, kind, target, shares in special_shares(captioner, visual, ids, tokenizer.end):
        place = {"layer": layer, "attending": kind, "target": target}
        values = [None if np.isnan(share) else float(share) for share in shares]
        rows += [{"image_id": image, **place, "share": value} for image, value in zip(images, values, strict=True)]
    return rows
