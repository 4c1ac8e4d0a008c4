"""The image side of a model of the Hugging Face hub as encoder: the features of an image that its captioner reads.

The image side has all modules that only images go through (captionlab.networks.hub), including a projector, in float32.
"""

import os
from collections.abc import Callable, Iterable, Mapping
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

_NO_TABLE = (
    "of whose images no table of features can be made; leave the encoder out, and its captioner decodes the images"
)
_SIZES = ((384, 256), (256, 256))
_PROCESSOR = "preprocessor_config.json"


class ImageSide(Encoder):
    """A frozen image side.

    `config` has the model's own `config`, the names of the parameters of its `image_side` (captionlab.networks.hub),
    its image `processor` and the `shape` of features.
    """

    batch = 32

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """Return the image side that a config describes, with uninitialised weights."""
        model = hub.build(config["config"], random=False)
        hub.drop_parameters(model, _outside(config["image_side"]))
        return model

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
        features = torch.stack(
            [*hub.image_features(self.model, {"pixel_values": pixels.to(self.device)}).pooler_output]
        )
        if not features.abs().max() < torch.finfo(torch.float16).max:
            raise ValueError(
                "features of an image are too large for a table, which is in half precision; leave out `encoder` of "
                "the captioner, and it reads pixels"
            )
        return features.float()


def import_weights(config: Mapping[str, Any], folder: str | os.PathLike[str]) -> ImageSide:
    """Return the image side of a model in a folder of the Hugging Face hub.

    Raises CheckpointError if the folder cannot be read or the output of its image side cannot be stored as a table.
    """
    model, processor = hub.read_folder(folder, options=config.get("processor", {}))
    described = {"config": hub.described(model), "processor": processor.image_processor.to_json_string()}
    seen = [processor.image_processor(images=Image.new("RGB", size), return_tensors="pt") for size in _SIZES]
    try:
        side = hub.image_side(model, seen[0])  # before the encoder is frozen
        encoder = ImageSide(model, described)
        features = [encoder.embed_patches(inputs["pixel_values"]) for inputs in seen]
        whole = torch.stack([*hub.image_features(model, seen[0]).pooler_output])
    except (AttributeError, TypeError, IndexError, RuntimeError, KeyError) as error:
        raise CheckpointError(f"{folder} is a {model.config.model_type}, {_NO_TABLE} ({error!r})") from error
    alike = len({one.shape for one in features}) == 1 and len({one["pixel_values"].shape for one in seen}) == 1
    needs_more = not torch.equal(features[0], whole.float())  # masks or sizes of images, beside pixels
    if not alike or needs_more or features[0].ndim != 3 or not side or not hub.takes_features(model):
        raise CheckpointError(f"{folder} is a {model.config.model_type}, {_NO_TABLE}")
    hub.drop_parameters(model, _outside(side))
    encoder.config |= {"image_side": sorted(side), "shape": [*features[0].shape[1:]]}
    return encoder


def _outside(side: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a parameter is not of the image side `side`."""
    within = hub.is_of({*side})
    return lambda name: not within(name)


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return {}: a stored `config` implies no values for keys of a block in the config."""
    return {}


FAMILY = ImageSide
