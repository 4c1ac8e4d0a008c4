"""Published weights of SigLIP, with their tokenizer."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from captionlab.encoders.siglip import Siglip
from captionlab.networks.checkpoints import CheckpointError, count_layers, read_checkpoint

_POSITIONS = re.compile(r"\.position_ids$")


def import_weights(
    config: Mapping[str, Any], weights: str | os.PathLike[str], tokenizer: str | os.PathLike[str]
) -> Siglip:
    """The encoder of weights and a tokenizer.json, CheckpointError for others; a head is 64 wide without `heads`."""
    heads = config.get("heads")
    try:
        state = {name: value for name, value in read_checkpoint(weights).items() if not _POSITIONS.search(name)}
        width, _, _, patch = state["vision_model.embeddings.patch_embedding.weight"].shape
        patches = len(state["vision_model.embeddings.position_embedding.weight"])
        vocabulary, text_width = state["text_model.embeddings.token_embedding.weight"].shape
        architecture = {
            "vision_config": {
                **_tower(state, "vision_model", width, heads),
                "patch_size": patch,
                "image_size": round(patches**0.5) * patch,
            },
            "text_config": {
                **_tower(state, "text_model", text_width, heads),
                "vocab_size": vocabulary,
                "max_position_embeddings": len(state["text_model.embeddings.position_embedding.weight"]),
                "projection_size": len(state["text_model.head.bias"]),
            },
        }
        model = Siglip.build(architecture)
        model.load_state_dict({name: value.float() for name, value in state.items()})
    except (KeyError, RuntimeError, CheckpointError) as error:
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


def _tower(state: Mapping[str, Tensor], name: str, width: int, heads: int | None) -> dict[str, Any]:
    return {
        "hidden_size": width,
        "intermediate_size": len(state[f"{name}.encoder.layers.0.mlp.fc1.bias"]),
        "num_hidden_layers": count_layers(state, f"{name}.encoder.layers"),
        "num_attention_heads": heads or max(1, width // 64),
    }
