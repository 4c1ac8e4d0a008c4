"""Captioners on disk: config.json (family and sizes), model.safetensors and tokenizer.json in a folder.

A family is a module of this package, loaded by its name. It sets FAMILY to its class, a torch module with `family`
(its name), `architecture` (the arguments that build it again), `log_probs`, and `prompt_length`, `start`, `step` and
`reorder` (captionlab.generation.decoding.Decodable). To be trained from scratch it has `for_corpus` and `longest`; if
there are published weights, `from_published`. It may have `read_tokenizer` (for a published vocabulary that is no
tokenizer.json), `cut_keeps_end` (a reference that is cut still ends), `differentiable_steps` (a caption can be sampled
with gradient), `masked_logits` (it can be trained by masked tokens), `finetuned_as` (defaults of the objective
reinforce: how Dessì et al. 2023 finetuned the family), and what captionlab.captioners.images asks of a family that
reads no embeddings.
"""

import hashlib
import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from captionlab.files import replacing
from captionlab.networks.checkpoints import CheckpointError, read_checkpoint
from captionlab.networks.tokenizer import Tokenizer

FILES = ("config.json", "model.safetensors", "tokenizer.json")


def family_class(family: str) -> Any:
    """The class of a family."""
    return importlib.import_module(f"captionlab.captioners.{family}").FAMILY


def save_captioner(
    captioner: Any, tokenizer: Tokenizer, directory: str | os.PathLike[str], origin: Mapping[str, Any] | None = None
) -> None:
    """Write the three files of a captioner; `origin` is what config.json shall say about where it comes from."""
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    config = {"family": captioner.family, "architecture": captioner.architecture, "origin": dict(origin or {})}
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    aliases = _aliases(captioner)
    state = captioner.state_dict().items()
    weights = {name: value.cpu().contiguous() for name, value in state if name not in aliases}
    with replacing(directory / FILES[0]) as path:
        path.write_text(text, encoding="utf-8")
    with replacing(directory / FILES[1]) as path:
        save_file(weights, path)
    with replacing(directory / FILES[2]) as path:
        tokenizer.save(path)


def load_captioner(directory: str | os.PathLike[str], device: str | torch.device = "cpu") -> tuple[Any, Tokenizer]:
    """Read a captioner, in evaluation mode, and its tokenizer; a CheckpointError names the file that does not fit."""
    config, weights, tokenizer = (Path(directory) / name for name in FILES)
    try:
        described = json.loads(config.read_text(encoding="utf-8"))
        captioner = family_class(described["family"])(**described["architecture"])
    except (json.JSONDecodeError, KeyError, TypeError, ImportError, AttributeError) as error:
        raise CheckpointError(f"{config} does not describe a captioner: {error!r}") from error
    _load_weights(captioner, read_checkpoint(weights), weights)
    return captioner.to(device).eval(), Tokenizer.load(tokenizer)


def import_captioner(
    family: str,
    weights: str | os.PathLike[str],
    tokenizer: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    **options: Any,
) -> None:
    """Store a captioner whose weights were published as a PyTorch or safetensors file; sizes are read off the weights.

    `options` are what cannot be read off the weights, as `heads` of a ClipCap (`from_published` of the family says what
    there is). A CheckpointError says which keys are missing or unexpected, or why a file cannot be read.
    """
    checkpoint = read_checkpoint(weights)
    try:
        captioner, state = family_class(family).from_published(checkpoint, **options)
    except (KeyError, IndexError, ValueError) as error:
        shown = ", ".join(list(checkpoint)[:5])
        raise CheckpointError(
            f"{weights} is no checkpoint of the family {family!r} ({error}); its {len(checkpoint)} keys start with "
            f"{shown}"
        ) from error
    _load_weights(captioner, state, weights)
    vocabulary = getattr(captioner, "read_tokenizer", Tokenizer.load)(tokenizer)
    if vocabulary.size != captioner.architecture["vocabulary"]:
        raise CheckpointError(
            f"{tokenizer} has {vocabulary.size} tokens and {weights} has {captioner.architecture['vocabulary']}; "
            "give the tokenizer that the weights were trained with"
        )
    with open(weights, "rb") as file:
        origin = {"weights": Path(weights).name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    save_captioner(captioner, vocabulary, directory, origin)


def _aliases(captioner: torch.nn.Module) -> dict[str, str]:
    """Further names of tied weights, each with the name under which the weight is stored."""
    first: dict[int, str] = {}
    names = {name: first.setdefault(value.data_ptr(), name) for name, value in captioner.state_dict().items()}
    return {name: stored for name, stored in names.items() if name != stored}


def _load_weights(captioner: torch.nn.Module, weights: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Load weights strictly; a tied weight may be there under any of its names, or under several with equal values."""
    expected, aliases = captioner.state_dict(), _aliases(captioner)
    stored = {aliases[name]: value for name, value in weights.items() if name in aliases}
    stored |= {name: value for name, value in weights.items() if name not in aliases}
    problems = [f"missing {name}" for name in expected if aliases.get(name, name) not in stored]
    problems += [f"unexpected {name}" for name in stored if name not in expected]
    for name, value in weights.items():
        if name in expected and value.shape != expected[name].shape:
            problems.append(f"{name} is {tuple(value.shape)}, expected {tuple(expected[name].shape)}")
        elif name in expected and not torch.equal(value, stored[aliases.get(name, name)]):
            problems.append(f"{name} differs from {aliases.get(name, name)}, which it is tied to")
    if problems:
        more = f" and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise CheckpointError(f"{path} does not fit a {type(captioner).__name__}: {'; '.join(problems[:10])}{more}")
    captioner.load_state_dict(stored, strict=False)
