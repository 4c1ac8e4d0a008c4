"""Published CLIP weights: downloaded by name, or from a file whose tensors tell the architecture."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from captionlab.encoders.clip import MEAN, STD, Clip, build, open_clip
from captionlab.networks.checkpoints import CheckpointError, count_layers, read_checkpoint

logger = logging.getLogger(__name__)

# Published beside the weights by OpenAI, and no tensors of the model.
NO_WEIGHTS = ("input_resolution", "context_length", "vocab_size")


def import_weights(config: Mapping[str, Any], file: str | os.PathLike[str] | None = None) -> Clip:
    """The encoder of a config block: by published name (model and weights), or from a file when one is given.

    Of a file, all sizes are read off the tensors; `heads` of the block is the number of heads of the text tower when it
    is not its width / 64, and `quick_gelu` says whether the activation is x * sigmoid(1.702 x), as in all weights by
    OpenAI (default) and in few others. Raises CheckpointError.
    """
    if file is None:
        architecture, mean, std, path = _published(config["model"], config["weights"])
    else:
        architecture, mean, std, path = {}, MEAN, STD, Path(file)
    state = _read(path)
    if not architecture:
        quick_gelu = bool(config.get("quick_gelu", True))
        architecture = architecture_of(state, path, quick_gelu, config.get("heads"))
        logger.info("%s: %s, activation %s", path, architecture, "QuickGELU" if quick_gelu else "GELU")
    try:
        model = build(architecture)
    except ValueError as error:
        raise CheckpointError(f"{config.get('model', path)} is no CLIP that can be used here: {error}") from error
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise CheckpointError(f"{path}: the tensors do not fit the architecture {architecture}: {error}") from error
    return Clip(model, {"architecture": architecture, "image_mean": list(mean), "image_std": list(std)})


def architecture_of(
    state: Mapping[str, Tensor], path: str | os.PathLike[str], quick_gelu: bool, heads: int | None = None
) -> dict[str, Any]:
    """The model config, as open_clip has it, of weights with OpenAI's names; the image tower is a ViT or a ResNet."""
    shapes = {name: tuple(value.shape) for name, value in state.items()}
    try:
        positions = shapes.get("visual.positional_embedding") or shapes["visual.attnpool.positional_embedding"]
        side = round((positions[0] - 1) ** 0.5)
        if "visual.proj" in shapes:
            width, _, _, patch = shapes["visual.conv1.weight"]
            layers: int | list[int] = count_layers(shapes, "visual.transformer.resblocks")
            vision = {"image_size": side * patch, "layers": layers, "width": width, "patch_size": patch}
        else:
            layers = [count_layers(shapes, f"visual.layer{stage}") for stage in (1, 2, 3, 4)]
            vision = {"image_size": side * 32, "layers": layers, "width": shapes["visual.layer1.0.conv1.weight"][0]}
        context_length, width = shapes["positional_embedding"]
        text = {
            "context_length": context_length,
            "vocab_size": shapes["token_embedding.weight"][0],
            "width": width,
            "heads": heads or width // 64,
            "layers": count_layers(shapes, "transformer.resblocks"),
        }
        embed_dim = shapes["text_projection"][1]
    except KeyError as error:
        other = any(name.startswith("text_model.") for name in shapes)
        layout = "; these are the names of transformers' CLIPModel" if other else ""
        raise CheckpointError(
            f"{path} has no tensor {error.args[0]!r}{layout}. OpenAI's names are needed, as in the file "
            "open_clip_model.safetensors of timm/vit_base_patch32_clip_224.openai on the Hugging Face hub"
        ) from error
    return {"embed_dim": embed_dim, "vision_cfg": vision, "text_cfg": text, "quick_gelu": quick_gelu}


def _published(model: str, tag: str) -> tuple[dict[str, Any], Any, Any, Path]:
    """Architecture, image mean and deviation, and the downloaded file of weights known to open_clip."""
    architecture, published = open_clip.get_model_config(model), open_clip.get_pretrained_cfg(model, tag)
    if architecture is None:
        raise CheckpointError(f"model: open_clip knows no {model!r}; it has {', '.join(open_clip.list_models())}")
    if not published:
        tags = ", ".join(open_clip.list_pretrained_tags_by_model(model)) or "none"
        raise CheckpointError(f"weights: open_clip knows no {tag!r} for {model}; published are: {tags}")
    if published.get("interpolation", "bicubic") != "bicubic" or published.get("resize_mode", "shortest") != "shortest":
        raise CheckpointError(
            f"model {model}, weights {tag}: not supported, as its images are not cropped as CLIP's are"
        )
    architecture["quick_gelu"] = bool(published.get("quick_gelu", architecture.get("quick_gelu", False)))
    try:
        path = Path(open_clip.download_pretrained(published))
    except Exception as error:  # each hub and network layer has errors of its own
        place = published.get("hf_hub") or published.get("url")
        raise CheckpointError(
            f"could not download the weights {tag} of {model} from {place} ({error}). Without a connection, put the "
            "file open_clip_model.safetensors from there under the data folder, and in the config replace `model` and "
            "`weights` by `weights: <its path>`"
        ) from error
    return architecture, published.get("mean") or MEAN, published.get("std") or STD, path


def _read(path: Path) -> dict[str, Tensor]:
    state = read_checkpoint(path)
    tensors = {
        name.removeprefix("module."): value.float()
        for name, value in state.get("state_dict", state).items()
        if isinstance(value, Tensor)
    }
    return {name: value for name, value in tensors.items() if name not in NO_WEIGHTS}
