"""A dual encoder of the Hugging Face hub: any model of transformers that embeds images and texts in one space.

Embeddings are the outputs of the model's methods `get_image_features` and `get_text_features`, in float32. Images and
texts are preprocessed by the model's own processor. No code in the model's folder is run. Importing transformers takes
longer than importing torch, so it is imported when a model is built.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import torch
from PIL import Image
from safetensors import SafetensorError
from torch import Tensor, nn

from captionlab.encoders.encoder import Encoder
from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError

_SAFELY: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
_METHODS = ("get_text_features", "get_image_features")
# Errors of transformers about a folder that it cannot read.
_UNREADABLE = (
    OSError, ValueError, KeyError, ImportError, RuntimeError, AttributeError, TypeError, SafetensorError,
)  # fmt: skip
# Types whose texts are padded to the full length, because the last token is read, but whose processor does not pad by
# itself: see the examples of transformers/models/siglip/modeling_siglip.py.
_PADDED = ("siglip",)
# Types of text towers that use all their positions. Long-CLIP has more positions than the tokenizer of CLIP allows for.
_USES_ALL_POSITIONS = ("clip_text_model",)


class HubDualEncoder(Encoder):
    """A frozen dual encoder.

    `config` has the model's own `config`, the `files` of its processor by name, the `dimensions` of an embedding, the
    shapes of the `inputs` that an image becomes, the `shape` of the patches of an image (or None), the `length` of the
    longest text in tokens, whether texts are `padded` to this length, and the names of modules that were `removed`.
    """

    batch = 64

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """Return the model that a config describes, with uninitialised weights."""
        from transformers import AutoConfig, AutoModel
        from transformers.initialization import no_init_weights

        with no_init_weights():
            model = AutoModel.from_config(AutoConfig.for_model(**config["config"]), dtype=torch.float32)
        for name in config["removed"]:
            delattr(model, name)
        return model

    @cached_property
    def processor(self) -> Any:
        """Return the processor of images and texts."""
        from transformers import AutoConfig, AutoProcessor

        with TemporaryDirectory() as folder:
            # The class of a tokenizer may depend on the type of the model.
            AutoConfig.for_model(**self.config["config"]).save_pretrained(folder)
            hub.write_files(self.config["files"], Path(folder))
            return AutoProcessor.from_pretrained(folder, **_SAFELY)

    @property
    def image_dimensions(self) -> int:
        """Return the size of an embedding, of an image or a text."""
        return int(self.config["dimensions"])

    def preprocess(self, image: Image.Image) -> Tensor:
        """Return all inputs that the model's processor makes of an RGB image, as one vector, float32."""
        inputs = self.processor(images=image, return_tensors="pt")
        return torch.cat([inputs[name].flatten().float() for name in self.config["inputs"]])

    def embed_images(self, pixels: Tensor) -> Tensor:
        """Return embeddings (n, d), float32, not normalised, of preprocessed images."""
        return self._see(pixels).pooler_output.float()

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Return the number of places, a class token included, and the size of the vector at each place.

        Raises ValueError for a model whose number of places depends on the shape of an image.
        """
        if self.config["shape"] is None:
            kind = self.config["config"]["model_type"]
            raise ValueError(f"a {kind} does not have the same places in every image; use another encoder for patches")
        places, size = self.config["shape"]
        return places, size

    def embed_patches(self, pixels: Tensor) -> Tensor:
        """Return the last hidden state of the image tower (n, places, d), float32, of preprocessed images."""
        states = self._see(pixels).last_hidden_state
        return (states.flatten(2).transpose(1, 2) if states.ndim == 4 else states).float()

    @torch.no_grad()
    def _see(self, pixels: Tensor) -> Any:
        """Return the output of `get_image_features` for preprocessed images."""
        shapes = self.config["inputs"]
        parts = pixels.to(self.device).split([prod(shape) for shape in shapes.values()], dim=1)
        inputs = {name: part.unflatten(1, shapes[name]) for name, part in zip(shapes, parts, strict=True)}
        whole = {name: value.long() for name, value in inputs.items() if name != "pixel_values"}  # masks and sizes
        return self.model.get_image_features(**{**inputs, **whole})

    @property
    def logit_scale(self) -> float:
        """Return the learned factor between cosine and logit."""
        learned = dict(self.model.named_parameters(recurse=False))
        if "temperature" in learned:  # as of ALIGN
            return 1 / float(learned["temperature"])
        return float(learned["logit_scale"].exp())

    @torch.no_grad()
    def embed_texts(self, captions: Sequence[str], batch: int = 256) -> Tensor:
        """Return text embeddings (n, d), float32, not normalised, in the order of the captions.

        Equal captions are embedded once. Captions of similar length are embedded in the same batch.
        """
        distinct = sorted(dict.fromkeys(captions), key=len)
        parts = [self._read(distinct[start : start + batch]) for start in range(0, len(distinct), batch)]
        embeddings = torch.cat([torch.empty(0, self.image_dimensions, device=self.device), *parts])
        rank = {caption: row for row, caption in enumerate(distinct)}
        return embeddings[torch.tensor([rank[caption] for caption in captions], dtype=torch.long, device=self.device)]

    def _read(self, captions: Sequence[str]) -> Tensor:
        """Return the output of `get_text_features` (n, d) for captions."""
        padding = "max_length" if self.config["padded"] else True
        options = {"padding": padding, "truncation": True, "max_length": self.config["length"]}
        inputs = self.processor(text=[*captions], return_tensors="pt", **options).to(self.device)
        features: Tensor = self.model.get_text_features(**inputs).pooler_output
        return features.float()

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """Return for each caption the number of tokens that `embed_texts` ignores, because the caption is too long."""
        if not captions:
            return []
        tokens = self.processor(text=[*captions], padding=False, truncation=False)["input_ids"]
        return [max(len(ids) - self.config["length"], 0) for ids in tokens]

    def text_tower(self, notes: Mapping[str, Any]) -> Self:
        """Return the encoder without its image tower, which can only embed texts. `notes` are added to its config."""
        called: set[nn.Module] = set()
        modules = dict(self.model.named_children())
        hooks = [m.register_forward_pre_hook(lambda module, _: called.add(module)) for m in modules.values()]
        self.embed_texts(["a"])
        for hook in hooks:
            hook.remove()
        removed = [name for name, module in modules.items() if module not in called]
        config = {**self.config, "removed": [*self.config["removed"], *removed], **notes}
        model = self.with_random_weights(config)
        model.load_state_dict({n: v for n, v in self.model.state_dict().items() if n.partition(".")[0] not in removed})
        return type(self)(model, config, self.device)


def import_weights(config: Mapping[str, Any], folder: str | os.PathLike[str]) -> HubDualEncoder:
    """Return the dual encoder in a folder of the Hugging Face hub or by `save_pretrained`.

    Raises CheckpointError if the folder cannot be read, is not of a dual encoder, or lacks a tensor.
    """
    hub.check_folder(Path(folder))
    with _refusing(folder):
        _check_type(folder)
        model, processor = _read_folder(folder)
        described = {"config": hub.described(model), "files": _files_of(processor), "removed": []}
        return HubDualEncoder(model, {**described, **_text_side(model, processor), **_image_side(model, processor)})


@contextmanager
def _refusing(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Turn any error about a folder into a CheckpointError that names the folder."""
    try:
        yield
    except CheckpointError as error:
        raise CheckpointError(f"{folder} {error}") from error
    except _UNREADABLE as error:
        raise CheckpointError(
            f"{folder} is no folder of a dual encoder that transformers reads ({hub.first_line(error)}); it needs "
            "config.json, weights as safetensors, tokenizer and image processor, as `save_pretrained` writes them"
        ) from error


def _check_type(folder: str | os.PathLike[str]) -> None:
    """Raise CheckpointError if the model in a folder lacks a method of a dual encoder. No weights are read."""
    from transformers import AutoConfig, AutoModel

    with torch.device("meta"):
        model = AutoModel.from_config(AutoConfig.from_pretrained(folder, **_SAFELY), trust_remote_code=False)
    if missing := [name for name in _METHODS if not hasattr(model, name)]:
        raise CheckpointError(
            f"is a {model.config.model_type}, which has no {missing[0]}; name a model that embeds texts and images, "
            "such as a CLIP or a SigLIP, or write `family: image-side` for what a captioner of the hub sees"
        )


def _read_folder(folder: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return the model, in float32 and evaluation mode, and the processor in a folder.

    Raises CheckpointError if a tensor is missing or has another shape than the model, or if there is no processor.
    """
    from transformers import AutoModel, AutoProcessor, ProcessorMixin

    model, loading = AutoModel.from_pretrained(
        folder,
        dtype=torch.float32,
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
        **_SAFELY,
    )
    hub.check_weights(loading, unexpected=True)  # detectors, for example, have further heads
    processor = AutoProcessor.from_pretrained(folder, **_SAFELY)
    if not isinstance(processor, ProcessorMixin):
        raise CheckpointError(
            "lacks a tokenizer or an image processor; put tokenizer.json, tokenizer_config.json and "
            "preprocessor_config.json of the model there"
        )
    return model.eval(), processor


def _files_of(processor: Any) -> dict[str, str]:
    """Return the content of the files of a processor, by their paths."""
    with TemporaryDirectory() as folder:
        processor.save_pretrained(folder)
        return hub.read_files(Path(folder))


def _text_side(model: Any, processor: Any) -> dict[str, Any]:
    """Return the number of tokens of the longest text, and whether all texts are padded to this length.

    A processor that pads short texts, such as ALIGN's, defines the length. Otherwise the length is the number of
    positions, or a smaller number that the tokenizer states.
    """
    tower = model.config.get_text_config()
    short, filled = (len(processor(text=["a"], **options)["input_ids"][0]) for options in ({"padding": False}, {}))
    limits = [tower.max_position_embeddings - _unused_positions(model), *([filled] if filled > short else [])]
    if tower.model_type not in _USES_ALL_POSITIONS:
        limits.append(processor.tokenizer.model_max_length)  # 10^30 if the tokenizer states no number
    return {"length": min(limits), "padded": filled > short or model.config.model_type in _PADDED}


def _unused_positions(model: Any) -> int:
    """Return the number of positions before the first token, which a RoBERTa has: its table of positions is padded."""
    modules = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    padding = [module.padding_idx for module in modules if isinstance(module, nn.Embedding)]
    return max((number + 1 for number in padding if number is not None), default=0)


@torch.no_grad()
def _image_side(model: Any, processor: Any) -> dict[str, Any]:
    """Return the shapes of the inputs that an image becomes, the size of an embedding, and the shape of the patches.

    The shape of the patches is None if images have masks, because then places differ between images. Raises
    CheckpointError if images become inputs of different shapes, or if image and text have no embeddings of one size.
    """
    wide, high = (processor(images=Image.new("RGB", size), return_tensors="pt") for size in ((384, 256), (256, 384)))
    shapes, others = ({name: [*value.shape[1:]] for name, value in inputs.items()} for inputs in (wide, high))
    if shapes != others:
        raise CheckpointError(
            "has an image processor that gives images of different shapes; set do_center_crop, or a height and a width "
            "as `size`, in its preprocessor_config.json"
        )
    image = model.get_image_features(**wide)
    text = model.get_text_features(**processor(text=["a"], return_tensors="pt", padding=True))
    vectors = image.pooler_output, text.pooler_output
    sizes = [[] if vector is None else [*vector.shape[1:]] for vector in vectors]
    if len(sizes[0]) != 1 or sizes[0] != sizes[1]:
        raise CheckpointError(
            f"gives no vectors of one size: {sizes[0]} for an image, {sizes[1]} for a text; name a model that "
            "compares images and texts by a cosine"
        )
    states = image.last_hidden_state
    places = [states.shape[2:].numel(), states.shape[1]] if states.ndim == 4 else [*states.shape[1:]]
    return {"inputs": shapes, "dimensions": sizes[0][0], "shape": places if len(shapes) == 1 else None}


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return {}: a stored `config` implies no values for keys of a block in the config."""
    return {}


FAMILY = HubDualEncoder
