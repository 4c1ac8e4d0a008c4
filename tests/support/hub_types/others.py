"""Small random models of encoder-decoders, of Q-Formers, and of other types without a tower and a projector only."""

from collections.abc import Callable, Mapping
from typing import Any

from support.hub_models import SQUARE, TEXT, VISION, blip_2, git, tokenizer_of
from support.hub_types.parts import chat, ids_of, lively, named, without, words
from support.hub_types.recent import (
    cohere_compass,
    hyperclovax_vision_v2,
    inkling,
    inkling2,
    minimax_m3_vl,
    mistral_large4,
    muse_glimmer,
    muse_spark,
    nemotron_h_omni,
    step3p7,
    unlimited_ocr,
)

NO_PROMPT: Mapping[str, Any] = {"prompt": ""}
PHOTO: Mapping[str, Any] = {"prompt": "a photo of"}
PATCH: Mapping[str, int] = {"height": 4, "width": 4}
BART_SIDE: Mapping[str, int] = {"layers": 2, "ffn_dim": 48, "attention_heads": 4}
KOSMOS: Mapping[str, int] = {
    "embed_dim": 32,
    "layers": 2,
    "ffn_dim": 48,
    "attention_heads": 4,
    "max_position_embeddings": 128,
    "scale_embedding": False,
}
VQ: Mapping[str, Any] = {
    "embed_dim": 8,
    "latent_channels": 8,
    "base_channels": 32,
    "num_res_blocks": 1,
    "channel_multiplier": [1, 1, 1, 1],
}


def opt(tokenizer: Any) -> Any:
    """Return the configuration of a decoder with learned positions."""
    from transformers import OPTConfig

    sizes = {"hidden_size": 32, "word_embed_proj_dim": 32, "ffn_dim": 48, "max_position_embeddings": 64}
    return OPTConfig(num_hidden_layers=2, num_attention_heads=4, **sizes, **ids_of(tokenizer))


def t5(tokenizer: Any) -> Any:
    """Return the configuration of an encoder-decoder."""
    from transformers import T5Config

    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4}
    return T5Config(decoder_start_token_id=0, **sizes, **ids_of(tokenizer))


def queries(family: str, tokenizer: Any, text: Any) -> Any:
    """Return a model of this family whose Q-Former puts four queries before the words of a language model."""
    import transformers

    config = getattr(transformers, f"{family}Config")(
        vision_config=dict(VISION),
        qformer_config={"vocab_size": len(tokenizer), "encoder_hidden_size": 24, **TEXT},
        text_config=text,
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = lively(getattr(transformers, f"{family}ForConditionalGeneration")(config))
    lively(model.language_projection, 2.0)
    return model


def blip_2_with_t5() -> tuple[Any, Any]:
    """BLIP-2: a Q-Former's queries stand before the words in the encoder of a T5."""
    from transformers import Blip2Processor, BlipImageProcessor

    tokenizer = words("<image>")
    images = BlipImageProcessor(size=SQUARE)
    return queries("Blip2", tokenizer, t5(tokenizer)), Blip2Processor(images, tokenizer, num_query_tokens=4)


def instructblip(text: Callable[[Any], Any] = opt) -> tuple[Any, Any]:
    """InstructBLIP: a Q-Former that reads the prompt, before a decoder."""
    from transformers import BlipImageProcessor, InstructBlipProcessor

    tokenizer = words("<image>")
    processor = InstructBlipProcessor(BlipImageProcessor(size=SQUARE), tokenizer, words(), num_query_tokens=4)
    return queries("InstructBlip", tokenizer, text(tokenizer)), processor


def instructblip_with_t5() -> tuple[Any, Any]:
    """InstructBLIP: a Q-Former that reads the prompt, before the encoder of a T5."""
    return instructblip(t5)


def blip() -> tuple[Any, Any]:
    """BLIP: a decoder of words attends to the patches of an image."""
    from transformers import BlipConfig, BlipForConditionalGeneration, BlipImageProcessor, BlipProcessor

    tokenizer = tokenizer_of("[DEC]", end="[SEP]", begin="[CLS]", closes=True)
    ids = ids_of(tokenizer, bos_token_id=tokenizer.convert_tokens_to_ids("[DEC]"), sep_token_id=tokenizer.sep_token_id)
    config = BlipConfig(
        vision_config=dict(VISION),
        text_config={"max_position_embeddings": 64, "encoder_hidden_size": 24, **ids, **TEXT},
    )
    return lively(BlipForConditionalGeneration(config)), BlipProcessor(BlipImageProcessor(size=SQUARE), tokenizer)


def florence2() -> tuple[Any, Any]:
    """Florence-2: patches of a DaViT stand before the words in the encoder of a BART."""
    from transformers import (
        BartConfig,
        CLIPImageProcessor,
        Florence2Config,
        Florence2ForConditionalGeneration,
        Florence2Processor,
    )

    tokenizer = named(words("<image>"), image_token="<image>")
    sides = {f"{side}_{key}": size for side in ("encoder", "decoder") for key, size in BART_SIDE.items()}
    start = tokenizer.eos_token_id
    text = BartConfig(
        d_model=32, max_position_embeddings=64, decoder_start_token_id=start, **sides, **ids_of(tokenizer)
    )
    widths = {"embed_dim": (8, 16), "depths": (1, 1), "num_heads": (2, 2), "num_groups": (2, 2), "window_size": 4}
    patches = {"patch_size": (7, 3), "patch_stride": (4, 2), "patch_padding": (3, 1), "patch_prenorm": (False, True)}
    config = Florence2Config(
        vision_config={"projection_dim": 32, **widths, **patches},
        text_config=text,
        image_token_id=tokenizer.image_token_id,
        **without("vocab_size", ids_of(tokenizer)),
    )
    images = CLIPImageProcessor(size=SQUARE, do_center_crop=False)
    images.image_seq_length = 17  # patches, and their mean
    return lively(Florence2ForConditionalGeneration(config)), Florence2Processor(images, tokenizer)


def encoder_decoder(decoder: Any, tokenizer: Any) -> Any:
    """Return a ViT to whose patches a decoder attends."""
    from transformers import VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig

    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(ViTConfig(**VISION), decoder)
    config.decoder_start_token_id = tokenizer.bos_token_id
    config.pad_token_id, config.eos_token_id = tokenizer.pad_token_id, tokenizer.eos_token_id
    return lively(VisionEncoderDecoderModel(config))


def vision_encoder_decoder() -> tuple[Any, Any]:
    """ViT-GPT2: a GPT-2 attends to the patches of a ViT."""
    from transformers import GPT2Config, VisionTextDualEncoderProcessor, ViTImageProcessor

    tokenizer = words()
    decoder = GPT2Config(n_embd=32, n_layer=2, n_head=4, n_inner=48, n_positions=64, **ids_of(tokenizer))
    images = ViTImageProcessor(size=SQUARE)
    return encoder_decoder(decoder, tokenizer), VisionTextDualEncoderProcessor(images, tokenizer)


def trocr() -> tuple[Any, Any]:
    """TrOCR: its own decoder attends to the patches of a ViT."""
    from transformers import TrOCRConfig, TrOCRProcessor, ViTImageProcessor

    tokenizer = words()
    sizes = {
        "d_model": 32,
        "max_position_embeddings": 64,
        **{f"decoder_{key}": size for key, size in BART_SIDE.items()},
    }
    decoder = TrOCRConfig(**sizes, **ids_of(tokenizer))
    return encoder_decoder(decoder, tokenizer), TrOCRProcessor(ViTImageProcessor(size=SQUARE), tokenizer)


def pix2struct() -> tuple[Any, Any]:
    """Pix2Struct: 2048 patches of an image in its own shape, the prompt begins the caption."""
    from transformers import (
        Pix2StructConfig,
        Pix2StructForConditionalGeneration,
        Pix2StructImageProcessor,
        Pix2StructProcessor,
    )

    tokenizer = words()
    sizes = {"hidden_size": 32, "d_kv": 8, "d_ff": 48}
    config = Pix2StructConfig(
        vision_config={
            "num_hidden_layers": 1,
            "num_attention_heads": 4,
            "patch_embed_hidden_size": 48,
            "seq_len": 128,
            **sizes,
        },
        text_config={"num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0, **sizes, **ids_of(tokenizer)},
    )
    images = Pix2StructImageProcessor(patch_size=PATCH)
    return lively(Pix2StructForConditionalGeneration(config)), Pix2StructProcessor(images, tokenizer)


def kosmos_2() -> tuple[Any, Any]:
    """Kosmos-2: a resampler's queries stand before the words of a decoder with tags of places."""
    from transformers import CLIPImageProcessor, Kosmos2Config, Kosmos2ForConditionalGeneration, Kosmos2Processor

    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=SQUARE)
    processor = Kosmos2Processor(images, words(), num_patch_index_tokens=36)
    config = Kosmos2Config(
        vision_config=dict(VISION),
        text_config={**KOSMOS, **ids_of(processor.tokenizer)},
        latent_query_num=64,  # as many as the processor makes places for
    )
    model = lively(Kosmos2ForConditionalGeneration(config))
    lively(model.image_to_text_projection, 1.5)
    return model, processor


def kosmos_2_5() -> tuple[Any, Any]:
    """Kosmos-2.5: a resampler's queries, of patches of an image in its own shape, before the words of a decoder."""
    from transformers import (
        Kosmos2_5Config,
        Kosmos2_5ForConditionalGeneration,
        Kosmos2_5ImageProcessor,
        Kosmos2_5Processor,
    )

    tokenizer = named(
        tokenizer_of("<s>", "<image>", "</image>", "<ocr>", end="</s>"),
        bos_token="<s>",
        image_token="<s>",
        boi_token="<image>",
        eoi_token="</image>",
    )
    sizes = {"hidden_size": 32, "intermediate_size": 48, "head_dim": 8, "max_num_patches": 128}
    config = Kosmos2_5Config(
        vision_config={"num_hidden_layers": 1, "num_attention_heads": 1, "patch_embed_hidden_size": 48, **sizes},
        text_config={**KOSMOS, **ids_of(tokenizer)},
        latent_query_num=4,
    )
    images = Kosmos2_5ImageProcessor(patch_size=PATCH)
    model = lively(Kosmos2_5ForConditionalGeneration(config))
    lively(model.image_to_text_projection, 1.5)
    return model, Kosmos2_5Processor(images, tokenizer, num_image_tokens=4)


def idefics() -> tuple[Any, Any]:
    """IDEFICS: layers of attention to an image between the layers of a Llama."""
    from transformers import IdeficsConfig, IdeficsForVisionText2Text, IdeficsImageProcessor, IdeficsProcessor

    tokenizer = words("<fake_token_around_image>", "<image>")
    config = IdeficsConfig(
        vision_config=without("hidden_size", VISION) | {"embed_dim": 24},
        alpha_initializer="ones",
        **ids_of(tokenizer),
        **TEXT,
    )
    return IdeficsForVisionText2Text(config), IdeficsProcessor(IdeficsImageProcessor(image_size=32), tokenizer)


def digits(number: int) -> str:
    """Return a number in letters, as Chameleon names codes of its images."""
    return "".join("ABCDEFGHIJ"[int(digit)] for digit in str(number))


def chameleon() -> tuple[Any, Any]:
    """Chameleon: codes of a VQ-VAE are words of the vocabulary of a decoder."""
    from transformers import (
        ChameleonConfig,
        ChameleonForConditionalGeneration,
        ChameleonImageProcessor,
        ChameleonProcessor,
    )

    codes = [f"IMGIMG{digits(code)}Z" for code in range(16)]
    tokenizer = words("<image>", "<racm3:break>", "<eoss>", "<reserved08706>", *codes)
    tokenizer.sep_token = "<reserved08706>"
    config = ChameleonConfig(
        vq_config={"num_embeddings": 16, "resolution": 32, **VQ},
        num_key_value_heads=2,
        vocabulary_map=tokenizer.get_vocab(),
        **ids_of(tokenizer),
        **TEXT,
    )
    images = ChameleonImageProcessor(size={"shortest_edge": 32}, crop_size=SQUARE)
    return lively(ChameleonForConditionalGeneration(config)), ChameleonProcessor(images, tokenizer, image_seq_length=16)


def emu3() -> tuple[Any, Any]:
    """Emu3: codes of a VQ-VAE, row by row, are words of the vocabulary of a decoder."""
    from transformers import Emu3Config, Emu3ForConditionalGeneration, Emu3ImageProcessor, Emu3Processor

    marks = {
        "image_token": "<image>",
        "boi_token": "<|image start|>",
        "eoi_token": "<|image end|>",
        "image_wrapper_token": "<|image token|>",
        "eof_token": "<|extra_201|>",
    }
    codes = [f"<|visual token {code:06}|>" for code in range(16)]
    sizes = [f"{height}*{width}" for height in range(2, 9) for width in range(2, 9)]
    tokenizer = named(
        tokenizer_of("<s>", "<|extra_200|>", *marks.values(), *codes, *sizes, end="</s>"), bos_token="<s>", **marks
    )
    config = Emu3Config(
        vq_config={"codebook_size": 16, "hidden_size": 32, "num_attention_heads": 4, **VQ},
        text_config={"num_key_value_heads": 2, **ids_of(tokenizer), **TEXT},
        vocabulary_map=tokenizer.get_vocab(),
    )
    images = Emu3ImageProcessor(min_pixels=32 * 32, max_pixels=48 * 48)
    processor = Emu3Processor(images, tokenizer, chat_template=chat("<image>"))
    return lively(Emu3ForConditionalGeneration(config)), processor


def janus() -> tuple[Any, Any]:
    """Janus: patches of a SigLIP in the place of placeholders of a Llama, which could make images as well."""
    from transformers import JanusConfig, JanusForConditionalGeneration, JanusImageProcessor, JanusProcessor

    marks = {"image_token": "<image>", "boi_token": "<begin_of_image>", "eoi_token": "<end_of_image>"}
    tokenizer = named(words(*marks.values()), **marks)
    vision = without("intermediate_size", VISION)
    config = JanusConfig(
        vision_config={"mlp_ratio": 2, "projection_dim": 32, "num_image_tokens": 4, **vision},
        text_config={"model_type": "llama", "num_key_value_heads": 2, **ids_of(tokenizer), **TEXT},
        vq_config={
            "num_embeddings": 16,
            "projection_dim": 32,
            "image_token_embed_dim": 32,
            **VQ,
            "channel_multiplier": [1],
        },
        image_token_id=tokenizer.image_token_id,
    )
    images = JanusImageProcessor(size=SQUARE)
    processor = JanusProcessor(images, tokenizer, num_image_tokens=4, chat_template=chat("<image>"))
    return lively(JanusForConditionalGeneration(config)), processor


def t5gemma2() -> tuple[Any, Any]:
    """T5Gemma 2: patches of a SigLIP in the place of placeholders of the encoder of an encoder-decoder."""
    from transformers import Gemma3ImageProcessor, Gemma3Processor, T5Gemma2Config, T5Gemma2ForConditionalGeneration

    marks = {"image_token": "<image_soft_token>", "boi_token": "<start_of_image>", "eoi_token": "<end_of_image>"}
    tokenizer = named(tokenizer_of(*marks.values(), end="<eos>", begin="<bos>"), **marks)
    side = {"num_key_value_heads": 2, "head_dim": 8, "query_pre_attn_scalar": 8, **ids_of(tokenizer), **TEXT}
    config = T5Gemma2Config(
        encoder={
            "text_config": side,
            "vision_config": {"model_type": "siglip_vision_model", "vision_use_head": False, **VISION},
            "mm_tokens_per_image": 4,
            "boi_token_index": tokenizer.boi_token_id,
            "eoi_token_index": tokenizer.eoi_token_id,
        },
        decoder=side,
        image_token_index=tokenizer.image_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
    )
    images = Gemma3ImageProcessor(size=SQUARE)
    model = lively(T5Gemma2ForConditionalGeneration(config))
    lively(model.get_input_embeddings(), 0.05)  # the model multiplies them
    return model, Gemma3Processor(images, tokenizer, image_seq_length=4)


MAKERS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "git": git,
    "blip-2": blip_2,
    "blip-2 with t5": blip_2_with_t5,
    "blip": blip,
    "instructblip": instructblip,
    "instructblip with t5": instructblip_with_t5,
    "florence2": florence2,
    "vision-encoder-decoder": vision_encoder_decoder,
    "trocr": trocr,
    "pix2struct": pix2struct,
    "kosmos-2": kosmos_2,
    "kosmos-2.5": kosmos_2_5,
    "idefics": idefics,
    "chameleon": chameleon,
    "emu3": emu3,
    "janus": janus,
    "t5gemma2": t5gemma2,
    "cohere_compass": cohere_compass,
    "hyperclovax_vision_v2": hyperclovax_vision_v2,
    "inkling2": inkling2,
    "inkling_mm_model": inkling,
    "minimax_m3_vl": minimax_m3_vl,
    "mistral_large4": mistral_large4,
    "muse_glimmer": muse_glimmer,
    "muse_spark": muse_spark,
    "nemotron_h_omni": nemotron_h_omni,
    "step3p7": step3p7,
    "unlimited_ocr": unlimited_ocr,
}

BLOCKS: Mapping[str, Mapping[str, Any]] = {
    "git": NO_PROMPT,
    "blip-2": PHOTO,
    "blip-2 with t5": PHOTO,
    "blip": PHOTO,
    "instructblip": PHOTO,
    "instructblip with t5": PHOTO,
    "florence2": PHOTO,
    "vision-encoder-decoder": NO_PROMPT,
    "trocr": NO_PROMPT,
    "pix2struct": {"prompt": ""},
    "kosmos-2": {"prompt": "<grounding> a photo of"},
    "kosmos-2.5": {"prompt": "<ocr>"},
    "idefics": PHOTO,
    "chameleon": {"prompt": "<image> a photo of"},
    "t5gemma2": {"prompt": "<start_of_image> a photo of"},
}

LEFT_OUT: Mapping[str, str] = {
    "diffusion_gemma": "Its words are written all at once, beginning from random ones: `generate` ignores `do_sample` "
    "and `num_beams`, and the model has no loss of a caption.",
    "evolla": "It reads sequences and structures of proteins, no images.",
    "instructblipvideo": "It reads videos of four frames; with an image `generate` ends with RuntimeError: Number of "
    "elements of source < number of ones in mask.",
    "mistral4": "`Mistral4ForCausalLM` reads no images; published models with images are of type mistral3.",
    "pi0": "Its output is movements of a robot; it has no `generate`.",
    "pp_formulanet": "Its model has no `get_input_embeddings`, and ends with AttributeError on labels: it can write "
    "formulas, and cannot be trained.",
    "udop": "It reads words with their boxes, which its processor takes from pytesseract, which is not installed; "
    "without them it ends with ValueError: You must provide corresponding bounding boxes.",
}
