"""BLIP's published vision tower, from the file that also holds its text decoder, in the names of salesforce/BLIP."""

import os
import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from captionlab.encoders.blip import BlipEncoder
from captionlab.networks.checkpoints import CheckpointError, count_layers, read_checkpoint

TOWER = "visual_encoder."
# salesforce/BLIP's names, which are timm's, and transformers'.
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


def import_weights(config: Mapping[str, Any], file: str | os.PathLike[str]) -> BlipEncoder:
    """The vision tower in weights of LAVIS or BLIP, CheckpointError for others; without `heads`, a head is 64 wide."""
    checkpoint = read_checkpoint(file)
    found: Mapping[str, Tensor] = checkpoint.get("model", checkpoint)
    tower = {_renamed(name.removeprefix(TOWER)): v for name, v in found.items() if name.startswith(TOWER)}
    try:
        width, _, patch, _ = tower["embeddings.patch_embedding.weight"].shape
        places = tower["embeddings.position_embedding"].shape[1] - 1
        sizes = {
            "image_size": round(places**0.5) * patch,
            "patch_size": patch,
            "width": width,
            "layers": count_layers(tower, "encoder.layers"),
            "heads": int(config.get("heads", max(1, width // 64))),
            "inner": len(tower["encoder.layers.0.mlp.fc1.bias"]),
        }
        model = BlipEncoder.with_random_weights({"sizes": sizes})
        model.load_state_dict(tower)
    except (KeyError, RuntimeError) as error:
        shown = ", ".join(list(found)[:5])
        raise CheckpointError(
            f"{file} has no vision tower of BLIP ({error}); its {len(found)} tensors start with {shown}"
        ) from error
    return BlipEncoder(model, {"sizes": sizes})


def _renamed(name: str) -> str:
    for pattern, replacement in _NAMES.items():
        if re.match(pattern, name):
            return re.sub(pattern, replacement, name, count=1)
    return name
