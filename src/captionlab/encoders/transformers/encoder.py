"""The image side of a model of the Hugging Face hub as encoder: the features of an image that its captioner reads.

The image side has all modules that only images go through (captionlab.networks.hub), including a projector, in float32.
"""

import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from captionlab.encoders.encoder import Encoder
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError

_PROCESSOR = "preprocessor_config.json"


class HubEncoder(Encoder):
    """A frozen image side. `config` has the model's own `config`, its image `processor` and the `shape` of features."""

    batch = 32

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """Return the image side that a config describes, with uninitialised weights."""
        return hub.build_image_side(config["config"])

    @cached_property
    def processor(self) -> Any:
        """Return the image processor, which preprocesses images."""
        from transformers import AutoImageProcessor

        with TemporaryDirectory() as folder:
            (Path(folder) / _PROCESSOR).write_text(self.config["processor"], encoding="utf-8")
            return AutoImageProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)

    @property
    def image_dimensions(self) -> int:
        """Return the size of a feature vector."""
        return int(self.config["shape"][1])

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Return the number of places, in the model's own order, and the size of the vector at each place."""
        places, size = self.config["shape"]
        return places, size

    def preprocess(self, image: Image.Image) -> Tensor:
        """Return an image as the model's processor returns it, (3, height, width) for most types."""
        pixels: Tensor = self.processor(images=image, return_tensors="pt")["pixel_values"][0]
        return pixels

    def embed_images(self, pixels: Tensor) -> Tensor:
        """Return the mean of the features over places (n, d), float32, of preprocessed images."""
        return self.embed_patches(pixels).mean(1)

    @torch.no_grad()
    def embed_patches(self, pixels: Tensor) -> Tensor:
        """Return the features of preprocessed images that the captioner reads: (n, places, d), float32.

        Raises ValueError if features are too large for half precision.
        """
        kind = hub.type_of(self.config["config"])
        features = torch.stack([*hub.image_features(self.model, kind, {"pixel_values": pixels.to(self.device)})])
        if not features.abs().max() < torch.finfo(torch.float16).max:
            raise ValueError(
                "features of an image are too large for a table, which is in half precision; leave out `encoder` of "
                "the captioner, and it reads pixels"
            )
        return features.float()


def import_weights(config: Mapping[str, Any], folder: str | os.PathLike[str]) -> HubEncoder:
    """Return the image side of a model in a folder of the Hugging Face hub.

    Raises CheckpointError if the folder cannot be read or the output of its image side cannot be stored as a table.
    """
    model, processor = hub.read_folder(folder, options=config.get("processor", {}))
    described = model.config.to_dict()
    if not hub.type_of(described).makes_table:
        raise CheckpointError(f"{folder} is a {described['model_type']}, of whose images {hub.NO_TABLE}")
    side = hub.build_image_side(described)
    side.load_state_dict({name: value for name, value in model.state_dict().items() if name in side.state_dict()})
    text = processor.image_processor.to_json_string()
    encoder = HubEncoder(side, {"config": described, "processor": text, "shape": [0, 0]})
    encoder.config["shape"] = [*encoder.embed_patches(encoder.preprocess(Image.new("RGB", (384, 256)))[None]).shape[1:]]
    return encoder


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return {}: a stored `config` implies no values for keys of a block in the config."""
    return {}


FAMILY = HubEncoder
