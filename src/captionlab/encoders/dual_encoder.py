"""What encoders with an image tower and a text tower share: frozen, in one folder, with or without the image tower."""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Self

from safetensors.torch import load_file, save_file

from captionlab.files import replacing


class TwoTowers(ABC):
    """A frozen model of images and texts. `config` has its architecture, and what its preprocessing needs."""

    family: ClassVar[str]
    image_tower: ClassVar[str]
    """name of the module that only images need"""
    batch = 256

    def __init__(self, model: Any, config: Mapping[str, Any], device: str = "cpu"):
        self.model = model.to(device).requires_grad_(False).eval()
        self.config = dict(config)
        self.device = device

    @staticmethod
    @abstractmethod
    def with_random_weights(architecture: Mapping[str, Any]) -> Any:
        """A model of that architecture."""

    @property
    def logit_scale(self) -> float:
        """The learned factor between cosine and logit."""
        return float(self.model.logit_scale.exp())

    def text_tower(self, notes: Mapping[str, Any]) -> Self:
        """The same encoder for texts alone, of which images can no longer be embedded; `notes` join its config."""
        model = copy(self.model)
        model._modules = {name: module for name, module in self.model._modules.items() if name != self.image_tower}
        return type(self)(model, {**self.config, "image_tower": False, **notes}, self.device)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], device: str = "cpu") -> Self:
        """The encoder that `save` wrote."""
        config = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))
        model = cls.with_random_weights(config["architecture"])
        if not config.get("image_tower", True):
            delattr(model, cls.image_tower)
        model.load_state_dict(load_file(Path(directory) / "model.safetensors"))
        return cls(model, config, device)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write config.json and model.safetensors."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        weights = {name: value.contiguous().cpu() for name, value in self.model.state_dict().items()}
        text = json.dumps({"family": self.family, **self.config}, indent=2, sort_keys=True)
        with replacing(directory / "model.safetensors") as path:
            save_file(weights, path)
        with replacing(directory / "config.json") as path:
            path.write_text(text + "\n", encoding="utf-8")
