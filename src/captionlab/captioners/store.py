"""Captioners on disk: a folder with config.json (family and sizes), model.safetensors and tokenizer.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from captionlab.captioners.adapters import adapter_weights, add_adapters, check_parent, load_adapters, merge_adapters
from captionlab.captioners.captioner import AnyPath, Captioner
from captionlab.networks.checkpoints import CheckpointError, check_fit, origin_of, read_checkpoint, write_model
from captionlab.networks.tokenizer import Tokenizer
from captionlab.plugins import family_class, own_keys
from captionlab.storage.files import digest, replacing
from captionlab.userfiles.model_config import NAME, made_here, refuse_other, with_sizes_beside

FILES = ("config.json", "model.safetensors", "tokenizer.json")


def save_captioner(
    captioner: Captioner[Any], tokenizer: Tokenizer, directory: AnyPath, origin: Mapping[str, Any] | None = None
) -> None:
    """Write the three files of a captioner. `origin` is stored in config.json and tells where the captioner comes from.

    If the captioner has adapters, only the adapters are written, and config.json names their parent.
    """
    config = {"family": captioner.family, "origin": dict(origin or {})}
    if adapters := captioner.adapters:
        config |= {"lora": adapters.settings, "parent": adapters.parent}
        write_model(directory, config, adapter_weights(captioner))
    else:
        config |= {"architecture": captioner.architecture}
        aliases = _aliases(captioner)
        write_model(directory, config, {n: value for n, value in captioner.state_dict().items() if n not in aliases})
    with replacing(Path(directory) / FILES[2]) as path:
        tokenizer.save(path)


def load_captioner(directory: AnyPath, device: str | torch.device = "cpu") -> tuple[Captioner[Any], Tokenizer]:
    """Read a captioner, in evaluation mode, and its tokenizer.

    If the folder contains adapters, the parent is read from its folder beside `directory`. If the parent has adapters,
    too, they are merged into its own parent first. Raises CheckpointError that names the
    file that does not fit.
    """
    config, weights, tokenizer = (Path(directory) / name for name in FILES)
    described = _described(config)
    if "lora" in described:
        captioner, _ = load_captioner(check_parent(directory, described["parent"]))
        merge_adapters(captioner)
        add_adapters(captioner, described["lora"], described["parent"])
        load_adapters(captioner, read_checkpoint(weights), weights)
    else:
        captioner = _built(config)
        _load_weights(captioner, read_checkpoint(weights), weights)
    return captioner.to(device).eval(), captioner.load_tokenizer(tokenizer)


def import_folder(family: str, folder: AnyPath, directory: AnyPath, block: Mapping[str, Any]) -> None:
    """Store a captioner that was published as a folder. `block` is the block of the captioner in the config.

    Raises CheckpointError if the folder does not contain a captioner of this family.
    """
    captioner, tokenizer = family_class("captioners", family).from_folder(folder, block)
    save_captioner(captioner, tokenizer, directory, {"weights": Path(folder).name, "blake2b": digest(folder)})


def import_captioner(family: str, weights: AnyPath, tokenizer: AnyPath, directory: AnyPath, **options: Any) -> None:
    """Store a captioner whose weights are a PyTorch or safetensors file, either published or made by captionlab.

    If captionlab made the weights, the config.json beside them has all sizes. Otherwise, sizes are read off the weights
    and from a config.json of transformers beside the weights, if there is one. `options` are the remaining arguments of
    the family's `from_published`. Raises ValueError if the config.json contradicts `family` or `options`. Raises
    CheckpointError if a file cannot be read, if keys are missing or unexpected, or if the tokenizer has another number
    of tokens.
    """
    beside, state = Path(weights).with_name(NAME), read_checkpoint(weights)
    if found := made_here(beside, "captioners", family):
        refuse_other(beside, options, found.get("architecture", {}))
        captioner = _built(beside)
        vocabulary = captioner.load_tokenizer(tokenizer)
    else:
        captioner, state = _published(family, weights, state, options)
        vocabulary = captioner.read_tokenizer(tokenizer)
    _load_weights(captioner, state, weights)
    if vocabulary.size != captioner.architecture["vocabulary"]:
        raise CheckpointError(
            f"{tokenizer} has {vocabulary.size} tokens and {weights} has {captioner.architecture['vocabulary']}; "
            "give the tokenizer that the weights were trained with"
        )
    save_captioner(captioner, vocabulary, directory, origin_of(weights))


def _described(config: Path) -> dict[str, Any]:
    """Read the description of a captioner from a config.json. Raises CheckpointError if it is not a JSON object."""
    try:
        return dict(json.loads(config.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{config} does not describe a captioner: {error!r}") from error


def _built(config: Path) -> Captioner[Any]:
    """Return the captioner that a config.json describes, with random weights.

    Raises CheckpointError if it describes none.
    """
    described = _described(config)
    try:
        captioner: Captioner[Any] = family_class("captioners", described["family"])(**described["architecture"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{config} does not describe a captioner: {error!r}") from error
    return captioner


def _published(
    family: str, weights: AnyPath, checkpoint: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[Captioner[Any], dict[str, Any]]:
    """Return a captioner with the sizes of a published checkpoint, and the weights to load into it."""
    options = with_sizes_beside(weights, options, own_keys("captioners", family))
    try:
        captioner, state = family_class("captioners", family).from_published(checkpoint, **options)
    except CheckpointError as error:
        raise CheckpointError(f"{weights}: {error}") from error
    except (KeyError, IndexError, ValueError) as error:
        shown = ", ".join(list(checkpoint)[:5])
        raise CheckpointError(
            f"{weights} is no checkpoint of the family {family!r} ({error}); its {len(checkpoint)} keys start with "
            f"{shown}"
        ) from error
    with_sizes_beside(weights, captioner.architecture, ())
    return captioner, state


def _aliases(captioner: torch.nn.Module) -> dict[str, str]:
    """Return the additional names of tied weights, each with the name under which the weight is stored."""
    first: dict[int, str] = {}
    names = {name: first.setdefault(value.data_ptr(), name) for name, value in captioner.state_dict().items()}
    return {name: stored for name, stored in names.items() if name != stored}


def _load_weights(captioner: torch.nn.Module, weights: Mapping[str, Any], path: AnyPath) -> None:
    """Load weights strictly. A tied weight may have any of its names, or several names with equal values."""
    expected, aliases = captioner.state_dict(), _aliases(captioner)
    stored = {aliases[name]: value for name, value in weights.items() if name in aliases}
    stored |= {name: value for name, value in weights.items() if name not in aliases}
    untied = [
        f"{name} differs from {aliases[name]}, which it is tied to"
        for name, value in weights.items()
        if name in aliases and not torch.equal(value, stored[aliases[name]])
    ]
    own = {name: value for name, value in expected.items() if name not in aliases}
    check_fit(path, f"a {type(captioner).__name__}", own, stored, *untied)
    captioner.load_state_dict(stored, strict=False)
