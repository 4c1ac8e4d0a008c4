"""BLIP's vision tower as encoder: a ViT whose places, the class token's included, its text decoder reads.

The tower is transformers' BlipVisionModel, with the epsilon of salesforce/BLIP's own (models/vit.py): 1e-6. Images are
cropped as CLIP's are, as Dessì et al. 2023 did, while LAVIS squashes them to a square. Importing transformers takes
longer than torch, so it is imported when a tower is built.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor

from captionlab.encoders.images import crop, normalise
from captionlab.files import replacing

EPSILON = 1e-6
# Those of CLIP, which BLIP took over.
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


class BlipEncoder:
    """A frozen vision tower with its preprocessing. `sizes` has image_size, patch_size, width, layers, heads, inner."""

    batch = 64

    def __init__(self, model: Any, sizes: Mapping[str, int], device: str = "cpu"):
        self.model, self.sizes, self.device = model.to(device).requires_grad_(False).eval(), dict(sizes), device

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "cpu") -> Self:
        """The encoder that `save` wrote."""
        sizes = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))["sizes"]
        model = build(sizes)
        model.load_state_dict(load_file(Path(directory) / "model.safetensors"))
        return cls(model, sizes, device)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write config.json and model.safetensors."""
        with replacing(Path(directory) / "model.safetensors") as path:
            save_file({name: value.contiguous() for name, value in self.model.state_dict().items()}, path)
        with replacing(Path(directory) / "config.json") as path:
            text = json.dumps({"family": "blip", "sizes": self.sizes}, indent=2, sort_keys=True)
            path.write_text(text + "\n", encoding="utf-8")

    @property
    def image_dimensions(self) -> int:
        """Size of the class token's vector."""
        return self.sizes["width"]

    @property
    def grid_shape(self) -> tuple[int, int]:
        """Places, the class token among them, and the size of the vector of each."""
        return (self.sizes["image_size"] // self.sizes["patch_size"]) ** 2 + 1, self.sizes["width"]

    def preprocess(self, image: Image.Image) -> Tensor:
        """An image as bytes (3, image_size, image_size)."""
        return crop(image, self.sizes["image_size"])

    def embed_images(self, pixels: Tensor) -> Tensor:
        """The class token's vectors (n, width), float32, of preprocessed images."""
        return self.embed_grids(pixels)[:, 0]

    @torch.no_grad()
    def embed_grids(self, pixels: Tensor) -> Tensor:
        """The last layer, normalised, at every place: (n, places, width), float32, of preprocessed images, uint8."""
        images = normalise(pixels.to(self.device), MEAN, STD)
        with torch.autocast("cuda", torch.float16, enabled=images.is_cuda):
            states: Tensor = self.model(images).last_hidden_state
        return states.float()


def build(sizes: Mapping[str, int]) -> Any:
    """A vision tower with random weights."""
    from transformers import BlipVisionConfig, BlipVisionModel

    return BlipVisionModel(
        BlipVisionConfig(
            image_size=sizes["image_size"],
            patch_size=sizes["patch_size"],
            hidden_size=sizes["width"],
            num_hidden_layers=sizes["layers"],
            num_attention_heads=sizes["heads"],
            intermediate_size=sizes["inner"],
            layer_norm_eps=EPSILON,
        )
    )


FAMILY = BlipEncoder
