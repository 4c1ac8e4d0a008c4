"""A tiny VinVL with images to read, for tests of what is done with one."""

from pathlib import Path

import numpy as np
import torch

from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import pieces_tokenizer
from captionlab.regions.tables import ImageRegions, write_regions
from captionlab.regions.tagged_images import TaggedImages
from captionlab.regions.tags import write_tags

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["boat", "sky", "car", "road", "wine", "glass", "a", "sea", "the", "in", "man", "on", "two", "red"]
# The tags of each image, with their boxes; regions have the same boxes, and one that is the whole image.
OBJECTS = {
    "1": [("boat", [0, 0, 4, 4]), ("sky", [0, 5, 10, 8])],
    "2": [("car", [1, 1, 5, 5]), ("wine glass", [6, 6, 8, 9]), ("boat", [2, 6, 5, 9])],
    "3": [],
    "4": [("sky", [0, 0, 9, 3]), ("boat", [3, 3, 6, 6]), ("boat", [6, 6, 9, 9])],
}


def tokenizer() -> Tokenizer:
    return pieces_tokenizer([*SPECIAL, *WORDS])


def captioner(seed: int = 0) -> Vinvl:
    """With random weights that make captions of different lengths."""
    tiny = Vinvl(len(SPECIAL) + len(WORDS), 40, 16, 2, 4, 20, 9, tag_position=12, start=2, mask=4).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in tiny.named_parameters():
            norm = name.endswith("LayerNorm.weight")
            std = 1.2 if ".attention." in name and parameter.ndim == 2 else 0.4
            parameter.copy_(norm + std * torch.randn(parameter.shape, generator=generator))
        tiny.cls.predictions.bias[3] += 2.0
    return tiny


def images(folder: Path) -> TaggedImages:
    """The four images above, whose tables are written to a folder."""
    generator = np.random.default_rng(0)
    regions, tags = [], []
    for image, found in OBJECTS.items():
        boxes = np.array([[0, 0, 10, 10], *(box for _, box in found)], np.float32)
        features = generator.normal(size=(len(boxes), 3)).astype(np.float32)
        regions.append(ImageRegions(image, width=10, height=10, boxes=boxes, features=features))
        for index, (label, box) in enumerate(found):
            place = dict(zip(("x1", "y1", "x2", "y2"), map(float, box), strict=True))
            tags.append({"image_id": image, "tag_index": index, "label": label, "confidence": None, **place})
    write_regions(folder / "regions.parquet", regions)
    write_tags(folder / "tags.parquet", tags)
    return TaggedImages([folder / "regions.parquet", folder / "tags.parquet"], tokenizer(), region_size=9)
