"""Encoder: the interface of all families of encoders, with defaults for methods that not every family has.

A family is a folder of this package and has the name of the folder. In `encoder.py`, FAMILY is a subclass of Encoder.
`config.py` has the keys of the family, and FACTS (captionlab.config.encoders.EncoderFacts), which the workflow reads
without importing the network.
`import_weights` reads published weights. `stated` returns the values that a stored `config` implies for keys of a
block.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from PIL import Image
from torch import Tensor

from captionlab.networks.checkpoints import read_checkpoint, write_model
from captionlab.plugins import Member


class Encoder(Member, ABC):
    """A frozen model that turns images, and possibly texts, into vectors. `config` is stored beside the weights."""

    batch: ClassVar[int] = 256
    """number of preprocessed images that are embedded at once; 1 if they differ in size"""

    def __init__(self, model: Any, config: Mapping[str, Any], device: str = "cpu"):
        self.model = model.to(device).requires_grad_(False).eval()
        self.config, self.device = dict(config), device

    @classmethod
    @abstractmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """Return the model that a config describes, with random weights."""

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "cpu") -> Self:
        """Return the encoder that `save` wrote into a folder."""
        config = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))
        model = cls.with_random_weights(config)
        model.load_state_dict(read_checkpoint(Path(directory) / "model.safetensors"))
        return cls(model, config, device)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write config.json and model.safetensors into a folder."""
        write_model(directory, {"family": self.family, **self.config}, self.model.state_dict())

    @property
    @abstractmethod
    def image_dimensions(self) -> int:
        """Return the size of the embedding of an image."""

    @abstractmethod
    def preprocess(self, image: Image.Image) -> Tensor:
        """Return an RGB image as a tensor, preprocessed for `embed_images`.

        It is uint8 (3, height, width), except for families whose images are preprocessed by the model's own processor.
        """

    @abstractmethod
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Return embeddings (n, d), float32, not normalised, of n preprocessed images."""

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Return the number of places of an image, and the size of the vector at each place.

        Raises NotImplementedError for a family without patch features.
        """
        raise NotImplementedError(f"a {self.family} gives no patch features")

    def embed_patches(self, pixels: Tensor) -> Tensor:
        """Return the patch features (n, places, d), float32, of preprocessed images, with the places row by row.

        Raises NotImplementedError for a family without patch features.
        """
        raise NotImplementedError(f"a {self.family} gives no patch features")

    @property
    def logit_scale(self) -> float:
        """Return the learned factor between cosine and logit.

        Raises NotImplementedError for a family that embeds no texts.
        """
        raise NotImplementedError(f"a {self.family} embeds no texts")

    def embed_texts(self, captions: Sequence[str], batch: int = 256) -> Tensor:
        """Return the embeddings (n, d), float32, not normalised, of captions, in their order.

        Equal captions are embedded once. Raises NotImplementedError for a family that embeds no texts.
        """
        raise NotImplementedError(f"a {self.family} embeds no texts")

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """Return for each caption the number of tokens that `embed_texts` ignores, because the caption is too long.

        Raises NotImplementedError for a family that embeds no texts.
        """
        raise NotImplementedError(f"a {self.family} embeds no texts")

    def text_tower(self, notes: Mapping[str, Any]) -> Self:
        """Return the encoder without its image tower, which can only embed texts. `notes` are added to its config.

        Raises NotImplementedError for a family that embeds no texts.
        """
        raise NotImplementedError(f"a {self.family} embeds no texts")


class DualEncoder(Encoder):
    """A frozen model of images and texts. `config` has its `architecture` and the settings of its preprocessing."""

    image_tower: ClassVar[str]
    """name of the module that only images need"""

    @staticmethod
    @abstractmethod
    def build(architecture: Mapping[str, Any]) -> Any:
        """Return a model of an architecture with both towers and random weights."""

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """Return the model that a config describes, with random weights. The config may exclude the image tower."""
        model = cls.build(config["architecture"])
        if not config.get("image_tower", True):
            delattr(model, cls.image_tower)
        return model

    @property
    def logit_scale(self) -> float:
        """Return the learned factor between cosine and logit."""
        return float(self.model.logit_scale.exp())

    def text_tower(self, notes: Mapping[str, Any]) -> Self:
        """Return the encoder without its image tower, which can only embed texts. `notes` are added to its config."""
        config = {**self.config, "image_tower": False, **notes}
        model, tower = self.with_random_weights(config), f"{self.image_tower}."
        model.load_state_dict({n: value for n, value in self.model.state_dict().items() if not n.startswith(tower)})
        return type(self)(model, config, self.device)
