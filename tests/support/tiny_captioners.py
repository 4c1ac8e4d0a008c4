"""A captioner of each family as small as it gets, and four images for it."""

from collections.abc import Callable
from typing import Any

import torch

from captionlab.captioners.blip.captioner import Blip
from captionlab.captioners.camel.captioner import Camel
from captionlab.captioners.clipcap.captioner import ClipCap
from captionlab.captioners.newfc.captioner import NewFC
from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.networks.tokenizer import Tokenizer
from captionlab.regions.tagged_regions import TaggedRegions

TOKENIZER = Tokenizer.train(["a red ball ."] * 5, 270)
SIZE, END = TOKENIZER.size, TOKENIZER.end


def tagged(rows: int = 4) -> TaggedRegions:
    """Images with three pieces of tags and two regions."""
    tags = torch.randint(4, SIZE, (rows, 3))
    there = torch.ones(rows, 3, dtype=torch.bool)
    return TaggedRegions(tags, there, torch.rand(rows, 2, 9), there[:, :2])


BUILT: dict[str, Callable[[], tuple[Any, Any]]] = {
    "clipcap": lambda: (ClipCap(6, 2, 8, 2, 2, 24, SIZE, 4), torch.randn(4, 6)),
    "blip": lambda: (Blip(6, SIZE, 8, 2, 2, 16, 24, prompt=[END], dropout=0.0), torch.randn(4, 5, 6)),
    "camel": lambda: (Camel(6, SIZE, 8, 1, 1, 1, 8, 2, True, END, head_size=8, dropout=0.0), torch.randn(4, 5, 6)),
    "newfc": lambda: (NewFC(6, width=6, input_width=5, vocabulary=SIZE, dropout=0.0), torch.randn(4, 6)),
    "vinvl": lambda: (
        Vinvl(SIZE, 40, 8, 2, 2, 16, 9, tag_position=20, start=1, mask=3, dropout=0.0),
        tagged(),
    ),
}
