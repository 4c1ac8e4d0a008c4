"""Files of models: reading weights of any origin, and writing and checking the files of a folder."""

import hashlib
import json
import os
import pickle
import re
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from captionlab.networks.compact import read_safetensors
from captionlab.storage.files import replacing


class CheckpointError(ValueError):
    """A file of weights, or a folder of a model, cannot be used. The message says which and why."""


class Rebuilt(nn.Module):
    """A network that is stored together with its `architecture`, the arguments of its constructor."""

    def __init__(self, given: Mapping[str, Any]):
        """Store the arguments of a family's constructor. `given` is locals() at the start of the constructor."""
        super().__init__()
        self.architecture = {name: value for name, value in given.items() if name not in ("self", "__class__")}


def read_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the dict in a .safetensors or PyTorch file. Only tensors and plain values are unpickled.

    Raises CheckpointError if the file cannot be read, is a TorchScript archive, or does not contain a dict.
    """
    if _is_program(path):
        raise CheckpointError(
            f"{path} is a TorchScript archive, a program that would have to be executed to be read; use the same "
            "weights as safetensors, for a CLIP open_clip_model.safetensors of timm/vit_base_patch32_clip_224.openai "
            "and its like on the Hugging Face hub"
        )
    try:
        if Path(path).suffix == ".safetensors":
            return read_safetensors(path)
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, SafetensorError, EOFError, OSError, RuntimeError, zipfile.BadZipFile) as error:
        # torch's message recommends to run the code in the pickle, so the message is not shown.
        if isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error):
            raise CheckpointError(
                f"{path} is no PyTorch file, or holds more than tensors and plain values, which is not unpickled "
                "because it could run code; where it comes from, save its state dict alone, as safetensors or by "
                "torch.save(model.state_dict(), file)"
            ) from None
        raise CheckpointError(f"{path} cannot be read ({_first_line(error)}); is the download complete?") from error
    if not isinstance(checkpoint, Mapping):
        raise CheckpointError(f"{path} holds a {type(checkpoint).__name__}, not a state dict")
    return dict(checkpoint)


def origin_of(weights: str | os.PathLike[str]) -> dict[str, str]:
    """Return the name and the SHA-256 digest of the file of weights that a model was imported from."""
    with open(weights, "rb") as file:
        return {"weights": Path(weights).name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def write_model(directory: str | os.PathLike[str], config: Mapping[str, Any], weights: Mapping[str, Tensor]) -> None:
    """Write config.json and model.safetensors into a folder, which is created if it is missing."""
    with replacing(Path(directory) / "model.safetensors") as path:
        save_file({name: value.cpu().contiguous() for name, value in weights.items()}, path)
    with replacing(Path(directory) / "config.json") as path:
        path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def check_fit(
    path: str | os.PathLike[str], model: str, expected: Mapping[str, Tensor], given: Mapping[str, Tensor], *more: str
) -> None:
    """Raise CheckpointError if tensors of a file are missing, unexpected or of another shape than a model expects.

    `more` are further problems, which also raise the error.
    """
    problems = [f"missing {name}" for name in expected if name not in given]
    problems += [f"unexpected {name}" for name in given if name not in expected]
    problems += [
        f"{name} is {tuple(value.shape)}, expected {tuple(expected[name].shape)}"
        for name, value in given.items()
        if name in expected and value.shape != expected[name].shape
    ]
    if problems := [*problems, *more]:
        rest = f" and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise CheckpointError(f"{path} does not fit {model}: {'; '.join(problems[:10])}{rest}")


def count_layers(names: Iterable[str], stack: str) -> int:
    """Return the number of layers of a stack, from names of tensors ("{stack}.{number}. ...").

    Raises KeyError if the stack has no layer.
    """
    found = [int(match[1]) for name in names if (match := re.match(rf"{re.escape(stack)}\.(\d+)\.", name))]
    if not found:
        raise KeyError(f"{stack}.0")
    return 1 + max(found)


def _is_program(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a TorchScript archive. PyTorch files are zip archives, too, but contain no code."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
