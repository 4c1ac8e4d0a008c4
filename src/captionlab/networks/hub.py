"""Models of the Hugging Face hub as transformers builds them, and the properties of their types.

A type is a `model_type` of transformers. If a type has no entry in TYPES, its images are decoded in every update, and
importing the model checks whether captions can be continued word by word
(captionlab.captioners.transformers.captioner).
"""

import inspect
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from captionlab.networks.checkpoints import CheckpointError


@dataclass(frozen=True, kw_only=True)
class HubType:
    """Properties of a type of model that differ from most types."""

    image_side: tuple[str, ...] = ()
    """names of modules and parameters that only images go through"""
    varies: bool = False
    """whether the output of the image side depends on the shape of an image, so that it cannot be stored as a table"""
    projector: str = ""
    """name of the module of the image side that projects patches of any encoder, so that the type can be trained from
    scratch"""
    bypassed: str = ""
    """name of the module of the image side that is replaced by its output, if the model does not accept
    `mm_encoder_outputs`"""
    continued_by: str = ""
    """name of the module that reads further words, if the whole model needs an image in each pass"""
    counts_words: bool = False
    """whether positions of words start after the image, so that they must be passed"""
    remembers: str = ""
    """name of a tensor that a pass leaves in the model for the next pass, so that it must be restored for other
    images"""
    caption_type: int | None = None
    """`token_type_ids` of a caption, if they differ from the last word of the prompt"""

    @property
    def makes_table(self) -> bool:
        """Return whether the output of the image side can be stored as a table of features."""
        return bool(self.image_side) and not self.varies


_PROJECTED = HubType(
    image_side=("model.vision_tower", "model.multi_modal_projector"), projector="model.multi_modal_projector"
)
_CONNECTED = HubType(image_side=("model.vision_model", "model.connector"))
_THREE_DIMENSIONS = HubType(image_side=("model.visual",), varies=True, remembers="model.rope_deltas")
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
TYPES: Mapping[str, HubType] = {
    "git": HubType(
        image_side=("git.image_encoder", "git.visual_projection"),
        projector="git.visual_projection",
        bypassed="git.image_encoder",
        counts_words=True,
    ),
    "blip-2": HubType(
        image_side=("vision_model", "query_tokens", "qformer", "language_projection"), continued_by="language_model"
    ),
    "llava": _PROJECTED,
    "paligemma": HubType(image_side=_PROJECTED.image_side, caption_type=1),
    "smolvlm": _CONNECTED,
    "idefics3": _CONNECTED,
    "qwen2_vl": _THREE_DIMENSIONS,
    "qwen2_5_vl": _THREE_DIMENSIONS,
}

_PLACEHOLDERS = ("image_token_id", "image_token_index", "video_token_id", "video_token_index")

NO_TABLE = f"no table is known ({', '.join(name for name, kind in TYPES.items() if kind.makes_table)} have one)"


def type_of(config: Mapping[str, Any]) -> HubType:
    """Return the properties of the type of a config."""
    return TYPES.get(config["model_type"], HubType())


def placeholders(config: Mapping[str, Any]) -> list[int]:
    """Return the ids of tokens that stand for an image or a video."""
    return sorted({config[name] for name in _PLACEHOLDERS if config.get(name) is not None})


def build(config: Mapping[str, Any]) -> Any:
    """Return a model with random weights for the content of a config.json.

    Raises CheckpointError if transformers has no image-text-to-text model of this type.
    """
    from transformers import AutoConfig, AutoModelForImageTextToText

    try:
        return AutoModelForImageTextToText.from_config(AutoConfig.for_model(**config))
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise CheckpointError(
            f"transformers builds no captioner of the type {config.get('model_type')!r}: {error}"
        ) from error


def build_image_side(config: Mapping[str, Any]) -> Any:
    """Return the image side of a model for the content of a config.json, with uninitialised weights.

    All modules that images do not go through are removed. Raises CheckpointError if transformers has no such model.
    """
    from transformers.initialization import no_init_weights

    with no_init_weights():
        model = build(config)
    _drop(model, lambda name: not _overlaps(name, type_of(config).image_side))
    return model


def config_from_scratch(
    given: Mapping[str, Any], visual_size: int, vocabulary: int, end: int
) -> tuple[dict[str, Any], int]:
    """Return a config of transformers, for training from scratch on an encoder's patches, and the number of ids.

    `visual_size` is the size of a patch's vector, `vocabulary` the number of tokens, and `end` the id of the end token.
    If the number of ids is `vocabulary` + 1, the last id is the placeholder of a patch. Raises ValueError for a type
    that cannot be trained from scratch.
    """
    if not type_of(given).projector:
        able = " or ".join(name for name, kind in TYPES.items() if kind.projector)
        raise ValueError(f"architecture.config.model_type is {given['model_type']!r}; from scratch it must be {able}")
    # The image tower is removed later, but transformers builds it first.
    vision = {"hidden_size": visual_size, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 1}
    ids = {"pad_token_id": end, "bos_token_id": end, "eos_token_id": end}
    if type_of(given).bypassed:
        return {**given, **ids, "vocab_size": vocabulary, "vision_config": vision}, vocabulary
    text = {**given.get("text_config", {}), **ids, "vocab_size": vocabulary + 1}
    placeholder = {"image_token_id": vocabulary, "image_token_index": vocabulary}
    return {**given, **placeholder, "vision_config": vision, "text_config": text}, vocabulary + 1


def drop_image_side(model: Any, kind: HubType, kept: str = "") -> None:
    """Remove the modules and parameters that only images go through from a model, except the module `kept`."""
    dropped = tuple(name for name in kind.image_side if name != kept)
    _drop(model, lambda name: name in dropped)
    for name in dropped:
        owner, _, attribute = name.rpartition(".")
        if attribute in dict(model.get_submodule(owner).named_parameters(recurse=False)):
            setattr(model.get_submodule(owner), attribute, None)
    if kind.bypassed:
        model.set_submodule(kind.bypassed, Bypass())


def freeze_image_side(model: Any, kind: HubType) -> None:
    """Exclude the modules and parameters that only images go through from training.

    If the type has no entry in TYPES, these are its image encoder. Raises CheckpointError if transformers does not name
    the encoder.
    """
    if kind.image_side:
        parts = kind.image_side
    else:
        encoder = model.get_encoder(modality="image")
        parts = tuple(name for name, module in model.named_modules() if module is encoder and name)
    if not parts:
        raise CheckpointError(
            f"which part of a {model.config.model_type} sees images is to be declared in captionlab.networks.hub"
        )
    for name, parameter in model.named_parameters():
        if any(f"{name}.".startswith(f"{part}.") for part in parts):
            parameter.requires_grad_(False)


def read_folder(
    folder: str | os.PathLike[str], dtype: str = "float32", options: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """Return the model, in evaluation mode, and the processor in a folder of the hub or by `save_pretrained`.

    No code in the folder is run. `options` replace settings of the image processor. Raises CheckpointError if the
    folder cannot be read.
    """
    from transformers import AutoModelForImageTextToText, AutoProcessor, ProcessorMixin

    safely: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        precision = PRECISIONS[dtype]
        model = AutoModelForImageTextToText.from_pretrained(folder, dtype=precision, use_safetensors=True, **safely)
        processor = AutoProcessor.from_pretrained(folder, **safely)
        if not isinstance(processor, ProcessorMixin):
            raise CheckpointError("no processor of images and texts is there, as processor_config.json describes one")
        _set_options(processor, options or {})
        return model.eval(), processor
    except CheckpointError as error:
        raise CheckpointError(f"{folder}: {error}") from error
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, AttributeError, TypeError) as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise CheckpointError(
            f"{folder} is no folder of a model that transformers reads as image-text-to-text ({said[0]}); it needs "
            "config.json, weights as safetensors, tokenizer and processor, as `save_pretrained` writes them"
        ) from error


def _set_options(processor: Any, options: Mapping[str, Any]) -> None:
    known = json.loads(processor.image_processor.to_json_string())
    if unknown := sorted(options.keys() - known.keys()):
        raise CheckpointError(f"its image processor has no {unknown[0]!r}; it has {', '.join(sorted(known))}")
    processor.image_processor = type(processor.image_processor).from_dict({**known, **options})


def takes_features(model: Any) -> bool:
    """Return whether a model accepts the output of its image side instead of pixels, as many models do."""
    return "mm_encoder_outputs" in inspect.signature(model.base_model.forward).parameters


def image_features(model: Any, kind: HubType, inputs: Mapping[str, Any]) -> Any:
    """Return the output of a model's image side for preprocessed images: a tensor (B, S, d), or B tensors (S, d).

    `inputs` are the inputs that the processor returns for the images.
    """
    if not kind.bypassed:
        return model.get_image_features(**inputs, return_dict=True).pooler_output
    states = model.get_submodule(kind.bypassed)(inputs["pixel_values"]).last_hidden_state
    return model.get_submodule(kind.projector)(states)


@dataclass
class Features:
    """The output of an image side, in the form in which a model accepts it as `mm_encoder_outputs`."""

    pooler_output: Any
    qformer_outputs: Any = None
    vision_outputs: Any = None


class Bypass(nn.Module):
    """A module in the place of an image tower.

    Its input is the output of the tower, (B, 1, S, d), instead of pixels.
    """

    def forward(self, pixel_values: Tensor, **options: Any) -> Any:
        """Return the input as (B, S, d), in the form of an image tower's output."""
        from transformers.modeling_outputs import BaseModelOutput

        return BaseModelOutput(last_hidden_state=pixel_values[:, 0])


def followed(words: Mapping[str, Tensor], tokens: Tensor, kind: HubType) -> dict[str, Tensor]:
    """Return the inputs of a model, (n, P) each, with the tokens (n, t) appended."""
    found = dict(words)
    for name in words.keys() & {"input_ids", "token_type_ids", "mm_token_type_ids"}:
        behind = tokens
        if name != "input_ids":
            last = words[name][:, -1:] if kind.caption_type is None else kind.caption_type
            behind = torch.zeros_like(tokens) + last
        found[name] = torch.cat([words[name], behind], dim=1)
    return found


def remembered(model: Any, kind: HubType) -> Tensor | None:
    """Return the tensor that the last pass left in the model, or None if the type leaves none."""
    owner, _, name = kind.remembers.rpartition(".")
    return getattr(model.get_submodule(owner), name) if kind.remembers else None


def remember(model: Any, kind: HubType, value: Tensor) -> None:
    """Set the tensor that a pass left in the model to `value`."""
    owner, _, name = kind.remembers.rpartition(".")
    setattr(model.get_submodule(owner), name, value)


def _drop(module: nn.Module, chosen: Callable[[str], bool], prefix: str = "") -> None:
    """Replace submodules by the identity if `chosen` is true for their name."""
    for name, child in list(module.named_children()):
        if chosen(f"{prefix}{name}"):
            setattr(module, name, nn.Identity())
        else:
            _drop(child, chosen, f"{prefix}{name}.")


def _overlaps(name: str, parts: tuple[str, ...]) -> bool:
    """Return whether a module is one of the `parts`, is inside one, or contains one."""
    return any(f"{part}.".startswith(f"{name}.") or f"{name}.".startswith(f"{part}.") for part in parts)
