"""Image-text-to-text models of the Hugging Face hub: reading their folders, and telling their image side from the rest.

transformers loads, runs and generates. A type is a `model_type` of transformers.
"""

import inspect
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from captionlab.networks.checkpoints import CheckpointError

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# Types that can be trained from scratch on patches of any encoder: their image tower, which is left out then, and the
# module that projects patches.
FROM_SCRATCH: Mapping[str, tuple[str, str]] = {
    "git": ("git.image_encoder", "git.visual_projection"),
    "llava": ("model.vision_tower", "model.multi_modal_projector"),
}
# Types without `mm_encoder_outputs` that read features in the place of the output of their image tower.
BYPASSED = ("git",)
# Types whose images `generate` repeats in a wrong way, or not at all, for beams and for several captions of an image.
ONE_CAPTION = ("fuyu", "llama4")
_PLACEHOLDER = re.compile(r"(image|video|vision|audio).*_(id|index)")
# Parameters that published weights lack and no caption depends on: the pooler of an encoder of images (TrOCR).
_UNREAD = re.compile(r"^encoder\.pooler\.")
# Constants that published weights have and that transformers computes now: masks of attention (ViT-GPT2).
_MASK = re.compile(r"\.(masked_bias|attn\.bias|crossattention\.bias)$")
_LFS = b"version https://git-lfs"


def read_folder(
    folder: str | os.PathLike[str], dtype: str = "float32", options: Mapping[str, Any] | None = None
) -> tuple[Any, Any]:
    """Return the model, in evaluation mode, and the processor in a folder of the hub or by `save_pretrained`.

    Weights are loaded in the precision `dtype`. Parameters and buffers that the type keeps in float32 stay in float32.
    No code in the folder is run. `options` replace settings of the image processor. Raises CheckpointError if the
    folder cannot be read, or if a tensor is missing, unexpected or of another shape.
    """
    from transformers import AutoModelForImageTextToText

    check_folder(Path(folder))
    try:
        loaded: Any = AutoModelForImageTextToText.from_pretrained(
            folder,
            dtype=PRECISIONS[dtype],
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
        model, report = loaded
        processor = _read_processor(folder, options or {})
        check_weights(report)
        _complete(model, report["missing_keys"])
    except CheckpointError as error:
        raise CheckpointError(f"{folder} {error}") from error
    except ImportError as error:
        raise CheckpointError(f"{folder} needs a package; install it ({first_line(error)})") from error
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError) as error:
        raise CheckpointError(
            f"{folder} is no folder of a model that transformers reads as image-text-to-text ({first_line(error)}); "
            "it needs config.json, weights as safetensors, tokenizer and processor, as `save_pretrained` writes them"
        ) from error
    return model.eval(), processor


def check_folder(folder: Path) -> None:
    """Raise CheckpointError for a folder that cannot be the folder of a whole model, with what to do."""
    if not folder.is_dir():
        raise CheckpointError(f"{folder} is no folder; name the folder of a model, as `save_pretrained` writes it")
    names = {path.name for path in folder.iterdir()}
    if "adapter_config.json" in names and "config.json" not in names:
        raise CheckpointError(
            f"{folder} has adapters alone; merge them into their model with peft (merge_and_unload, then "
            "save_pretrained) and name the folder of the whole model"
        )
    for path in filter(Path.is_file, folder.iterdir()):
        with open(path, "rb") as file:
            if file.read(len(_LFS)) == _LFS:
                raise CheckpointError(f"{path} is a pointer of Git LFS, not the file itself; run `git lfs pull` there")
    weights = [path for path in folder.iterdir() if path.suffix in (".safetensors", ".bin")]
    if weights and not any(path.suffix == ".safetensors" for path in weights):
        raise CheckpointError(
            f"{folder} has its weights in {weights[0].name} alone, which could run code when it is read; name a commit "
            "with model.safetensors, or load the model once with transformers and write it by `save_pretrained`"
        )
    _check_config(folder)


def _check_config(folder: Path) -> None:
    """Raise CheckpointError if config.json names a type that only the folder's own code could build."""
    from transformers import CONFIG_MAPPING

    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return  # transformers says what is wrong
    if config.get("auto_map") and config.get("model_type") not in CONFIG_MAPPING:
        raise CheckpointError(
            f"{folder} is a {config.get('model_type')}, which only code in the folder builds (auto_map in "
            "config.json). Code of a folder is not run: name a model of a type that transformers has"
        )


def check_weights(report: Mapping[str, Any], unexpected: bool = False) -> None:
    """Raise CheckpointError for tensors that are missing, unexpected or of another shape in transformers' report.

    With `unexpected`, further tensors are accepted. The message begins with a verb, for the name of a folder before it.
    """
    problems = [f"missing {name}" for name in sorted(report["missing_keys"]) if not _UNREAD.search(name)]
    problems += [
        f"unexpected {name}" for name in sorted(report["unexpected_keys"]) if not unexpected and not _MASK.search(name)
    ]
    problems += [
        f"{name} is {tuple(there)}, expected {tuple(expected)}"
        for name, there, expected in sorted(report["mismatched_keys"])
    ]
    if problems := [*problems, *report["error_msgs"]]:
        rest = f" and {len(problems) - 10} more" if len(problems) > 10 else ""
        raise CheckpointError(
            f"has weights that do not fit its config.json: {'; '.join(problems[:10])}{rest}; put all files of one "
            "model there"
        )


def _complete(model: Any, missing: Iterable[str]) -> None:
    """Give a model what its files leave open, so that it is equal in each import and can be saved."""
    for name in missing:
        model.get_parameter(name).data.zero_()
    try:
        model.generation_config.validate(strict=True)
    except ValueError:  # settings of samples without `do_sample`; every decoding sets it
        model.generation_config.do_sample = True


def _read_processor(folder: str | os.PathLike[str], options: Mapping[str, Any]) -> Any:
    from transformers import AutoProcessor, ProcessorMixin

    processor = AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if not isinstance(processor, ProcessorMixin):
        raise CheckpointError("has no processor of images and texts, as processor_config.json describes one")
    if processor.tokenizer.pad_token is None:  # padding is masked, so any token will do
        processor.tokenizer.pad_token = processor.tokenizer.eos_token
    if options:
        known = json.loads(processor.image_processor.to_json_string())
        if unknown := sorted(options.keys() - known.keys()):
            raise CheckpointError(
                f"has an image processor that has no {unknown[0]!r}; it has {', '.join(sorted(known))}"
            )
        processor.image_processor = type(processor.image_processor).from_dict({**known, **options})
    return processor


def first_line(error: Exception) -> str:
    """Return the first line of the message of an error, or the name of its class."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


# ------------------------------------------------------------------------------------------------------------ building
def build(config: Mapping[str, Any], dtype: str = "float32", random: bool = True) -> Any:
    """Return a model for the content of a config.json, with random weights or, if not `random`, uninitialised ones.

    Raises CheckpointError if transformers has no image-text-to-text model of this type.
    """
    from transformers import AutoConfig, AutoModelForImageTextToText
    from transformers.initialization import no_init_weights

    try:
        described = AutoConfig.for_model(**config)
        if random:
            return AutoModelForImageTextToText.from_config(described, dtype=PRECISIONS[dtype])
        with no_init_weights():
            model = AutoModelForImageTextToText.from_config(described, dtype=PRECISIONS[dtype])
        model.tie_weights()
        return model
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise CheckpointError(
            f"transformers builds no captioner of the type {config.get('model_type')!r}: {error}"
        ) from error


def described(model: Any) -> dict[str, Any]:
    """Return the content of a model's config.json, without the folder that it was read from."""

    def kept(block: Mapping[str, Any]) -> dict[str, Any]:
        left = {name: value for name, value in block.items() if name not in ("_name_or_path", "transformers_version")}
        return {name: kept(value) if isinstance(value, dict) else value for name, value in left.items()}

    return kept(model.config.to_dict())


def read_files(folder: Path) -> dict[str, str]:
    """Return the content of all files below a folder, by their paths. Bytes that are not UTF-8 become surrogates."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes().decode("utf-8", "surrogateescape") for path in paths}


def write_files(files: Mapping[str, str], folder: Path) -> None:
    """Write the files that `read_files` returned into a folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))


def config_from_scratch(
    sizes: Mapping[str, Any], visual_size: int, vocabulary: int, end: int
) -> tuple[dict[str, Any], int]:
    """Return a config of transformers, for training from scratch on an encoder's patches, and the number of ids.

    `visual_size` is the size of a patch's vector, `vocabulary` the number of tokens, and `end` the id of the end token.
    If the number of ids is `vocabulary` + 1, the last id is the placeholder of a patch. Raises ValueError for a type
    that cannot be trained from scratch.
    """
    if sizes["model_type"] not in FROM_SCRATCH:
        raise ValueError(
            f"architecture.config.model_type is {sizes['model_type']!r}; from scratch it must be "
            f"{' or '.join(FROM_SCRATCH)}"
        )
    # The image tower is removed later, but transformers builds it first.
    vision = {"hidden_size": visual_size, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 1}
    ids = {"pad_token_id": end, "bos_token_id": end, "eos_token_id": end}
    if sizes["model_type"] in BYPASSED:
        return {**sizes, **ids, "vocab_size": vocabulary, "vision_config": vision}, vocabulary
    text = {**sizes.get("text_config", {}), **ids, "vocab_size": vocabulary + 1}
    placeholder = {"image_token_id": vocabulary, "image_token_index": vocabulary}
    return {**sizes, **placeholder, "vision_config": vision, "text_config": text}, vocabulary + 1


def placeholders(config: Mapping[str, Any]) -> list[int]:
    """Return the ids of tokens that stand for an image, a video or a sound, or for a part or an end of one."""
    ids = {number for name, number in config.items() if _PLACEHOLDER.search(name) and isinstance(number, int)}
    ends = config.get("eos_token_id")
    return sorted(ids - {*(ends if isinstance(ends, list) else [ends])})


# ---------------------------------------------------------------------------------------------------------- image side
def image_features(model: Any, inputs: Mapping[str, Any]) -> Any:
    """Return the output of a model's image side, as `get_image_features` returns it, or None if the type has none.

    `inputs` are inputs of the model for preprocessed images; others than the image's are ignored.
    """
    if model.config.model_type in BYPASSED:
        tower, projector = map(model.get_submodule, FROM_SCRATCH[model.config.model_type])
        return Features(projector(tower(inputs["pixel_values"]).last_hidden_state))
    # The method of the inner model names its arguments; `generate` calls it, too.
    readers = [part.get_image_features for part in (model.base_model, model) if "get_image_features" in dir(part)]
    taken = inspect.signature(readers[0]).parameters if readers else {}
    needed = {name for name, one in taken.items() if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD}
    if not readers or needed - inputs.keys():
        return None
    return readers[0](**{name: inputs[name] for name in taken if name in inputs}, return_dict=True)


def takes_features(model: Any) -> bool:
    """Return whether a model accepts the output of its image side instead of pixels."""
    return model.config.model_type in BYPASSED or "mm_encoder_outputs" in inspect.signature(model.forward).parameters


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


def stacked(name: str) -> str:
    """Return the name of a parameter with its numbers replaced by *, which it shares with the layers of its stack."""
    return re.sub(r"\b\d+\b", "*", name)


def image_side(model: Any, inputs: Mapping[str, Any]) -> set[str]:
    """Return the names of the parameters that only images go through, with numbers replaced by *.

    They are the parameters of the image encoder, as transformers finds it, and all on which the image features depend.
    `inputs` are inputs of the model for an image. If a type has neither, the set is empty.
    """
    encoder = model.get_encoder(modality="image")
    if encoder is model and model.main_input_name != "input_ids":
        encoder = model.get_encoder()
    within = set() if encoder is model else {id(parameter) for parameter in encoder.parameters()}
    features = image_features(model, inputs)
    if features is not None:
        pooled = vars(features).get("pooler_output")
        within |= {id(parameter) for parameter in _reached(_tensors(vars(features) if pooled is None else pooled))}
    outputs = model.get_output_embeddings()
    words = {id(layer.weight) for layer in (model.get_input_embeddings(), outputs) if layer is not None}
    return {stacked(name) for name, parameter in model.named_parameters() if id(parameter) in within - words}


def reached(model: Any, output: Tensor) -> set[str]:
    """Return the names of the parameters on which an output depends, with numbers replaced by *."""
    within = {id(parameter) for parameter in _reached([output])}
    return {stacked(name) for name, parameter in model.named_parameters() if id(parameter) in within}


def _tensors(features: Any) -> list[Tensor]:
    """Return the tensors in features, which may be nested in mappings and sequences."""
    if isinstance(features, Tensor):
        return [features]
    parts = features.values() if isinstance(features, Mapping) else features
    return [tensor for part in parts if isinstance(part, Tensor | Mapping | list | tuple) for tensor in _tensors(part)]


def _reached(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Return the leaves of autograd's graph of the outputs."""
    leaves, seen = [], set()
    waiting: list[Any] = [output.grad_fn for output in outputs]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if "variable" in dir(node):
            leaves.append(node.variable)
        waiting += [before for before, _ in node.next_functions]
    return leaves


def whole_modules(model: nn.Module, chosen: Callable[[str], bool], prefix: str = "") -> list[str]:
    """Return the names of the outermost modules of whose parameters all have names for which `chosen` is true."""
    names = []
    for name, child in model.named_children():
        parameters = [f"{prefix}{name}.{parameter}" for parameter, _ in child.named_parameters()]
        if parameters and all(map(chosen, parameters)):
            names.append(f"{prefix}{name}")
        else:
            names += whole_modules(child, chosen, f"{prefix}{name}.")
    return names


def drop_parameters(model: nn.Module, chosen: Callable[[str], bool]) -> None:
    """Replace modules by the identity if `chosen` is true for the names of all their parameters.

    A single parameter of another module is replaced by None.
    """
    for name in whole_modules(model, chosen):
        model.set_submodule(name, nn.Identity())
    for name in [name for name, _ in model.named_parameters() if chosen(name)]:
        owner, _, attribute = name.rpartition(".")
        setattr(model.get_submodule(owner), attribute, None)


def is_of(names: Collection[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a parameter is among `names`, which have numbers replaced by *."""
    return lambda name: stacked(name) in names
