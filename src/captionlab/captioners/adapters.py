"""LoRA adapters of a captioner by peft: low-rank changes of linear layers (Hu et al. 2021, arXiv 2106.09685).

A layer with weight W returns W x + alpha / rank * B A x. Only A (rank, inputs) and B (outputs, rank) are trained. A is
random and B is 0 at the start, so new adapters change nothing. Importing peft takes longer than importing torch, so it
is imported only if a captioner has adapters.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from captionlab.captioners.captioner import Adapters, AnyPath, Captioner
from captionlab.networks.checkpoints import CheckpointError, check_fit, origin_of
from captionlab.networks.gpt2 import Projection
from captionlab.storage.files import replacing_folder
from captionlab.userfiles.model_config import WEIGHTS

# Value of `targets` that selects all linear layers but the output layer, as in peft.
ALL_LINEAR = "all-linear"
# Prefix of the names of tensors in a file of adapters by peft.
PREFIX = "base_model.model."


def new_adapters(captioner: Captioner[Any], lora: Mapping[str, Any], parent: AnyPath, seed: int) -> None:
    """Add adapters to a captioner that has none, and freeze all other parameters. New adapters change no output.

    `lora` is as for `adapter_settings`. `parent` is the folder of the captioner without the adapters. `seed`
    initialises A. Raises ValueError if a target matches no linear layer of the captioner.
    """
    settings = adapter_settings(captioner, lora)
    torch.manual_seed(seed)
    add_adapters(captioner, settings, {"captioner": Path(parent).name, **origin_of(Path(parent) / WEIGHTS)})


def adapter_settings(captioner: Captioner[Any], lora: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of peft's LoraConfig for adapters of a captioner.

    `lora` is the block of this name in the config: rank, alpha, targets and dropout. Targets are names of linear layers
    or ends of their names, a regular expression that matches whole names, or all-linear. Raises ValueError if a target
    matches no linear layer of the captioner.
    """
    return {
        "r": lora["rank"],
        "lora_alpha": lora["alpha"],
        "lora_dropout": lora["dropout"],
        "target_modules": sorted(_targeted(lora["targets"], captioner.linear_layers())),
    }


def add_adapters(captioner: Captioner[Any], settings: Mapping[str, Any], parent: Mapping[str, str]) -> None:
    """Add adapters to a captioner that has none. `settings` are arguments of peft's LoraConfig, by name.

    `parent` describes the captioner without the adapters: the name of its folder, its file of weights and their SHA-256
    digest.
    """
    from peft import LoraConfig, inject_adapter_in_model
    from peft.tuners.lora import Linear
    from peft.tuners.tuners_utils import cast_adapter_dtype

    frozen = {name for name, parameter in captioner.named_parameters() if not parameter.requires_grad}
    config = LoraConfig(**settings)
    # peft's documented way to support custom layers (docs, custom models).
    of_projection: Any = partial(_of_projection, Linear)
    config._register_custom_module({Projection: of_projection})
    inject_adapter_in_model(config, captioner)
    # Adapters are float32 whatever the weights are: in bfloat16, steps of Adam would be rounded away.
    cast_adapter_dtype(captioner, "default")
    captioner.adapters = Adapters(settings, parent, frozenset(frozen))


def _of_projection(layer: Any, target: Projection, *name: Any, **options: Any) -> Any:
    """Return a layer of peft for a weight of shape (inputs, outputs)."""
    adapted = layer(target, *name, **options)
    adapted.fan_in_fan_out = True
    return adapted


def merge_adapters(captioner: Captioner[Any]) -> None:
    """Add the adapters of a captioner to its weights, and remove the adapters.

    Parameters that were frozen before the adapters were added stay frozen; all others can be trained again. Raises
    ValueError if the weights are not float32.
    """
    if not (adapters := captioner.adapters):
        return
    for name, layer in _adapted(captioner):
        if layer.get_base_layer().weight.dtype != torch.float32:
            raise ValueError(
                f"adapters over weights in {layer.get_base_layer().weight.dtype} would be rounded away where they are "
                "added to them; import the captioner with `dtype: float32`"
            )
        layer.merge()
        captioner.set_submodule(name, layer.get_base_layer())
    for name, parameter in captioner.named_parameters():
        parameter.requires_grad_(name not in adapters.frozen)
    captioner.adapters = None
    del captioner.peft_config


@contextmanager
def without_adapters(captioner: Captioner[Any]) -> Iterator[None]:
    """Turn off adapters and dropout of a captioner within the block, so that it computes what its parent computes."""
    training, layers = captioner.training, [layer for _, layer in _adapted(captioner)]
    captioner.eval()
    for layer in layers:
        layer.enable_adapters(False)
    try:
        yield
    finally:
        for layer in layers:
            layer.enable_adapters(True)
        captioner.train(training)


def adapter_weights(captioner: Captioner[Any]) -> dict[str, Tensor]:
    """Return the tensors of a captioner's adapters, by the names that peft gives them."""
    from peft import get_peft_model_state_dict

    weights: dict[str, Tensor] = get_peft_model_state_dict(captioner, save_embedding_layers=False)
    return weights


def load_adapters(captioner: Captioner[Any], weights: Mapping[str, Tensor], path: AnyPath) -> None:
    """Load the adapters of a captioner from the tensors of a file. Raises CheckpointError if they do not fit."""
    from peft import set_peft_model_state_dict

    check_fit(path, f"an adapted {type(captioner).__name__}", adapter_weights(captioner), weights)
    set_peft_model_state_dict(captioner, dict(weights))


def check_parent(directory: AnyPath, parent: Mapping[str, str]) -> Path:
    """Return the folder of the captioner that the adapters in `directory` were trained on.

    The folder must be beside `directory`. Raises CheckpointError if the folder is missing, or if its weights have
    changed since the training.
    """
    folder = Path(directory).absolute().with_name(parent["captioner"])
    if not (folder / WEIGHTS).is_file():
        raise CheckpointError(
            f"{directory} has adapters of the captioner {folder}, which is not there; put its folder beside the "
            "folder of the adapters, or finetune with lora: {merge: true}, which writes a whole model"
        )
    if origin_of(folder / WEIGHTS)["sha256"] != parent["sha256"]:
        raise CheckpointError(
            f"{directory} has adapters that were trained on another {WEIGHTS} than {folder} has now; put the earlier "
            "file back, or finetune again from the present file"
        )
    return folder


def export_adapters(captioner: Captioner[Any], directory: Path) -> None:
    """Write a captioner's adapters in the format of peft: adapter_config.json and adapter_model.safetensors.

    Names of layers are relative to the module `exported_part` of the captioner. Raises ValueError if the captioner has
    no adapters.
    """
    from peft import LoraConfig
    from safetensors.torch import save_file

    if not (adapters := captioner.adapters):
        raise ValueError(f"this {captioner.family} has no adapters")
    part = f"{captioner.exported_part}." if captioner.exported_part else ""
    targets = [target.removeprefix(part) for target in adapters.settings["target_modules"]]
    of_file = {"base_model_name_or_path": adapters.parent["captioner"], "inference_mode": True}
    config = LoraConfig(**{**adapters.settings, **of_file})
    config.target_modules = targets  # the constructor would make a set, which has no order
    weights = {f"{PREFIX}{name.removeprefix(part)}": value for name, value in adapter_weights(captioner).items()}
    with replacing_folder(directory) as folder:
        config.save_pretrained(str(folder))
        save_file({n: value.cpu().contiguous() for n, value in weights.items()}, folder / "adapter_model.safetensors")


def _adapted(captioner: Captioner[Any]) -> list[tuple[str, Any]]:
    """Return the layers of a captioner that have adapters, with their names."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    return [(name, module) for name, module in captioner.named_modules() if isinstance(module, BaseTunerLayer)]


def _targeted(targets: str | Iterable[str], layers: list[str]) -> set[str]:
    """Return the names of the layers that `targets` select. Raises ValueError if a target selects none."""
    if targets == ALL_LINEAR:
        return {*layers}
    if isinstance(targets, str):
        by_target = {targets: {name for name in layers if re.fullmatch(targets, name)}}
    else:
        by_target = {target: {name for name in layers if f".{name}".endswith(f".{target}")} for target in targets}
    for target, found in by_target.items():
        if not found:
            there = ", ".join(dict.fromkeys(re.sub(r"\b\d+\b", "*", name) for name in layers))
            raise ValueError(
                f"lora.targets: {target!r} is no linear layer of this captioner, which has {there} (* is a number); "
                "give whole names, ends of names, a regular expression of whole names, or all-linear"
            )
    return {name for found in by_target.values() for name in found}
