"""Reading weights from files, whoever wrote them."""

import os
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file


class CheckpointError(ValueError):
    """A file of weights, or the folder of a model, that cannot be used."""


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The dict in a .safetensors or PyTorch file; nothing but tensors and plain values is unpickled."""
    try:
        if Path(path).suffix == ".safetensors":
            return dict(load_file(path))
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path} is no PyTorch file, or holds more than tensors and plain values, which is not unpickled "
            f"because it could run code ({_first_line(error)}); save its state dict alone"
        ) from error
    except (SafetensorError, EOFError, OSError, RuntimeError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path} cannot be read ({_first_line(error)}); is the download complete?") from error
    if not isinstance(checkpoint, Mapping):
        raise CheckpointError(f"{path} holds a {type(checkpoint).__name__}, not a state dict")
    return dict(checkpoint)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
