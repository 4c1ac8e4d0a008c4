"""Encoders on disk, whatever their family: config.json says which it is."""

import json
import os
from pathlib import Path
from typing import Any


def load_encoder(directory: str | os.PathLike[str], device: str = "cpu") -> Any:
    """The encoder in a folder: a Clip or what is used as one."""
    family = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))["family"]
    if family == "siglip":
        from captionlab.features.siglip import Siglip

        return Siglip.load(directory, device)
    if family == "blip":
        from captionlab.features.blip import BlipEncoder

        return BlipEncoder.load(directory, device)
    from captionlab.features.clip import Clip

    return Clip.load(directory, device)
