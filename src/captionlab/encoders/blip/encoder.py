"""BLIP's vision tower as encoder: a ViT. The text decoder reads all its places, the class token included.

The tower is transformers' BlipVisionModel. Its epsilon is 1e-6, as in salesforce/BLIP (models/vit.py), except for
weights by transformers, whose config.json has another epsilon. Images are cropped as CLIP's are, as Dessì et al. 2023
did. LAVIS and transformers squash images to a square. Importing transformers takes longer than importing torch, so it
is imported when a tower is built.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from torch import Tensor

from captionlab.encoders.encoder import Encoder
from captionlab.encoders.images import crop, normalise
from captionlab.networks.bert import check_heads, said
from captionlab.networks.checkpoints import CheckpointError, count_layers, read_checkpoint
from captionlab.userfiles.model_config import NAME, read_config, refuse_other

EPSILON = 1e-6
# Epsilon of a BlipVisionConfig that does not set it.
TRANSFORMERS_EPSILON = 1e-5
# Mean and deviation of CLIP's images, which BLIP uses, too.
MEAN, STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)

TOWER, TRANSFORMERS_TOWER = "visual_encoder.", "vision_model."
# Names of salesforce/BLIP, which are timm's, and of transformers.
_NAMES = {
    r"cls_token": "embeddings.class_embedding",
    r"pos_embed": "embeddings.position_embedding",
    r"patch_embed\.proj\.": "embeddings.patch_embedding.",
    r"blocks\.(\d+)\.norm(\d)\.": r"encoder.layers.\1.layer_norm\2.",
    r"blocks\.(\d+)\.attn\.qkv\.": r"encoder.layers.\1.self_attn.qkv.",
    r"blocks\.(\d+)\.attn\.proj\.": r"encoder.layers.\1.self_attn.projection.",
    r"blocks\.(\d+)\.mlp\.": r"encoder.layers.\1.mlp.",
    r"norm\.": "post_layernorm.",
}


class BlipEncoder(Encoder):
    """A frozen vision tower. `config` has `sizes`: image_size, patch_size, width, layers, heads and inner.

    For weights by transformers, `sizes` also has `epsilon`.
    """

    batch = 64

    @classmethod
    def with_random_weights(cls, config: Mapping[str, Any]) -> Any:
        """Return a vision tower with the sizes in the config and random weights."""
        from transformers import BlipVisionConfig, BlipVisionModel

        sizes = config["sizes"]
        return BlipVisionModel(
            BlipVisionConfig(
                image_size=sizes["image_size"],
                patch_size=sizes["patch_size"],
                hidden_size=sizes["width"],
                num_hidden_layers=sizes["layers"],
                num_attention_heads=sizes["heads"],
                intermediate_size=sizes["inner"],
                layer_norm_eps=sizes.get("epsilon", EPSILON),
            )
        )

    @property
    def image_dimensions(self) -> int:
        """Return the size of the vector of the class token."""
        return int(self.config["sizes"]["width"])

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Return the number of places, the class token included, and the size of the vector at each place."""
        sizes = self.config["sizes"]
        return (sizes["image_size"] // sizes["patch_size"]) ** 2 + 1, sizes["width"]

    def preprocess(self, image: Image.Image) -> Tensor:
        """Return an image as uint8 (3, image_size, image_size), cropped for `embed_images`."""
        return crop(image, self.config["sizes"]["image_size"])

    def embed_images(self, pixels: Tensor) -> Tensor:
        """Return the vectors of the class token (n, width), float32, of preprocessed images."""
        return self.embed_patches(pixels)[:, 0]

    @torch.no_grad()
    def embed_patches(self, pixels: Tensor) -> Tensor:
        """Return the normalised last layer, (n, places, width), float32, of preprocessed images, uint8."""
        images = normalise(pixels.to(self.device), MEAN, STD)
        with torch.autocast("cuda", torch.float16, enabled=images.is_cuda):
            states: Tensor = self.model(images).last_hidden_state
        return states.float()


def import_weights(config: Mapping[str, Any], file: str | os.PathLike[str]) -> BlipEncoder:
    """Return the vision tower in weights of LAVIS, BLIP or transformers.

    The number of heads is read from the config.json beside weights by transformers, or from `heads` in the block.
    Raises CheckpointError for other weights or if the number of heads is unknown. Raises ValueError if config.json and
    block differ.
    """
    checkpoint = read_checkpoint(file)
    found: Mapping[str, Tensor] = checkpoint.get("model", checkpoint)
    tower = {_renamed(name.removeprefix(TOWER)): v for name, v in found.items() if name.startswith(TOWER)}
    theirs = {n.removeprefix(TRANSFORMERS_TOWER): v for n, v in found.items() if n.startswith(TRANSFORMERS_TOWER)}
    beside = _sizes_beside(file, config) if theirs else {}
    tower, config = {**tower, **theirs}, {**config, **beside}
    try:
        width, _, patch, _ = tower["embeddings.patch_embedding.weight"].shape
        places = tower["embeddings.position_embedding"].shape[1] - 1
        check_heads(width, heads := said(config.get("heads")))
        sizes = {
            "image_size": round(places**0.5) * patch,
            "patch_size": patch,
            "width": width,
            "layers": count_layers(tower, "encoder.layers"),
            "heads": heads,
            "inner": len(tower["encoder.layers.0.mlp.fc1.bias"]),
            **({"epsilon": beside["epsilon"]} if theirs else {}),
        }
        model = BlipEncoder.with_random_weights({"sizes": sizes})
        model.load_state_dict(tower)
    except ValueError as error:
        raise CheckpointError(f"{file}: {error}") from error
    except (KeyError, RuntimeError) as error:
        shown = ", ".join(list(found)[:5])
        raise CheckpointError(
            f"{file} has no vision tower of BLIP ({error}); its {len(found)} tensors start with {shown}"
        ) from error
    return BlipEncoder(model, {"sizes": sizes})


def _sizes_beside(file: str | os.PathLike[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the epsilon, and the number of heads if it is set, in transformers' config.json beside a file.

    Raises ValueError if the config has another number of heads.
    """
    path = Path(file).with_name(NAME)
    vision = read_config(path).get("vision_config", {})
    heads = {"heads": vision["num_attention_heads"]} if "num_attention_heads" in vision else {}
    refuse_other(path, config, heads)
    return {"epsilon": vision.get("layer_norm_eps", TRANSFORMERS_EPSILON), **heads}


def _renamed(name: str) -> str:
    for pattern, replacement in _NAMES.items():
        name = re.sub(f"^{pattern}", replacement, name)
    return name


def stated(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a stored `config` implies for keys of a block in the config."""
    return {"heads": config["sizes"]["heads"]}


FAMILY = BlipEncoder
