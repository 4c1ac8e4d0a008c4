"""Small random models of types whose decoders have experts, sliding windows, convolutions or layers of Mamba."""

from collections.abc import Mapping
from typing import Any

from support.hub_models import SQUARE, TEXT, VISION, WORDS
from support.hub_types.parts import chat, ids_of, lively, without, words

EXPERTS: Mapping[str, Any] = {"moe_intermediate_size": 16, "n_routed_experts": 4, "num_experts_per_tok": 2}
TILES: Mapping[str, int] = {"shortest_edge": 64, "longest_edge": 1024}
DEEP: Mapping[str, Any] = {"hidden_size": 32, "depth": 2, "num_heads": 4, "intermediate_size": 32, "patch_size": 4}
SLIDING: Mapping[str, Any] = {
    "num_key_value_heads": 2,
    "head_dim": 8,
    "swa_num_attention_heads": 4,
    "swa_num_key_value_heads": 2,
    "swa_head_dim": 8,
    "sliding_window_size": 16,
    "d_rel": 4,
    "rel_extent": 32,
    "layer_types": ["hybrid_sliding", "hybrid"],
}
MUSE: Mapping[str, str] = {"image": "<|patch|>", "video": "<|video|>"}
AUDIO: Mapping[str, Any] = {
    "patch_sizes": [16, 6],
    "hidden_sizes": [8, 16],
    "depths": [1, 1],
    "num_hidden_layers": 2,
    "out_hidden_size": 32,
}


def cohere_compass() -> tuple[Any, Any]:
    """Cohere Compass: as many placeholders as an image of its shape has patches, features of two depths."""
    from transformers import (
        CohereCompassConfig,
        CohereCompassForConditionalGeneration,
        CohereCompassImageProcessor,
        CohereCompassProcessor,
    )
    from transformers.models.cohere_compass.video_processing_cohere_compass import CohereCompassVideoProcessor

    marks = ("<|IMAGE_PAD|>", "<|VIDEO_PAD|>", "<|VISION_START|>", "<|VISION_END|>")
    tokenizer = words(*marks)
    numbers = tokenizer.convert_tokens_to_ids(list(marks))
    names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
    config = CohereCompassConfig(
        vision_config={"out_hidden_size": 32, "num_position_embeddings": 64, "deepstack_visual_indexes": [0], **DEEP},
        text_config={
            "num_key_value_heads": 2,
            "logit_scale": 1.0,
            "rope_parameters": {"full_attention": rope},
            **ids_of(tokenizer),
            **TEXT,
        },
        **dict(zip(names, numbers, strict=True)),
    )
    processor = CohereCompassProcessor(
        CohereCompassImageProcessor(patch_size=4, size=dict(TILES)),
        tokenizer,
        CohereCompassVideoProcessor(patch_size=4),
        chat_template=chat("<|VISION_START|> <|IMAGE_PAD|> <|VISION_END|>"),
    )
    return lively(CohereCompassForConditionalGeneration(config)), processor


def byte_level(*special: str) -> Any:
    """Return a tokenizer of GPT-2 that joins the letters of the words it knows."""
    from transformers import GPT2Tokenizer

    names = ["<pad>", "<unk>", "</s>", "<s>", *special]
    spaced = [f"Ġ{word}" for word in (*WORDS.split(), "user", "assistant", ":")]
    merges = list(dict.fromkeys((word[:end], word[end]) for word in spaced for end in range(1, len(word))))
    pieces = [*names, *(letter for word in spaced for letter in word), *(left + right for left, right in merges)]
    return GPT2Tokenizer(
        vocab={piece: number for number, piece in enumerate(dict.fromkeys(pieces))},
        merges=merges,
        pad_token="<pad>",
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(special),
    )


def hyperclovax_vision_v2() -> tuple[Any, Any]:
    """HyperCLOVA X: patches of a Qwen2.5-VL in the place of placeholders of a decoder with muP."""
    from transformers import (
        HyperCLOVAXVisionV2Config,
        HyperCLOVAXVisionV2ForConditionalGeneration,
        HyperCLOVAXVisionV2Processor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    tokenizer = byte_level("<|image_pad|>", "<|video_pad|>")
    config = HyperCLOVAXVisionV2Config(
        vision_config={
            "model_type": "qwen2_5_vl_vision",
            "out_hidden_size": 32,
            "window_size": 16,
            "fullatt_block_indexes": [1],
            **DEEP,
        },
        text_config={"model_type": "hyperclovax", "num_key_value_heads": 2, **ids_of(tokenizer), **TEXT},
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
    )
    processor = HyperCLOVAXVisionV2Processor(
        Qwen2VLImageProcessor(patch_size=4, size=dict(TILES)),
        tokenizer,
        Qwen2VLVideoProcessor(patch_size=4),
        chat_template=chat("<|image_pad|>"),
    )
    return lively(HyperCLOVAXVisionV2ForConditionalGeneration(config)), processor


def inkling2() -> tuple[Any, Any]:
    """Inkling 2: patches in the place of placeholders of a decoder with convolutions and experts."""
    from transformers import Inkling2Config, Inkling2ForConditionalGeneration, Inkling2ImageProcessor, Inkling2Processor

    tokenizer = words("<image>")
    text = without("intermediate_size", TEXT)
    config = Inkling2Config(
        text_config={
            **SLIDING,
            **EXPERTS,
            **text,
            **ids_of(tokenizer),
            "unpadded_vocab_size": len(tokenizer),
            "n_layers_per_attn_res_block": 1,
        },
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "patch_size": 8,
            "posemb_grid_size": 8,
            "projection_hidden_dim": 32,
            "text_hidden_size": 32,
            "initializer_range": 0.3,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    processor = Inkling2Processor(
        Inkling2ImageProcessor(size={"height": 16, "width": 16}),
        tokenizer,
        image_token="<image>",
        chat_template=chat("<image>"),
    )
    return lively(Inkling2ForConditionalGeneration(config)), processor


def inkling() -> tuple[Any, Any]:
    """Inkling: patches, folded by an MLP, in the place of placeholders of a decoder with convolutions and experts."""
    from transformers import (
        InklingConfig,
        InklingFeatureExtractor,
        InklingForConditionalGeneration,
        InklingImageProcessor,
        InklingProcessor,
    )

    marks = {"image": "<image>", "audio": "<audio>", "image_bos": "<|content_image|>", "audio_bos": "<|content_audio|>"}
    tokenizer = words(*marks.values())
    config = InklingConfig(
        text_config={
            **SLIDING,
            **EXPERTS,
            **TEXT,
            **ids_of(tokenizer),
            "n_shared_experts": 1,
            "logits_mup_width_multiplier": 1.0,
        },
        vision_config={"patch_size": 8, "num_hidden_layers": 4, "hidden_size": 32, "num_attention_heads": 4},
        audio_config={"n_mel_bins": 4, "mel_vocab_size": 4},
        **{f"{name}_token_id": tokenizer.convert_tokens_to_ids(mark) for name, mark in marks.items()},
    )
    processor = InklingProcessor(
        InklingFeatureExtractor(),
        InklingImageProcessor(size={"height": 8, "width": 8}),
        tokenizer,
        chat_template=chat("<|content_image|> <image>"),
        **{f"{name}_token": mark for name, mark in marks.items()},
    )
    return lively(InklingForConditionalGeneration(config)), processor


def minimax_m3_vl() -> tuple[Any, Any]:
    """MiniMax-M3: patches, merged by fours, in the place of placeholders of a decoder with experts."""
    from transformers import (
        MiniMaxM3SparseForConditionalGeneration,
        MiniMaxM3VLConfig,
        MiniMaxM3VLImageProcessor,
        MiniMaxM3VLProcessor,
    )
    from transformers.models.minimax_m3_vl.video_processing_minimax_m3_vl import MiniMaxM3VLVideoProcessor

    image, video = "]<]image[>[", "]<]video[>["
    tokenizer = words(image, video, "]<]start of image[>[", "]<]end of image[>[")
    config = MiniMaxM3VLConfig(
        vision_config={**VISION, "patch_size": 4, "hidden_size": 32},
        text_config={
            "num_key_value_heads": 2,
            "head_dim": 8,
            "rotary_dim": 4,
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "dense_intermediate_size": 48,
            "shared_intermediate_size": 16,
            "mlp_layer_types": ["dense", "sparse"],
            **ids_of(tokenizer),
            **TEXT,
        },
        projector_hidden_size=32,
        image_token_index=tokenizer.convert_tokens_to_ids(image),
        video_token_index=tokenizer.convert_tokens_to_ids(video),
    )
    processor = MiniMaxM3VLProcessor(
        MiniMaxM3VLImageProcessor(patch_size=4, size=dict(TILES)),
        tokenizer,
        MiniMaxM3VLVideoProcessor(patch_size=4),
        chat_template=chat(image),
    )
    return lively(MiniMaxM3SparseForConditionalGeneration(config)), processor


def mistral_large4() -> tuple[Any, Any]:
    """Mistral Large 4: patches of a Pixtral in the place of placeholders of a decoder that looks up few words."""
    from transformers import (
        MistralLarge4Config,
        MistralLarge4ForConditionalGeneration,
        PixtralImageProcessor,
        PixtralProcessor,
    )

    tokenizer = words("[IMG]", "[IMG_BREAK]", "[IMG_END]")
    config = MistralLarge4Config(
        vision_config={"model_type": "pixtral", **VISION, "patch_size": 4, "head_dim": 8, "hidden_size": 32},
        text_config={
            "kv_lora_rank": 16,
            "qk_rope_head_dim": 8,
            "qk_nope_head_dim": 8,
            "v_head_dim": 8,
            "num_key_value_heads": 4,
            "index_topk": 16,
            "index_head_dim": 16,
            "index_n_heads": 2,
            **EXPERTS,
            **ids_of(tokenizer),
            **TEXT,
        },
        image_token_index=tokenizer.convert_tokens_to_ids("[IMG]"),
    )
    processor = PixtralProcessor(
        PixtralImageProcessor(patch_size=4, size={"longest_edge": 32}),
        tokenizer,
        patch_size=4,
        spatial_merge_size=2,
        chat_template=chat("[IMG]"),
    )
    return lively(MistralLarge4ForConditionalGeneration(config)), processor


def muse(family: str, text: Mapping[str, Any], marks: Mapping[str, str], **parts: Any) -> tuple[Any, Any]:
    """Return a model of this family of Muse, and its processor with a chat template."""
    import transformers
    from transformers import MuseGlimmerImageProcessor
    from transformers.models.muse_glimmer.video_processing_muse_glimmer import MuseGlimmerVideoProcessor

    tokenizer = words(*marks.values(), "<|image_start|>", "<|image_end|>")
    config = getattr(transformers, f"{family}Config")(
        vision_config={
            **VISION,
            "patch_size": 4,
            "hidden_size": 32,
            "pos_emb_height": 8,
            "pos_emb_width": 8,
            "max_position_embeddings": 64,
        },
        text_config={
            "num_key_value_heads": 2,
            "head_dim": 8,
            "sliding_window": 16,
            "output_multiplier": 1.0,
            **text,
            **ids_of(tokenizer),
            **TEXT,
        },
        out_hidden_size=128,
        projector_hidden_size=32,
        **{f"{name}_token_id": tokenizer.convert_tokens_to_ids(mark) for name, mark in marks.items()},
        **({"audio_config": AUDIO} if parts else {}),
    )
    processor = getattr(transformers, f"{family}Processor")(
        image_processor=MuseGlimmerImageProcessor(patch_size=4, max_image_tokens=16),
        video_processor=MuseGlimmerVideoProcessor(patch_size=4),
        tokenizer=tokenizer,
        chat_template=chat("<|patch|>"),
        **parts,
    )
    return lively(getattr(transformers, f"{family}ForConditionalGeneration")(config)), processor


def muse_glimmer() -> tuple[Any, Any]:
    """Muse Glimmer: patches, merged by fours, in the place of placeholders of a decoder with a sliding window."""
    return muse("MuseGlimmer", {}, MUSE)


def muse_spark() -> tuple[Any, Any]:
    """Muse Spark: patches, merged by fours, in the place of placeholders of a decoder with experts, which hears too."""
    from transformers import MuseSparkFeatureExtractor

    text = {"moe_intermediate_size": 16, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_hidden_size": 16}
    return muse("MuseSpark", text, {**MUSE, "audio": "<|audio|>"}, feature_extractor=MuseSparkFeatureExtractor())


def nemotron_h_omni() -> tuple[Any, Any]:
    """Nemotron 3 Omni: patches of a RADIO in the place of placeholders of a decoder with layers of Mamba."""
    from transformers import (
        NemotronH_Omni_Reasoning_V3,
        NemotronH_Omni_Reasoning_V3_Config,
        NemotronH_Omni_Reasoning_V3ImageProcessor,
        NemotronH_Omni_Reasoning_V3Processor,
        ParakeetFeatureExtractor,
    )
    from transformers.models.nemotron_h_omni.video_processing_nemotron_h_omni import (
        NemotronH_Omni_Reasoning_V3VideoProcessor,
    )

    marks = {"image": "<image>", "video": "<video>", "audio": "<so_embedding>"}
    tokenizer = words(*marks.values(), "<img>", "</img>", "<so_start>", "<so_end>")
    config = NemotronH_Omni_Reasoning_V3_Config(
        vision_config={
            "model_type": "radio",
            **VISION,
            "patch_size": 4,
            "max_img_size": 64,
            "mlp_ratio": 2.0,
            "num_cls_tokens": 1,
            "num_registers": 1,
            "summary_idxs": [0],
            "video_temporal_patch_size": 2,
        },
        text_config={
            "model_type": "nemotron_h",
            "layers_block_type": ["linear_attention", "moe", "full_attention", "mlp"],
            "num_key_value_heads": 2,
            "head_dim": 8,
            "ssm_state_size": 8,
            "mamba_num_heads": 4,
            "mamba_head_dim": 16,
            "n_groups": 2,
            "chunk_size": 16,
            "moe_shared_expert_intermediate_size": 16,
            **EXPERTS,
            **ids_of(tokenizer),
            **without("num_hidden_layers", TEXT),
        },
        projector_hidden_size=32,
        vision_hidden_size=24,
        **{f"{name}_token_id": tokenizer.convert_tokens_to_ids(mark) for name, mark in marks.items()},
    )
    processor = NemotronH_Omni_Reasoning_V3Processor(
        NemotronH_Omni_Reasoning_V3ImageProcessor(patch_size=4, min_num_patches=16, max_num_patches=64),
        NemotronH_Omni_Reasoning_V3VideoProcessor(patch_size=4),
        tokenizer,
        ParakeetFeatureExtractor(),
        chat_template=chat("<image>"),
    )
    return lively(NemotronH_Omni_Reasoning_V3(config)), processor


def step3p7() -> tuple[Any, Any]:
    """Step 3.7: an image and, where it is long, its tiles in the place of placeholders of a decoder with experts."""
    from transformers import Step3p7Config, Step3p7ForConditionalGeneration, Step3p7ImageProcessor, Step3p7Processor

    marks = ("<im_patch>", "<im_start>", "<im_end>", "<patch_start>", "<patch_end>", "<patch_newline>")
    tokenizer = words(*marks)
    config = Step3p7Config(
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 4,
            "mlp_ratio": 2.0,
            "max_position_embeddings": 64,
        },
        text_config={
            "num_key_value_heads": 2,
            "head_dim": 8,
            "share_expert_dim": 16,
            "mlp_layer_types": ["dense", "sparse"],
            "layer_types": ["sliding_attention", "full_attention"],
            "sliding_window": 16,
            **EXPERTS,
            **ids_of(tokenizer),
            **TEXT,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<im_patch>"),
    )
    images = Step3p7ImageProcessor(size=SQUARE, patch_size=16, vision_patch_size=4, max_image_size=96)
    processor = Step3p7Processor(images, tokenizer, chat_template=chat("<im_patch>"))
    return lively(Step3p7ForConditionalGeneration(config)), processor


def unlimited_ocr() -> tuple[Any, Any]:
    """Unlimited-OCR: patches of a SAM, encoded further by a CLIP, in the place of placeholders of a decoder."""
    from transformers import (
        UnlimitedOcrConfig,
        UnlimitedOcrForConditionalGeneration,
        UnlimitedOcrImageProcessor,
        UnlimitedOcrProcessor,
    )

    tokenizer = words("<image>")
    sam = without("intermediate_size", VISION)
    config = UnlimitedOcrConfig(
        vision_config={
            "sam_config": {
                **sam,
                "patch_size": 4,
                "mlp_dim": 32,
                "output_channels": 16,
                "window_size": 4,
                "global_attn_indexes": [1],
                "downsample_channels": [16, 24],
            },
            "encoder_config": dict(VISION),
        },
        text_config={
            "num_key_value_heads": 4,
            "n_shared_experts": 1,
            "sliding_window": 16,
            **EXPERTS,
            **ids_of(tokenizer),
            **TEXT,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    images = UnlimitedOcrImageProcessor(size=SQUARE, tile_size=32, max_patches=4)
    processor = UnlimitedOcrProcessor(images, tokenizer, patch_size=4, chat_template=chat("<image>"))
    return lively(UnlimitedOcrForConditionalGeneration(config)), processor
