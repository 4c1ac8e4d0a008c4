"""What every encoder offers: the contract of a family, with defaults for what not every family can.

A family is a module of this package: its FAMILY is a subclass of Encoder, its DECLARATION says what the graph must know
of it (captionlab.declarations.EncoderFamily), and its name is the name of the module. Its `import_weights` reads what
was published, and `stated` says which keys of a block would say what in a `config` that is stored.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from PIL import Image
from torch import Tensor

from captionlab.declarations import Member
from captionlab.networks.checkpoints import read_checkpoint, write_model


class Encoder(Member, ABC):
    """A frozen model that turns images, and perhaps texts, into vectors; its `config` is stored beside the weights."""

    batch: ClassVar[int] = 256
    """so many preprocessed images are embedded at once; 1 where they differ in size"""

    def __init__(self, model: Any, config: Mapping[str, Any], device: str = "cpu"):
        self.model = model.to(device).requires_grad_(False).eval()
        self.config, self.device = dict(config), device

    @classmethod
    @abstractmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """The model that this config describes."""

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "cpu") -> Self:
        """The encoder that `save` wrote."""
        config = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))
        model = cls.with_random_weights(config)
        model.load_state_dict(read_checkpoint(Path(directory) / "model.safetensors"))
        return cls(model, config, device)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write config.json and model.safetensors."""
        write_model(directory, {"family": self.family, **self.config}, self.model.state_dict())

    @property
    @abstractmethod
    def image_dimensions(self) -> int:
        """Size of an embedding of an image."""

    @abstractmethod
    def preprocess(self, image: Image.Image) -> Tensor:
        """An RGB image as bytes (3, height, width)."""

    @abstractmethod
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Embeddings (n, d), float32, not normalised, of preprocessed images (n, 3, height, width), uint8."""

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Places of an image, and the size of the vector of each."""
        raise NotImplementedError(f"a {self.family} gives no patch features")

    def embed_patches(self, pixels: Tensor) -> Tensor:
        """Patch features (n, places, d), float32, of preprocessed images: a vector for each place, row by row."""
        raise NotImplementedError(f"a {self.family} gives no patch features")

    @property
    def logit_scale(self) -> float:
        """The learned factor between cosine and logit."""
        raise NotImplementedError(f"a {self.family} embeds no texts")

    def embed_texts(self, captions: Sequence[str], batch: int = 256) -> Tensor:
        """Text embeddings (n, d), float32, not normalised, in the order of the captions; each distinct one once."""
        raise NotImplementedError(f"a {self.family} embeds no texts")

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """How many tokens of each caption `embed_texts` does not read, because the caption is too long."""
        raise NotImplementedError(f"a {self.family} embeds no texts")

    def text_tower(self, notes: Mapping[str, Any]) -> Self:
        """The same encoder for texts alone, of which images can no longer be embedded; `notes` join its config."""
        raise NotImplementedError(f"a {self.family} embeds no texts")


class DualEncoder(Encoder):
    """A frozen model of images and texts; `config` has its `architecture` and what its preprocessing needs."""

    image_tower: ClassVar[str]
    """name of the module that only images need"""

    @staticmethod
    @abstractmethod
    def build(architecture: Mapping[str, Any]) -> Any:
        """A model of that architecture, with both towers and random weights."""

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """The model that this config describes, perhaps without its image tower."""
        model = cls.build(config["architecture"])
        if not config.get("image_tower", True):
            delattr(model, cls.image_tower)
        return model

    @property
    def logit_scale(self) -> float:
        """The learned factor between cosine and logit."""
        return float(self.model.logit_scale.exp())

    def text_tower(self, notes: Mapping[str, Any]) -> Self:
        """The same encoder for texts alone, of which images can no longer be embedded; `notes` join its config."""
        config = {**self.config, "image_tower": False, **notes}
        model, tower = self.with_random_weights(config), f"{self.image_tower}."
        model.load_state_dict({n: value for n, value in self.model.state_dict().items() if not n.startswith(tower)})
        return type(self)(model, config, self.device)
