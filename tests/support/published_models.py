"""Models with random weights in the files in which others publish them: a SigLIP, a BLIP that matches, a detector."""

from pathlib import Path
from typing import Any

import tokenizers
import torch
from safetensors.torch import save_file
from tokenizers import models, pre_tokenizers

SIGLIP_WORDS = ["<pad>", "</s>", "<unk>", "a", "dog", "two", "cats", "on", "the", "red", "sofa"]
SIGLIP_SIZE = 16  # of an embedding
LETTERS = "abcdefghijklmnopqrstuvwxyz"
BLIP_PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS, *(f"##{letter}" for letter in LETTERS)]
SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION = {**SIZES, "image_size": 32, "patch_size": 16}


def write_siglip(folder: Path) -> Any:
    """Write model.safetensors and tokenizer.json of a SigLIP, and return it as a model of transformers."""
    from transformers import SiglipConfig, SiglipModel

    torch.manual_seed(0)
    text = {
        **SIZES,
        "vocab_size": len(SIGLIP_WORDS),
        "max_position_embeddings": 8,
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    model = SiglipModel(SiglipConfig(text_config=text, vision_config=VISION)).eval()
    _shake(model)
    save_file({name: value.contiguous() for name, value in model.state_dict().items()}, folder / "model.safetensors")
    numbers = {word: number for number, word in enumerate(SIGLIP_WORDS)}
    tokenizer = tokenizers.Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    return model


def write_blip_matcher(folder: Path) -> Any:
    """Write the folder of a BLIP that says whether a text matches an image, with its vocab.txt; return the model."""
    from transformers import BlipConfig, BlipForImageTextRetrieval

    torch.manual_seed(0)
    pieces = len(BLIP_PIECES) + 2
    text = {**SIZES, "vocab_size": pieces, "max_position_embeddings": 40, "bos_token_id": 1, "sep_token_id": 3}
    config = BlipConfig(text_config=text, vision_config={**VISION, "initializer_range": 0.1}, image_text_hidden_size=8)
    model = BlipForImageTextRetrieval(config).eval()
    _shake(model)
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(BLIP_PIECES) + "\n")
    return model


def write_detector(path: Path) -> None:
    """Write the weights of torchvision's detector, of the one size that it has."""
    from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2

    torch.manual_seed(0)
    torch.save(fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None, num_classes=91).state_dict(), path)


def _shake(model: Any) -> None:
    """Add noise to all weights, so that what a model puts out depends on what it reads."""
    for parameter in model.parameters():
        parameter.data.add_(0.2 * torch.randn(parameter.shape))
