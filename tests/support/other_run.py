"""Results of another run: an encoder, a scorer, and captioners that read a vector, patches, and regions with tags."""

from pathlib import Path
from typing import Any

import torch
from support.scorer_stand_in import build_scorer

from captionlab.captioners.store import save_captioner
from captionlab.encoders.clip.encoder import Clip, build
from captionlab.plugins import family_class
from captionlab.scorers.store import save_scorer

WIDTH = 64  # of the image tower, so of a patch
CLIP = {
    "embed_dim": 8,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": WIDTH, "patch_size": 16},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 4, "layers": 1},
    "quick_gelu": False,
}
SIZES = {"width": 8, "layers": 1, "heads": 2, "feed_forward": 8}
# By family the numbers of a vector or place, and of a region with its box; and the architecture.
CAPTIONERS: dict[str, tuple[int, dict[str, Any]]] = {
    "clipcap": (8, {"prefix_length": 2, "width": 8, "layers": 1, "heads": 2, "positions": 24, "mapper_hidden": 8}),
    "transformers": (
        WIDTH,
        {
            "config": {
                "model_type": "git",
                "hidden_size": 8,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "intermediate_size": 8,
                "max_position_embeddings": 32,
            }
        },
    ),
    "vinvl": (1024 + 6, {**SIZES, "positions": 40, "tag_position": 20}),
}


def write_models(folder: Path, texts: list[str]) -> None:
    """Write models with random weights that know the words of these texts into a folder of results."""
    torch.manual_seed(0)
    means = {"image_mean": [0.4] * 3, "image_std": [0.3] * 3}
    Clip(build(CLIP, seed=4), {"architecture": CLIP, **means}).save(folder / "encoders" / "clip")
    for family, (size, architecture) in CAPTIONERS.items():
        made = family_class("captioners", family).for_corpus(texts, [], size, {**architecture, "vocabulary": 300})
        save_captioner(*made, folder / "captioners" / family)
    words = folder / "vocab.txt"
    words.write_text("\n".join(["[UNK]", "[CLS]", "[SEP]", *"abcdefghijklmnopqrstuvwxyz."]) + "\n")
    block = {"family": "uniter", "architecture": {**SIZES, "positions": 24}, "max_tokens": 20, "match_index": 0}
    save_scorer(build_scorer(block, words, 1024), folder / "scorers" / "uniter")
