"""SigLIP (Zhai et al. 2023) as encoder: a CLIP with other towers and another loss, built by transformers and frozen.

Follows github.com/google-research/big_vision. Names are transformers' SiglipModel's, as in model.safetensors of
google/siglip-base-patch16-224. Its tokenizer.json is needed, too. Importing this module imports transformers.
"""

import os
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tokenizers
import torch
from PIL import Image
from torch import Tensor
from transformers.models.siglip.configuration_siglip import SiglipConfig, SiglipTextConfig, SiglipVisionConfig
from transformers.models.siglip.modeling_siglip import SiglipModel

from captionlab.encoders.encoder import DualEncoder
from captionlab.encoders.images import squeeze
from captionlab.networks.bert import check_heads, said
from captionlab.networks.checkpoints import CheckpointError, count_layers, read_checkpoint
from captionlab.userfiles.model_config import NAME, read_config, refuse_other

# The token that ends and pads a text.
END = "</s>"


class Siglip(DualEncoder):
    """A frozen SigLIP.

    `config` has `architecture` (configs of both towers) and `tokenizer` (content of a tokenizer.json).
    """

    image_tower = "vision_model"

    @staticmethod
    def build(architecture: Mapping[str, Any]) -> Any:
        """Return a model of an architecture with random weights."""
        text, vision = dict(architecture["text_config"]), dict(architecture["vision_config"])
        return SiglipModel(SiglipConfig(text_config=text, vision_config=vision))

    def __init__(self, model: Any, config: Mapping[str, Any], device: str = "cpu"):
        super().__init__(model, config, device)
        self.tokenizer = tokenizers.Tokenizer.from_str(config["tokenizer"])
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.end: Any = self.tokenizer.token_to_id(END)  # None for another tokenizer, which the import rejects

    @property
    def image_dimensions(self) -> int:
        """Return the size of an embedding, of an image or a text."""
        return int(self.config["architecture"]["text_config"]["projection_size"])

    @property
    def image_size(self) -> int:
        """Return the height and width, in pixels, of the images that the image tower takes."""
        return int(self.config["architecture"]["vision_config"]["image_size"])

    def preprocess(self, image: Image.Image) -> Tensor:
        """Return an image as uint8 (3, image_size, image_size), squeezed and not cropped, for `embed_images`."""
        return squeeze(image, self.image_size)

    @torch.no_grad()
    def embed_images(self, pixels: Tensor) -> Tensor:
        """Return embeddings (n, d), float32, not normalised, of preprocessed images (n, 3, height, width), uint8."""
        images = pixels.to(self.device).float() / 127.5 - 1
        embeddings: Tensor = self.model.vision_model(pixel_values=images).pooler_output
        return embeddings.float()

    @torch.no_grad()
    def embed_texts(self, captions: Sequence[str], batch: int = 256) -> Tensor:
        """Return text embeddings (n, d), float32, not normalised, in the order of the captions.

        Equal captions are embedded once. As in training, texts are padded to the context length, because the tower is
        read at the end of the padding.
        """
        distinct = {caption: row for row, caption in enumerate(dict.fromkeys(captions))}
        ids = torch.tensor([self._encode(caption) for caption in distinct], device=self.device)
        parts = [self.model.text_model(input_ids=part).pooler_output for part in ids.split(batch)] if distinct else []
        embeddings = torch.cat(parts) if parts else torch.empty(0, self.image_dimensions, device=self.device)
        return embeddings[torch.tensor([distinct[c] for c in captions], dtype=torch.long, device=self.device)].float()

    def tokens_left_out(self, captions: Sequence[str]) -> list[int]:
        """Return for each caption the number of tokens that `embed_texts` ignores, because the caption is too long."""
        return [max(len(self._ids(caption)) - (self.context_length - 1), 0) for caption in captions]

    @property
    def context_length(self) -> int:
        """Return the most tokens of a caption that are read, the end token included."""
        return int(self.config["architecture"]["text_config"]["max_position_embeddings"])

    def _encode(self, caption: str) -> list[int]:
        ids = self._ids(caption)[: self.context_length - 1]
        return [*ids, *[self.end] * (self.context_length - len(ids))]

    def _ids(self, caption: str) -> list[int]:
        text = " ".join(caption.lower().translate(str.maketrans("", "", string.punctuation)).split())
        return list(self.tokenizer.encode(text, add_special_tokens=False).ids)


def import_weights(
    config: Mapping[str, Any], weights: str | os.PathLike[str], tokenizer: str | os.PathLike[str]
) -> Siglip:
    """Return the encoder of weights and a tokenizer.json.

    The number of heads of each tower is read from transformers' config.json beside the weights, or is `heads` for both
    towers. Raises CheckpointError if weights or tokenizer cannot be used, or if the number of heads is unknown or
    differs from the config.json.
    """
    checkpoint = read_checkpoint(weights)
    try:
        state = {name: value for name, value in checkpoint.items() if not name.endswith(".position_ids")}
        width, _, _, patch = state["vision_model.embeddings.patch_embedding.weight"].shape
        patches = len(state["vision_model.embeddings.position_embedding.weight"])
        vocabulary, text_width = state["text_model.embeddings.token_embedding.weight"].shape
        text_heads, vision_heads = _heads(Path(weights).with_name(NAME), config)
        architecture = {
            "vision_config": {
                **_tower(state, "vision_model", width, vision_heads),
                "patch_size": patch,
                "image_size": round(patches**0.5) * patch,
            },
            "text_config": {
                **_tower(state, "text_model", text_width, text_heads),
                "vocab_size": vocabulary,
                "max_position_embeddings": len(state["text_model.embeddings.position_embedding.weight"]),
                "projection_size": len(state["text_model.head.bias"]),
            },
        }
        model = Siglip.build(architecture)
        model.load_state_dict({name: value.float() for name, value in state.items()})
    except ValueError as error:
        raise CheckpointError(f"{weights}: {error}") from error
    except (KeyError, RuntimeError) as error:
        raise CheckpointError(
            f"{weights} does not hold a SigLIP under the names of transformers, as model.safetensors of "
            f"google/siglip-base-patch16-224 does: {error}"
        ) from error
    content = Path(tokenizer).read_text(encoding="utf-8")
    try:
        encoder = Siglip(model, {"architecture": architecture, "tokenizer": content})
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(f"{tokenizer} is no tokenizer.json of the tokenizers library: {error}") from error
    if encoder.end is None or encoder.tokenizer.get_vocab_size() > vocabulary:
        raise CheckpointError(f"{tokenizer} is not the tokenizer that {weights} was trained with")
    return encoder


def _heads(beside: Path, config: Mapping[str, Any]) -> tuple[int, int]:
    """Return the numbers of heads of the text tower and of the image tower."""
    found = read_config(beside)
    if found.get("model_type") != "siglip":
        return (said(config.get("heads")),) * 2
    # The config.json leaves out values that are the defaults of transformers' classes.
    text, vision = (found.get(name) or {} for name in ("text_config", "vision_config"))
    heads = SiglipTextConfig(**text).num_attention_heads, SiglipVisionConfig(**vision).num_attention_heads
    for tower in heads:
        refuse_other(beside, config, {"heads": tower})
    return heads


def _tower(state: Mapping[str, Tensor], name: str, width: int, heads: int) -> dict[str, Any]:
    check_heads(width, heads)
    return {
        "hidden_size": width,
        "intermediate_size": len(state[f"{name}.encoder.layers.0.mlp.fc1.bias"]),
        "num_hidden_layers": count_layers(state, f"{name}.encoder.layers"),
        "num_attention_heads": heads,
    }


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a stored `config` implies for keys of a block in the config."""
    return {"heads": config["architecture"]["text_config"]["num_attention_heads"]}


FAMILY = Siglip
