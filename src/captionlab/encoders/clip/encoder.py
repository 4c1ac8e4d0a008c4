"""CLIP: an image tower and a text tower with a common embedding space, built by open_clip and frozen.

Radford et al. 2021, "Learning transferable visual models from natural language supervision"; github.com/openai/CLIP and
github.com/mlfoundations/open_clip. No other module imports open_clip.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import open_clip
import torch
from open_clip.constants import OPENAI_DATASET_MEAN as MEAN
from open_clip.constants import OPENAI_DATASET_STD as STD
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg
from PIL import Image
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from captionlab.encoders.encoder import DualEncoder
from captionlab.encoders.images import crop, normalise
from captionlab.networks.checkpoints import CheckpointError, count_layers, read_checkpoint

logger = logging.getLogger(__name__)

# Keys of open_clip's model configs that describe a CLIP. open_clip has more keys, for other families.
ARCHITECTURE = ("embed_dim", "vision_cfg", "text_cfg", "quick_gelu")
VISION = ("image_size", "layers", "width", "head_width", "patch_size", "mlp_ratio")
TEXT = ("context_length", "vocab_size", "width", "heads", "layers", "mlp_ratio")
# Entries of OpenAI's published files that are not tensors of the model.
NO_WEIGHTS = ("input_resolution", "context_length", "vocab_size")
# The second table of positions of Long-CLIP, and the number of positions that are taken from the first.
STRETCHED, KEPT = "positional_embedding_res", 20


def build(architecture: Mapping[str, Any], seed: int = 0) -> CLIP:
    """Return a CLIP model with random weights that only depend on the seed.

    `architecture` is a model config of open_clip: embed_dim, vision_cfg, text_cfg and quick_gelu. Raises ValueError if
    a key is missing, unknown, or describes a model other than CLIP, whose text tower is causal and read at the end
    token.
    """
    for where, given, known in (
        ("", architecture, ARCHITECTURE),
        (".vision_cfg", architecture.get("vision_cfg", {}), VISION),
        (".text_cfg", architecture.get("text_cfg", {}), TEXT),
    ):
        if wrong := sorted(set(given) - set(known)):
            raise ValueError(f"architecture{where}: {wrong[0]!r} is not supported; there are {', '.join(known)}")
    if missing := [key for key in ARCHITECTURE[:3] if key not in architecture]:
        raise ValueError(f"architecture: {missing[0]} is missing")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return CLIP(**architecture)


def tokenise(captions: Sequence[str], context_length: int) -> list[list[int]]:
    """Return the token ids of each caption, with start and end token, cut to `context_length`.

    The end token is kept.
    """
    tokenizer = _tokenizer()
    start, end = tokenizer.sot_token_id, tokenizer.eot_token_id
    distinct = {
        caption: [start, *tokenizer.encode(caption)[: context_length - 2], end] for caption in dict.fromkeys(captions)
    }
    return [distinct[caption] for caption in captions]


@cache
def _tokenizer() -> open_clip.SimpleTokenizer:
    """Return open_clip's tokenizer, with OpenAI's merges."""
    return open_clip.SimpleTokenizer()


def pad(tokens: Sequence[Sequence[int]]) -> Tensor:
    """Return lists of tokens as a tensor (n, longest), padded with 0 as CLIP does."""
    return pad_sequence([torch.tensor(ids) for ids in tokens], batch_first=True)


def encode_tokens(model: CLIP, tokens: Tensor) -> Tensor:
    """Return text embeddings (n, d), not normalised, of padded tokens (n, t), where t is at most the context length.

    The text tower is causal and read at the end token, the largest id, so later tokens cannot change the result. The
    padding up to the context length, which open_clip's own method requires, is left out.
    """
    length = tokens.shape[1]
    states = model.token_embedding(tokens) + model.positional_embedding[:length]
    states = model.ln_final(model.transformer(states, attn_mask=model.attn_mask[:length, :length]))
    return states[torch.arange(len(tokens), device=tokens.device), tokens.argmax(dim=1)] @ model.text_projection


class Clip(DualEncoder):
    """A frozen CLIP with its preprocessing. `config` has architecture, image_mean and image_std."""

    image_tower = "visual"
    build = staticmethod(build)

    @property
    def image_dimensions(self) -> int:
        """Return the size of an embedding, of an image or a text."""
        return int(self.config["architecture"]["embed_dim"])

    @property
    def image_size(self) -> int:
        """Return the height and width, in pixels, of the images that the image tower takes."""
        return int(self.config["architecture"]["vision_cfg"]["image_size"])

    @property
    def context_length(self) -> int:
        """Return the most tokens of a caption that are read, start and end token included."""
        return int(self.model.context_length)

    def preprocess(self, image: Image.Image) -> Tensor:
        """Return an image as uint8 (3, image_size, image_size), cropped for `embed_images`."""
        return crop(image, self.image_size)

    @torch.no_grad()
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Return embeddings (n, d), float32, not normalised, of preprocessed images (n, 3, height, width), uint8.

        On a GPU, the tower computes in float16, the precision of OpenAI's published weights.
        """
        images = normalise(pixels.to(self.device), self.config["image_mean"], self.config["image_std"])
        with torch.autocast("cuda", torch.float16, enabled=images.is_cuda):
            return self.model.encode_image(images).float()

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Return the number of places in the image tower's last layer, and the size of the vector at each place."""
        vision = self.config["architecture"]["vision_cfg"]
        if self._is_resnet:
            return (self.image_size // 32) ** 2, 32 * int(vision["width"])
        return (self.image_size // vision["patch_size"]) ** 2, int(vision["width"])

    @torch.no_grad()
    def embed_patches(self, pixels: Tensor) -> Tensor:
        """Return the last layer of the image tower before pooling, (n, places, d), float32, with the places row by row.

        For a ResNet, these are the features that CaMEL reads (github.com/aimagelab/camel, models/clip.py). For a ViT,
        these are the patches.
        """
        images = normalise(pixels.to(self.device), self.config["image_mean"], self.config["image_std"])
        tower = self.model.visual
        with torch.autocast("cuda", torch.float16, enabled=images.is_cuda):
            if self._is_resnet:
                states = tower.layer4(tower.layer3(tower.layer2(tower.layer1(tower.stem(images)))))
                return states.flatten(2).transpose(1, 2).float()
            states = tower.forward_intermediates(
                images, indices=1, normalize_intermediates=True, intermediates_only=True, output_fmt="NLC"
            )
            return states["image_intermediates"][0].float()

    @property
    def _is_resnet(self) -> bool:
        """Return whether the image tower is a ResNet, with a number of blocks for each stage, instead of a ViT."""
        return not isinstance(self.config["architecture"]["vision_cfg"]["layers"], int)

    @torch.no_grad()
    def embed_texts(self, captions: Sequence[str], batch: int = 256) -> Tensor:
        """Return text embeddings (n, d), float32, not normalised, in the order of the captions.

        Equal captions are embedded once. Captions of similar length are embedded in the same batch.
        """
        distinct = list(dict.fromkeys(captions))
        tokens = tokenise(distinct, self.context_length)
        by_length = sorted(range(len(distinct)), key=lambda i: len(tokens[i]))
        parts = [
            encode_tokens(self.model, pad([tokens[i] for i in by_length[start : start + batch]]).to(self.device))
            for start in range(0, len(distinct), batch)
        ]
        embeddings = torch.cat(parts) if parts else torch.empty(0, self.image_dimensions, device=self.device)
        rank = {distinct[i]: row for row, i in enumerate(by_length)}
        return embeddings[torch.tensor([rank[caption] for caption in captions], dtype=torch.long, device=self.device)]

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """Return for each caption the number of tokens that `embed_texts` ignores, because the caption is too long."""
        tokenizer, length = _tokenizer(), self.context_length - 2  # start and end token are kept
        return [max(len(tokenizer.encode(caption)) - length, 0) for caption in captions]


def import_weights(config: Mapping[str, Any], file: str | os.PathLike[str] | None = None) -> Clip:
    """Return the encoder of a block of the config, from a file or, without a file, by its published model and weights.

    Sizes are read off the tensors of a file. `head_width`, the width of an attention head, cannot be read off, so the
    block must have it. `heads` is the number of heads of the text tower, by default its width / `head_width`.
    `quick_gelu` says whether the activation is x * sigmoid(1.702 x), as in all weights by OpenAI (the default) and in
    few others. Raises CheckpointError if the weights cannot be read, downloaded or used.
    """
    if file is None:
        architecture, mean, std, path = _published(config["model"], config["weights"])
    else:
        architecture, mean, std, path = {}, MEAN, STD, Path(file)
    stored = read_checkpoint(path)
    tensors = {
        name.removeprefix("module."): value.float()
        for name, value in stored.get("state_dict", stored).items()
        if isinstance(value, Tensor)
    }
    state = _merged_positions({name: value for name, value in tensors.items() if name not in NO_WEIGHTS})
    if not architecture:
        quick_gelu = bool(config.get("quick_gelu", True))
        architecture = architecture_of(state, path, quick_gelu, config.get("head_width"), config.get("heads"))
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


def _merged_positions(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state dict with one table of positions: Long-CLIP's published weights have two (Zhang et al. 2024).

    Its code (github.com/beichenzbc/Long-CLIP, model/model_longclip.py) takes the first 20 positions, which are CLIP's
    own, from one table and all others from the other table.
    """
    merged = dict(state)
    if (stretched := merged.pop(STRETCHED, None)) is not None:
        merged["positional_embedding"] = torch.cat([merged["positional_embedding"][:KEPT], stretched[KEPT:]])
    return merged


def architecture_of(
    state: Mapping[str, Tensor],
    path: str | os.PathLike[str],
    quick_gelu: bool,
    head_width: int | None = None,
    heads: int | None = None,
) -> dict[str, Any]:
    """Return open_clip's model config for weights with OpenAI's names. The image tower is a ViT or a ResNet.

    Raises CheckpointError if a tensor or `head_width` is missing, or if a number of heads does not fit.
    """
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
    # A ResNet has attention heads in the pooling of its last layer.
    wide = vision["width"] * (1 if isinstance(layers, int) else 32)
    vision["head_width"], text["heads"] = _heads(path, wide, width, head_width, heads)
    return {"embed_dim": embed_dim, "vision_cfg": vision, "text_cfg": text, "quick_gelu": quick_gelu}


def _heads(
    path: str | os.PathLike[str], wide: int, width: int, head_width: int | None, heads: int | None
) -> tuple[int, int]:
    """Return the width of a head of the image tower and the number of heads of the text tower.

    `wide` and `width` are the widths of the towers. Raises CheckpointError if a number of heads does not fit.
    """
    if head_width is None:
        raise CheckpointError(
            f"{path}: weights do not tell how wide an attention head is; write `head_width: <number>` beside them in "
            "the config, 64 for any CLIP by OpenAI, or use the folder of an encoder made here by `run`"
        )
    text = ("head_width", head_width) if heads is None else ("heads", heads)
    for tower, (key, number) in ((wide, ("head_width", head_width)), (width, text)):
        if tower % number:
            raise CheckpointError(
                f"{path}: {key} is {number}, which does not divide {tower}, the width of a tower; give the right "
                "number, and `heads` if heads of the text tower have another width"
            )
    return head_width, heads or width // head_width


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a stored `config` implies for keys of a block in the config."""
    architecture = config["architecture"]
    return {
        "head_width": CLIPVisionCfg(**architecture["vision_cfg"]).head_width,
        "heads": CLIPTextCfg(**architecture["text_cfg"]).heads,
        "quick_gelu": architecture.get("quick_gelu", False),
    }


def _published(model: str, tag: str) -> tuple[dict[str, Any], Any, Any, Path]:
    """Return the architecture, image mean, image deviation and downloaded weights of a model that open_clip knows."""
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
    except Exception as error:  # each hub and network layer has its own errors
        place = published.get("hf_hub") or published.get("url")
        raise CheckpointError(
            f"could not download the weights {tag} of {model} from {place} ({error}). Without a connection, put the "
            "file open_clip_model.safetensors from there under the data folder, and in the config replace `model` and "
            "`weights` by `weights: <its path>`"
        ) from error
    return architecture, published.get("mean") or MEAN, published.get("std") or STD, path


FAMILY = Clip
