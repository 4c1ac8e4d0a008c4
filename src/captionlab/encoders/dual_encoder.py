"""What encoders with an image tower and a text tower share: they are stored with or without the image tower."""

from abc import abstractmethod
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self

from captionlab.encoders.encoder import Encoder


class DualEncoder(Encoder):
    """A frozen model of images and texts. `config` has its `architecture`, and what its preprocessing needs."""

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
        model = copy(self.model)
        model._modules = {name: module for name, module in self.model._modules.items() if name != self.image_tower}
        return type(self)(model, {**self.config, "image_tower": False, **notes}, self.device)
