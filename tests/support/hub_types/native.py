"""Tiny models of types with as many image tokens as an image of its shape has patches, and of their relatives.

They share a tokenizer, whose special tokens have the names that processors and configs ask for.
"""

from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import Any

from support.hub_models import CHAT, TEXT, WORDS, qwen2_5_vl, tokenizer_of

END = "<|im_end|>"
SPECIAL: Mapping[str, str] = {
    "image_token": "<|imgpad|>",
    "video_token": "<|video_pad|>",
    "audio_token": "<|audio_comp_pad|>",
    "image_break_token": "<|row_end|>",
    **dict.fromkeys(("vision_start_token", "vision_bos_token", "image_start_token"), "<|vision_start|>"),
    **dict.fromkeys(("audio_start_token", "audio_bos_token"), "<|audio_start|>"),
    "video_start_token": "<|video_start|>",
    **dict.fromkeys([f"{kind}_end_token" for kind in ("vision", "image", "video", "audio")], "<|vision_end|>"),
    **dict.fromkeys(("vision_eos_token", "audio_eos_token"), "<|vision_end|>"),
}
TILES = {
    f"tile_{place}_token": f"<|img_{place}|>" for place in ("row_1_col_1", "row_1_col_2", "row_2_col_1", "thumbnail")
}
SLICES = {
    "slice_start_token": "<slice>",
    "slice_end_token": "</slice>",
    **dict.fromkeys(("image_id_start_token", "image_id_end_token"), "<image_id>"),
}
FRAMED = "<|vision_start|><|imgpad|><|vision_end|>"
BARE = "<|imgpad|>"
PIXELS = {"shortest_edge": 64, "longest_edge": 1024}
ROPE = {"rope_type": "default", "rope_theta": 10000.0}
GROUPED: Mapping[str, Any] = {**TEXT, "num_key_value_heads": 2, "head_dim": 8, "rope_parameters": ROPE}
MROPE: Mapping[str, Any] = {**GROUPED, "rope_parameters": {**ROPE, "mrope_section": [2, 1, 1]}}
HALF_MROPE = {**ROPE, "mrope_section": [1, 1, 0], "partial_rotary_factor": 0.5}
VISION: Mapping[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "patch_size": 4,
    "initializer_range": 0.3,
}
QWEN_VISION: Mapping[str, Any] = {**VISION, "depth": 2, "num_heads": 4, "out_hidden_size": 32}
DEEP_VISION: Mapping[str, Any] = {**QWEN_VISION, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
WINDOW_VISION: Mapping[str, Any] = {**QWEN_VISION, "window_size": 16, "fullatt_block_indexes": [1]}
EXPERTS: Mapping[str, Any] = {
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
ROUTED: Mapping[str, Any] = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
LATENT: Mapping[str, Any] = {
    **TEXT,
    **ROUTED,
    "num_key_value_heads": 4,
    "kv_lora_rank": 8,
    "q_lora_rank": 8,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 8,
    "v_head_dim": 8,
    "n_group": 1,
    "topk_group": 1,
}
HYBRID: Mapping[str, Any] = {
    **GROUPED,
    "layer_types": ["full_attention", "linear_attention"],  # in the other order, words hardly depend on the image
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "rope_parameters": HALF_MROPE,
}


def words_tokenizer(**special: str) -> Any:
    """Return a tokenizer of words whose special tokens are attributes."""
    from transformers import PreTrainedTokenizerFast

    names = {**SPECIAL, **special}
    tokenizer = tokenizer_of(*dict.fromkeys(names.values()), end=END)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token=END,
        model_specific_special_tokens=names,
    )


def letters_tokenizer() -> Any:
    """Return a tokenizer of the class that Qwen3.5 is read back with: bytes, merged letter by letter into words."""
    from transformers import Qwen3_5Tokenizer

    words = [f"Ġ{word}" for word in [*WORDS.split(), "user", "assistant", ":"]]
    merges = dict.fromkeys((word[:end], word[end]) for word in words for end in range(1, len(word)))
    pieces = dict.fromkeys([*sorted(set("".join(words))), *(left + right for left, right in merges)])
    vocabulary = {piece: number for number, piece in enumerate(["<pad>", "<unk>", END, *pieces])}
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": END, **SPECIAL}
    return Qwen3_5Tokenizer(vocab=vocabulary, merges=list(merges), **special)


def processor_of(
    name: str, *parts: Any, tokenizer: Callable[[], Any] = words_tokenizer, image: str = FRAMED, **options: Any
) -> Any:
    """Return a processor of a class of transformers; its chat template writes an image as `image`."""
    import transformers

    chat = CHAT.replace("IMAGE ", f"{image} ").replace("END", END)
    names = ("image_processor", "video_processor", "feature_extractor")
    options.update(zip(names, parts, strict=False))
    return getattr(transformers, name)(tokenizer=tokenizer(), chat_template=chat, **options)


def model_of(kind: str, processor: Any, text: Mapping[str, Any], vision: Mapping[str, Any], **options: Any) -> Any:
    """Return a model of a type with random weights, whose captions have words and an end, but no image tokens."""
    from transformers import AutoConfig, AutoModelForImageTextToText

    tokenizer = processor.tokenizer
    ids = {
        "vocab_size": len(tokenizer),
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = AutoConfig.for_model(
        kind,
        text_config={**ids, **deepcopy(text)},
        vision_config=dict(vision),
        **{f"{name}_id": getattr(tokenizer, f"{name}_id") for name in SPECIAL},
        **options,
    )
    model = AutoModelForImageTextToText.from_config(config)
    unused = [number for number in tokenizer.all_special_ids if number != tokenizer.eos_token_id]
    model.get_output_embeddings().weight.data[unused] = 0.0
    return model


def qwen(
    kind: str,
    text: Mapping[str, Any],
    vision: Mapping[str, Any],
    processor: str = "Qwen3VL",
    videos: str = "Qwen3VL",
    tokenizer: Callable[[], Any] = words_tokenizer,
    **options: Any,
) -> tuple[Any, Any]:
    """Return a model of a type whose images are prepared by the image processor of Qwen2-VL."""
    import transformers

    parts = [
        transformers.Qwen2VLImageProcessor(patch_size=4, size=PIXELS),
        getattr(transformers, f"{videos}VideoProcessor")(patch_size=4),
    ]
    ready = processor_of(f"{processor}Processor", *parts, tokenizer=tokenizer)
    return model_of(kind, ready, text, vision, **options), ready


def glm(kind: str, family: str, text: Mapping[str, Any], **size: Any) -> tuple[Any, Any]:
    """Return a GLM-4.1V or a successor, with image and video processors of a family."""
    import transformers

    images = getattr(transformers, f"{family}ImageProcessor")(patch_size=4, **(size or {"size": PIXELS}))
    videos = getattr(transformers, f"{family}VideoProcessor")(patch_size=4)
    processor = processor_of("Glm46VProcessor" if family == "Glmga" else f"{family}Processor", images, videos)
    vision = {**QWEN_VISION, "image_size": 16, "projection_intermediate_size": 32}
    return model_of(kind, processor, text, vision), processor


def ernie4_5_vl_moe() -> tuple[Any, Any]:
    """Return an ERNIE 4.5 VL: image tokens have experts of their own."""
    from transformers import Ernie4_5_VLMoeImageProcessor, Ernie4_5_VLMoeVideoProcessor

    images = Ernie4_5_VLMoeImageProcessor(patch_size=4, size=PIXELS)
    videos = Ernie4_5_VLMoeVideoProcessor(patch_size=4, draw_on_frames=False)
    processor = processor_of("Ernie4_5_VLMoeProcessor", images, videos)
    text = {**MROPE, "rope_parameters": {**ROPE, "mrope_section": [1, 1, 2]}}
    experts = {"moe_intermediate_size": [16, 16], "moe_k": 2, "moe_num_experts": 4}
    return model_of("ernie4_5_vl_moe", processor, {**text, **experts}, QWEN_VISION), processor


def paddleocr_vl() -> tuple[Any, Any]:
    """Return a PaddleOCR-VL: learned positions of patches are interpolated to the shape of an image."""
    from transformers import PaddleOCRVLImageProcessor

    processor = processor_of("PaddleOCRVLProcessor", PaddleOCRVLImageProcessor(patch_size=4, size=PIXELS))
    return model_of("paddleocr_vl", processor, MROPE, {**VISION, "image_size": 16}), processor


def pixtral(kind: str, processor: str, language: str) -> tuple[Any, Any]:
    """Return a model with the vision tower of Pixtral and a language model of the type `language`."""
    from transformers import PixtralImageProcessor

    images = PixtralImageProcessor(patch_size=8, size={"longest_edge": 32})
    special = {name: SPECIAL[name] for name in ("image_token", "image_break_token", "image_end_token")}
    ready = processor_of(processor, images, image=BARE, patch_size=4, spatial_merge_size=2, **special)
    vision = {"model_type": "pixtral", **VISION, "image_size": 32}
    return model_of(kind, ready, {"model_type": language, **GROUPED}, vision), ready


def lfm2_vl() -> tuple[Any, Any]:
    """Return an LFM2-VL: large images are cut into tiles, the language model has convolutions."""
    from transformers import Lfm2VlImageProcessor

    tokens = {"min_image_tokens": 4, "max_image_tokens": 16}
    images = Lfm2VlImageProcessor(encoder_patch_size=4, tile_size=16, max_tiles=2, **tokens)
    processor = processor_of("Lfm2VlProcessor", images, tokenizer=partial(words_tokenizer, **TILES), image=BARE)
    text = {**GROUPED, "model_type": "lfm2", "layer_types": ["full_attention", "conv"], "block_multiple_of": 16}
    vision = {**VISION, "model_type": "siglip2_vision_model", "num_patches": 16, "vision_use_head": False}
    return model_of("lfm2_vl", processor, text, vision, projector_hidden_size=32), processor


def video_llama_3() -> tuple[Any, Any]:
    """Return a VideoLLaMA 3: each patch of an image is an image token."""
    from transformers import VideoLlama3ImageProcessor, VideoLlama3VideoProcessor

    images = VideoLlama3ImageProcessor(patch_size=8, size=PIXELS)
    processor = processor_of("VideoLlama3Processor", images, VideoLlama3VideoProcessor(patch_size=8))
    text = {**GROUPED, "model_type": "qwen2"}
    return model_of("video_llama_3", processor, text, {**VISION, "patch_size": 8}), processor


def kimi_k25() -> tuple[Any, Any]:
    """Return a Kimi K2.5: the language model is a DeepSeek-V3."""
    from transformers import Kimi_K25ImageProcessor, Kimi_K25VideoProcessor

    images = Kimi_K25ImageProcessor(patch_size=4, size={"max_height": 8, "max_width": 8}, max_patches=64)
    processor = processor_of("Kimi_K25Processor", images, Kimi_K25VideoProcessor(patch_size=4))
    text = {**LATENT, "model_type": "deepseek_v3", "first_k_dense_replace": 1, "num_mtp_layers": 0}
    vision = {**VISION, "pos_emb_height": 8, "pos_emb_width": 8}
    return model_of("kimi_k25", processor, text, vision, projection_hidden_size=32), processor


def hunyuan_vl() -> tuple[Any, Any]:
    """Return a HunYuan-VL: each row of an image ends with a token, positions have four axes."""
    from transformers import HunYuanVLImageProcessor

    processor = processor_of("HunYuanVLProcessor", HunYuanVLImageProcessor(patch_size=4, size=PIXELS))
    # The last axis is the number of an image in its batch: with a section of 0, captions do not depend on it.
    rope = {**ROPE, "mrope_section": [2, 1, 1, 0]}
    text = {**GROUPED, "rope_parameters": rope}
    vision = {**VISION, "out_hidden_size": 32, "max_image_size": 32, "min_image_size": 8}
    return model_of("hunyuan_vl", processor, text, vision), processor


def omni(kind: str, family: str, text: Mapping[str, Any], vision: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the part of an Omni model of Qwen that answers in words to images, videos and sounds."""
    from transformers import Qwen2VLImageProcessor, Qwen2VLVideoProcessor, WhisperFeatureExtractor

    images = Qwen2VLImageProcessor(patch_size=4, size=PIXELS)
    parts = [images, Qwen2VLVideoProcessor(patch_size=4), WhisperFeatureExtractor(feature_size=8)]
    processor = processor_of(f"{family}Processor", *parts)
    audio = {
        "num_mel_bins": 8,
        "encoder_layers": 1,
        "encoder_attention_heads": 4,
        "encoder_ffn_dim": 32,
        "d_model": 32,
        "max_source_positions": 16,
        "output_dim": 32,
        "downsample_hidden_size": 8,
    }
    return model_of(kind, processor, text, vision, audio_config=audio, initializer_range=0.3), processor


def minicpm(kind: str, family: str, version: str) -> tuple[Any, Any]:
    """Return a MiniCPM-V or a MiniCPM-OCR: large images are cut into slices, the language model is a Qwen3.5."""
    import transformers

    sizes = {"patch_size": 4, "scale_resolution": 32, "max_slice_nums": 4, "use_image_id": False}
    images = getattr(transformers, f"{family}ImageProcessor")(**sizes)
    videos = getattr(transformers, f"{family}VideoProcessor")(**sizes)
    processor = processor_of(
        f"{version}Processor", images, videos, tokenizer=partial(words_tokenizer, **SLICES), image=BARE
    )
    names = ("image_start", "image_end", "slice_start", "slice_end")
    ids = {f"{name}_id": getattr(processor.tokenizer, f"{name}_token_id") for name in names}
    text = {**HYBRID, "model_type": "qwen3_5_text"}
    vision = {**VISION, "image_size": 32}
    return model_of(kind, processor, text, vision, insert_layer_id=0, image_size=32, **ids), processor


def cosmos3_edge() -> tuple[Any, Any]:
    """Return a Cosmos 3 Edge, whose processor writes types of tokens only where the tokenizer asks for them."""
    from transformers import Cosmos3EdgeImageProcessor, Cosmos3EdgeVideoProcessor

    images = Cosmos3EdgeImageProcessor(patch_size=4, size=PIXELS)
    processor = processor_of("Cosmos3EdgeProcessor", images, Cosmos3EdgeVideoProcessor(patch_size=4))
    processor.tokenizer.init_kwargs["return_mm_token_type_ids"] = True
    vision = {**VISION, "num_patches": 16}
    return model_of("cosmos3_edge", processor, MROPE, vision, projector_hidden_size=32), processor


def dots3_note() -> tuple[Any, Any]:
    """Return a Dots 3 Note: one layer attends to chosen tokens, one to near tokens."""
    from transformers import Dots3NoteFeatureExtractor, Qwen2VLImageProcessor, Qwen3VLVideoProcessor

    images = Qwen2VLImageProcessor(patch_size=4, size=PIXELS, temporal_patch_size=1)
    sounds = Dots3NoteFeatureExtractor(feature_size=8)
    processor = processor_of("Dots3NoteProcessor", images, Qwen3VLVideoProcessor(patch_size=4), sounds)
    text = {
        **LATENT,
        **{f"swa_{name}": LATENT[name] for name in LATENT if name.endswith(("heads", "rank", "head_dim"))},
        "head_dim": 16,
        "swa_head_dim": 16,
        "layer_types": ["indexed_attention", "sliding_attention"],
        "sliding_window": 8,
        "index_topk": 8,
        "index_head_dim": 8,
        "index_n_heads": 8,  # with few, many tokens have the same score, zero
        "shared_experts_intermediate_size": 16,
    }
    vision = {
        **VISION,
        "moe_intermediate_size": 16,
        "mlp_layer_types": ["dense", "sparse"],
        "num_local_experts": 4,
        "adapter_in_dim": 32,
        "adapter_out_dim": 32,
    }
    audio = {**TEXT, "feature_size": 8, "downsample_hidden_size": 8, "adapter_input_size": 32, "adapter_out_dim": 32}
    return model_of("dots3_note", processor, text, vision, audio_config=audio), processor


QWEN2_VISION = {**QWEN_VISION, "embed_dim": 32}
HYBRID_EXPERTS = {**HYBRID, **EXPERTS}
EXAONE = {**GROUPED, "model_type": "exaone4", "layer_types": ["full_attention"] * 2, "sliding_window": None}
EXAONE_VISION = {**WINDOW_VISION, "num_key_value_heads": 2}
HYPER = {
    **HYBRID_EXPERTS,
    "layer_types": ["indexed_attention", "linear_attention"],
    "hc_count": 2,
    "hc_lowrank": 8,
    "indexer_n_heads": 8,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 8,
    "indexer_budget": 8,
    "indexer_compress_ratio": 2,
}
GLM5 = {
    **LATENT,
    "qk_rope_head_dim": 0,
    "layer_types": ["linear_attention", "indexed_attention"],
    "mlp_layer_types": ["dense", "sparse"],
    "linear_head_dim": 8,
    "linear_num_heads": 4,
    "index_topk": 8,
    "index_head_dim": 8,
    "index_n_heads": 8,  # with few, many tokens have the same score, zero
    "index_kpool": 2,
    "hc_mult": 2,
}
LFM3 = {
    **{name: value for name, value in GROUPED.items() if name != "rope_parameters"},
    "model_type": "lfm3",
    "layer_types": ["conv", "full_attention"],
}
LFM3_VISION = {**VISION, "num_key_value_heads": 2, "layer_types": ["conv", "full_attention"]}
MAKERS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "qwen2_vl": partial(qwen, "qwen2_vl", MROPE, QWEN2_VISION, "Qwen2VL", "Qwen2VL"),
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": partial(qwen, "qwen3_vl", MROPE, DEEP_VISION),
    "qwen3_vl_moe": partial(qwen, "qwen3_vl_moe", {**MROPE, **EXPERTS}, DEEP_VISION),
    "qwen3_5": partial(qwen, "qwen3_5", HYBRID, DEEP_VISION, tokenizer=letters_tokenizer),
    "qwen3_5_moe": partial(qwen, "qwen3_5_moe", HYBRID_EXPERTS, DEEP_VISION, tokenizer=letters_tokenizer),
    "glm4v": partial(glm, "glm4v", "Glm4v", MROPE),
    "glm46v": partial(glm, "glm46v", "Glm46V", MROPE),
    "glm4v_moe": partial(glm, "glm4v_moe", "Glm4v", {**MROPE, "rope_parameters": HALF_MROPE, **ROUTED}),
    "glm_ocr": partial(glm, "glm_ocr", "Glm46V", MROPE),
    "glmga": partial(glm, "glmga", "Glmga", MROPE),
    "ernie4_5_vl_moe": ernie4_5_vl_moe,
    "paddleocr_vl": paddleocr_vl,
    "mistral3": partial(pixtral, "mistral3", "PixtralProcessor", "mistral"),
    "lfm2_vl": lfm2_vl,
    "lighton_ocr": partial(pixtral, "lighton_ocr", "LightOnOcrProcessor", "qwen3"),
    "video_llama_3": video_llama_3,
    "kimi_k25": kimi_k25,
    "hunyuan_vl": hunyuan_vl,
    "exaone4_5": partial(qwen, "exaone4_5", EXAONE, EXAONE_VISION, "Exaone4_5_", "Qwen2VL"),
    "qwen2_5_omni_thinker": partial(omni, "qwen2_5_omni_thinker", "Qwen2_5Omni", MROPE, WINDOW_VISION),
    "qwen3_omni_moe_thinker": partial(
        omni, "qwen3_omni_moe_thinker", "Qwen3OmniMoe", {**MROPE, **EXPERTS}, DEEP_VISION
    ),
    "minicpmv4_6": partial(minicpm, "minicpmv4_6", "MiniCPMV4_6", "MiniCPMV4_6"),
    "minicpmv4_7": partial(minicpm, "minicpmv4_7", "MiniCPMV4_6", "MiniCPMV4_7"),
    "minicpm_ocr": partial(minicpm, "minicpm_ocr", "MiniCPMOcr", "MiniCPMOcr"),
    "qwen4_exp": partial(qwen, "qwen4_exp", HYPER, DEEP_VISION, tokenizer=letters_tokenizer),
    "glm5_next": partial(glm, "glm5_next", "Glm5Next", GLM5, min_image_tokens=1, max_image_tokens=16),
    "cosmos3_edge": cosmos3_edge,
    "cosmos3_omni": partial(qwen, "cosmos3_omni", MROPE, DEEP_VISION),
    "lfm3_vl": partial(qwen, "lfm3_vl", LFM3, LFM3_VISION, "Lfm3Vl", projector_hidden_size=32),
    "dots3_note": dots3_note,
}
BLOCKS: Mapping[str, dict[str, str]] = {}
LEFT_OUT: Mapping[str, str] = {}
