"""Adapters of a captioner by peft: low-rank changes of its linear layers (LoRA, Hu et al. 2021, arXiv 2106.09685).

A layer with weight W gives W x + alpha / rank * B A x, where A (rank, inputs) and B (outputs, rank) alone are trained.
A starts at random and B at 0, so at the start nothing is changed. Importing peft takes longer than torch, so it is
imported where there are adapters.
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
from captionlab.files import replacing_folder
from captionlab.model_config import WEIGHTS
from captionlab.networks.checkpoints import CheckpointError, check_fit, origin_of
from captionlab.networks.gpt2 import Projection

# What `targets` says for all linear layers but the output layer, as in peft.
ALL_LINEAR = "all-linear"
# What peft puts before the names of a whole model in a file of adapters.
PREFIX = "base_model.model."


def new_adapters(captioner: Captioner[Any], lora: Mapping[str, Any], parent: AnyPath, seed: int) -> None:
    """Give a captioner that has none adapters that change nothing yet, and freeze all else.

    `lora` is that block of the config: rank, alpha, targets (names or ends of names of linear layers, a regular
    expression of whole names, or all-linear) and dropout. `parent` is the folder of the captioner that it is now, and
    `seed` that of A. ValueError for a target that is none of its layers.
    """
    layers = captioner.linear_layers()
    settings = {
        "r": lora["rank"],
        "lora_alpha": lora["alpha"],
        "lora_dropout": lora["dropout"],
        "target_modules": sorted(_targeted(lora["targets"], layers)),
    }
    torch.manual_seed(seed)
    add_adapters(captioner, settings, {"captioner": Path(parent).name, **origin_of(Path(parent) / WEIGHTS)})


def add_adapters(captioner: Captioner[Any], settings: Mapping[str, Any], parent: Mapping[str, str]) -> None:
    """Put adapters into a captioner that has none; `settings` are those of peft's LoraConfig, by its names."""
    from peft import LoraConfig, inject_adapter_in_model
    from peft.tuners.lora import Linear
    from peft.tuners.tuners_utils import cast_adapter_dtype

    frozen = {name for name, parameter in captioner.named_parameters() if not parameter.requires_grad}
    config = LoraConfig(**settings)
    # peft's way for layers of classes that it does not know (docs, custom models).
    of_projection: Any = partial(_of_projection, Linear)
    config._register_custom_module({Projection: of_projection})
    inject_adapter_in_model(config, captioner)
    # In float32, whatever the weights are: bfloat16 does not tell steps of Adam from nothing.
    cast_adapter_dtype(captioner, "default")
    captioner.adapters = Adapters(settings, parent, frozenset(frozen))


def _of_projection(layer: Any, target: Projection, *name: Any, **options: Any) -> Any:
    """A layer of peft for a weight that is (inputs, outputs)."""
    adapted = layer(target, *name, **options)
    adapted.fan_in_fan_out = True
    return adapted


def merge_adapters(captioner: Captioner[Any]) -> None:
    """Add the adapters of a captioner to its weights, after which it has none; what was frozen before is so again."""
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
    """Within the block, a captioner with adapters is its parent, without dropout."""
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
    """The tensors of a captioner's adapters, by peft's names."""
    from peft import get_peft_model_state_dict

    weights: dict[str, Tensor] = get_peft_model_state_dict(captioner, save_embedding_layers=False)
    return weights


def load_adapters(captioner: Captioner[Any], weights: Mapping[str, Tensor], path: AnyPath) -> None:
    """Give a captioner's adapters the tensors of a file; CheckpointError where they are not its own."""
    from peft import set_peft_model_state_dict

    check_fit(path, f"an adapted {type(captioner).__name__}", adapter_weights(captioner), weights)
    set_peft_model_state_dict(captioner, dict(weights))


def check_parent(directory: AnyPath, parent: Mapping[str, str]) -> Path:
    """The folder of the captioner that adapters in a folder were trained on, which lies beside that folder.

    CheckpointError where it is not there, or is another one than then.
    """
    folder = Path(directory).absolute().with_name(parent["captioner"])
    if not (folder / WEIGHTS).is_file():
        raise CheckpointError(
            f"{directory} has adapters of the captioner {folder}, which is not there; put its folder beside that of "
            "the adapters, or finetune with lora: {merge: true}, which writes a whole model"
        )
    if origin_of(folder / WEIGHTS)["sha256"] != parent["sha256"]:
        raise CheckpointError(
            f"{directory} has adapters of another captioner than {folder} is now: its {WEIGHTS} is not that which they "
            "were trained on; put that one back, or finetune again from this one"
        )
    return folder


def export_adapters(captioner: Captioner[Any], directory: Path) -> None:
    """Write a captioner's adapters into a folder as peft reads them: adapter_config.json, adapter_model.safetensors.

    Names are those of the module `exported_part` of the captioner.
    """
    from peft import LoraConfig
    from safetensors.torch import save_file

    if not (adapters := captioner.adapters):
        raise ValueError(f"this {captioner.family} has no adapters")
    part = f"{captioner.exported_part}." if captioner.exported_part else ""
    targets = [target.removeprefix(part) for target in adapters.settings["target_modules"]]
    of_file = {"base_model_name_or_path": adapters.parent["captioner"], "inference_mode": True}
    config = LoraConfig(**{**adapters.settings, **of_file})
    config.target_modules = targets  # a list, which keeps its order, where the constructor makes a set
    weights = {f"{PREFIX}{name.removeprefix(part)}": value for name, value in adapter_weights(captioner).items()}
    with replacing_folder(directory) as folder:
        config.save_pretrained(str(folder))
        save_file({n: value.cpu().contiguous() for n, value in weights.items()}, folder / "adapter_model.safetensors")


def _adapted(captioner: Captioner[Any]) -> list[tuple[str, Any]]:
    """The layers of a captioner that have adapters, by name."""
    from peft.tuners.tuners_utils import BaseTunerLayer

    return [(name, module) for name, module in captioner.named_modules() if isinstance(module, BaseTunerLayer)]


def _targeted(targets: str | Iterable[str], layers: list[str]) -> set[str]:
    """The layers that `targets` mean; ValueError for one that means none."""
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
