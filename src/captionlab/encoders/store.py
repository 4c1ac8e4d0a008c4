"""Encoders on disk, whatever their family: config.json says which it is.

A family is a module of this package, loaded by its name. It sets FAMILY to its class; a module `<family>_weights`
beside it reads what was published.
"""

import importlib
import json
import os
from pathlib import Path
from typing import Any


def load_encoder(directory: str | os.PathLike[str], device: str = "cpu") -> Any:
    """The encoder in a folder: a Clip or what is used as one."""
    family = json.loads((Path(directory) / "config.json").read_text(encoding="utf-8"))["family"]
    return importlib.import_module(f"captionlab.encoders.{family}").FAMILY.load(directory, device)
