"""Captioners on disk: config.json (family and sizes), model.safetensors and tokenizer.json in a folder."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from captionlab.captioners.adapters import adapter_weights, add_adapters, check_parent, load_adapters, merge_adapters
from captionlab.captioners.captioner import AnyPath, Captioner
from captionlab.declarations import defined, family_class
from captionlab.files import digest, replacing
from captionlab.model_config import NAME, made_here, refuse_other, with_sizes_beside
from captionlab.networks.checkpoints import CheckpointError, check_fit, origin_of, read_checkpoint, write_model
from captionlab.networks.tokenizer import Tokenizer

FILES = ("config.json", "model.safetensors", "tokenizer.json")


def save_captioner(
    captioner: Captioner[Any], tokenizer: Tokenizer, directory: AnyPath, origin: Mapping[str, Any] | None = None
) -> None:
    """Write the three files of a captioner; `origin` is what config.json shall say about where it comes from.

    Of one with adapters these alone are written, with what they are adapters of.
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
    """Read a captioner, in evaluation mode, and its tokenizer; a CheckpointError names the file that does not fit.

    One that is adapters is read with its parent, whose folder is beside its own: with the whole line, if that is, too.
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
    """Store a captioner that was published as a folder, by the keys of its block; CheckpointError for another one."""
    captioner, tokenizer = family_class("captioners", family).from_folder(folder, block)
    save_captioner(captioner, tokenizer, directory, {"weights": Path(folder).name, "blake2b": digest(folder)})


def import_captioner(family: str, weights: AnyPath, tokenizer: AnyPath, directory: AnyPath, **options: Any) -> None:
    """Store a captioner whose weights lie in a PyTorch or safetensors file, published or made here.

    Of one made here, config.json beside the weights says all. Of others sizes are read off the weights, and `options`,
    those of `from_published` of the family, are what cannot be, if no config.json of transformers says it. ValueError
    for options that a config.json contradicts; a CheckpointError says which keys are missing or unexpected, or why a
    file cannot be read.
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
    """What a config.json says of a captioner; CheckpointError where it is none."""
    try:
        return dict(json.loads(config.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{config} does not describe a captioner: {error!r}") from error


def _built(config: Path) -> Captioner[Any]:
    """The captioner that a config.json describes, with random weights; CheckpointError where it describes none."""
    described = _described(config)
    try:
        captioner: Captioner[Any] = family_class("captioners", described["family"])(**described["architecture"])
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{config} does not describe a captioner: {error!r}") from error
    return captioner


def _published(
    family: str, weights: AnyPath, checkpoint: Mapping[str, Any], options: Mapping[str, Any]
) -> tuple[Captioner[Any], dict[str, Any]]:
    """A captioner of the sizes of a published checkpoint, with random weights, and the weights to load into it."""
    options = with_sizes_beside(weights, options, defined("captioners", family, "DECLARATION").imported)
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
    """Further names of tied weights, each with the name under which the weight is stored."""
    first: dict[int, str] = {}
    names = {name: first.setdefault(value.data_ptr(), name) for name, value in captioner.state_dict().items()}
    return {name: stored for name, stored in names.items() if name != stored}


def _load_weights(captioner: torch.nn.Module, weights: Mapping[str, Any], path: AnyPath) -> None:
    """Load weights strictly; a tied weight may be there under any of its names, or under several with equal values."""
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
