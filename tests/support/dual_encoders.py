"""Small dual encoders of the Hugging Face hub, with random weights, as the folders that `save_pretrained` writes."""

from collections.abc import Callable, Mapping
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import torch
from support.hub_models import WORDS
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SIZES = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
VISION = {**SIZES, "image_size": 32, "patch_size": 16}
SQUARE = {"height": 32, "width": 32}
DIMENSIONS = 12  # of an embedding, where a type has a projection


def clip(positions: int = 10) -> tuple[Any, Any]:
    """CLIP, read at its end token."""
    from transformers import CLIPConfig, CLIPModel, CLIPProcessor

    tokenizer = _tokenizer("</s>", "<s>", model_max_length=min(positions, 77))
    text = {**_text(tokenizer, positions), "projection_dim": DIMENSIONS}
    vision = {**VISION, "projection_dim": DIMENSIONS}
    config = CLIPConfig(text_config=text, vision_config=vision, projection_dim=DIMENSIONS)
    return CLIPModel(config), CLIPProcessor(_cropped(), tokenizer)


def long_clip() -> tuple[Any, Any]:
    """Long-CLIP: a CLIP with 248 positions, and with the tokenizer of a CLIP."""
    return clip(248)


def metaclip_2(letters: str = "") -> tuple[Any, Any]:
    """MetaCLIP 2: a CLIP with another tokenizer; with `letters`, a tokenizer of these letters."""
    from transformers import CLIPProcessor, MetaClip2Config, MetaClip2Model

    tokenizer = _tokenizer("</s>", "<s>", letters, model_max_length=10)
    config = MetaClip2Config(
        text_config={**_text(tokenizer, 10), "projection_dim": DIMENSIONS},
        vision_config={**VISION, "projection_dim": DIMENSIONS},
        projection_dim=DIMENSIONS,
    )
    return MetaClip2Model(config), CLIPProcessor(_cropped(), tokenizer)


def siglip() -> tuple[Any, Any]:
    """SigLIP, and SigLIP 2 of a fixed resolution: texts are padded, because the last token is read."""
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    tokenizer = _tokenizer("</s>", model_input_names=["input_ids"], model_max_length=8)
    text = {**_text(tokenizer, 8), "projection_size": 16}
    config = SiglipConfig(text_config=text, vision_config=dict(VISION))
    return SiglipModel(config), SiglipProcessor(SiglipImageProcessor(size=SQUARE), tokenizer)


def siglip2() -> tuple[Any, Any]:
    """SigLIP 2 of any shape of image (NaFlex): an image is a list of patches, padded to 256."""
    from transformers import Siglip2Config, Siglip2ImageProcessor, Siglip2Model, Siglip2Processor

    tokenizer = _tokenizer("<eos>", letters=ascii_lowercase, model_input_names=["input_ids"])
    config = Siglip2Config(
        text_config={**_text(tokenizer, 64), "projection_size": 16},
        vision_config={**SIZES, "patch_size": 16, "num_patches": 16},
    )
    return Siglip2Model(config), Siglip2Processor(Siglip2ImageProcessor(), tokenizer)


def align() -> tuple[Any, Any]:
    """ALIGN: an EfficientNet and a BERT, whose texts are padded to 64 tokens, and a temperature."""
    from transformers import AlignConfig, AlignModel, AlignProcessor, EfficientNetImageProcessor

    tokenizer = _tokenizer("[SEP]", "[CLS]", model_max_length=512)
    stages = {
        "kernel_sizes": [3, 3],
        "in_channels": [32, 16],
        "out_channels": [16, 24],
        "strides": [1, 2],
        "num_block_repeats": [1, 1],
        "expand_ratios": [1, 2],
    }
    vision = {**stages, "width_coefficient": 0.5, "depth_coefficient": 1.0, "hidden_dim": DIMENSIONS, "image_size": 32}
    config = AlignConfig(
        text_config=_text(tokenizer, 70), vision_config=vision, projection_dim=16, temperature_init_value=0.2
    )
    return AlignModel(config), AlignProcessor(EfficientNetImageProcessor(size=SQUARE, crop_size=SQUARE), tokenizer)


def chinese_clip() -> tuple[Any, Any]:
    """Chinese-CLIP: a ViT and a BERT, whose tokenizer does not say how long a text may be."""
    from transformers import ChineseCLIPConfig, ChineseCLIPImageProcessor, ChineseCLIPModel, ChineseCLIPProcessor

    tokenizer = _tokenizer("[SEP]", "[CLS]")
    config = ChineseCLIPConfig(text_config=_text(tokenizer, 9), vision_config=dict(VISION), projection_dim=DIMENSIONS)
    images = ChineseCLIPImageProcessor(size=SQUARE, do_center_crop=False)
    return ChineseCLIPModel(config), ChineseCLIPProcessor(images, tokenizer)


def altclip() -> tuple[Any, Any]:
    """AltCLIP: a ViT and an XLM-RoBERTa, whose first two positions are no token's."""
    from transformers import AltCLIPConfig, AltCLIPModel, AltCLIPProcessor

    tokenizer = _tokenizer("</s>", "<s>")
    text = {**_text(tokenizer, 12), "project_dim": DIMENSIONS, "pad_token_id": 1}
    config = AltCLIPConfig(text_config=text, vision_config=dict(VISION), projection_dim=DIMENSIONS)
    return AltCLIPModel(config), AltCLIPProcessor(_cropped(), tokenizer)


# Words in several scripts, and their letters.
IN_SCRIPTS = ("一只狗在跑", "كلب يركض على الشاطئ", "कुत्ता दौड़ता है", "犬が走る", "개가 달린다", "собака бежит", "สุนัขวิ่ง")
SCRIPTS = "".join(sorted({letter for text in IN_SCRIPTS for letter in text if letter.strip()}))


def of_scripts() -> tuple[Any, Any]:
    """MetaCLIP 2 with a tokenizer of letters of several scripts."""
    return metaclip_2(SCRIPTS)


MAKERS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "clip": clip,
    "long-clip": long_clip,
    "metaclip_2": metaclip_2,
    "siglip": siglip,
    "siglip2": siglip2,
    "align": align,
    "chinese_clip": chinese_clip,
    "altclip": altclip,
}


def dual_encoder(kind: str, folder: Path, maker: Callable[[], tuple[Any, Any]] | None = None) -> tuple[Any, Any]:
    """Write a model of this type, and its processor, into a folder of that name, and return both.

    `maker` makes the model, by default MAKERS[kind].
    """
    from transformers import AutoProcessor

    torch.manual_seed(0)
    model, processor = (maker or MAKERS[kind])()
    for value in model.state_dict().values():
        if value.is_floating_point() and value.ndim:  # so that every layer matters, and no variance is negative
            value.add_(torch.rand_like(value) * 0.3)
    model.eval().save_pretrained(folder / kind)
    processor.save_pretrained(folder / kind)
    return model, AutoProcessor.from_pretrained(folder / kind)


def _tokenizer(end: str, begin: str = "", letters: str = "", **options: Any) -> Any:
    """A tokenizer of words, or of `letters`, that ends each text, and begins it where `begin` is given."""
    from transformers import PreTrainedTokenizerFast

    names = ["<pad>", end, "<unk>", *([begin] if begin else []), *("▁" + letters if letters else WORDS.split())]
    vocabulary = {name: number for number, name in enumerate(names)}
    inner = Tokenizer(
        models.BPE(vocabulary, [], unk_token="<unk>") if letters else models.WordLevel(vocabulary, unk_token="<unk>")
    )
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    used = [name for name in (begin, end) if name]
    inner.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}".strip(), special_tokens=[(name, vocabulary[name]) for name in used]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", unk_token="<unk>", eos_token=end, bos_token=begin or None, **options
    )


def _text(tokenizer: Any, positions: int) -> dict[str, Any]:
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": 0}
    return {**SIZES, **ids, "vocab_size": len(tokenizer), "max_position_embeddings": positions}


def _cropped() -> Any:
    from transformers import CLIPImageProcessor

    return CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=SQUARE)
