"""Encoders on disk, whatever their family: config.json says which it is."""

import json
import os
from pathlib import Path

from captionlab.declarations import family_class
from captionlab.encoders.encoder import Encoder


def load_encoder(directory: str | os.PathLike[str], device: str = "cpu") -> Encoder:
    """The encoder in a folder."""
    family = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))["family"]
    return family_class("encoders", family).load(directory, device)
