"""Small models whose patches or tiles of images go through a projector into a decoder, with random weights.

Each is of the size of a few hundred kB. Their images have 32 pixels where a type does not ask for more.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import tokenizers
import torch
import transformers
from support.hub_models import CHAT, SQUARE, TEXT, VISION, llava, paligemma, smolvlm, tokenizer_of, vipllava

END = "</s>"
GROUPED: Mapping[str, Any] = {**TEXT, "num_key_value_heads": 2}
MIXED: Mapping[str, Any] = {**GROUPED, "layer_types": ["sliding_attention", "full_attention"]}
GEMMA: Mapping[str, Any] = {**MIXED, "num_key_value_heads": 1, "head_dim": 8}
EXPERTS: Mapping[str, Any] = {"n_routed_experts": 2, "n_shared_experts": 1, "num_experts_per_tok": 1}
SAM: Mapping[str, Any] = {**VISION, "num_hidden_layers": 1, "output_channels": 8, "window_size": 4, "mlp_dim": 32}
PINPOINTS = [[32, 64], [64, 32], [64, 64]]
GRID = [f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)]
PARTS = ("<fake_token_around_image>", "<global-img>", *GRID)


def square(side: int) -> dict[str, int]:
    """Return the size of a square image as image processors take it."""
    return {"height": side, "width": side}


def chat(image: str = "<image>") -> str:
    """Return a chat template with this placeholder of an image."""
    return CHAT.replace("IMAGE", image).replace("END", END)


def tokenizer_with(*special: str, **named: str) -> Any:
    """Return a tokenizer of words and special tokens; named tokens are attributes of the tokenizer."""
    plain = tokenizer_of(*special, *named.values(), end=END, begin="<s>")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain.backend_tokenizer,
        extra_special_tokens=list(special),
        **plain.special_tokens_map,
        **named,
    )


def model_of(
    kind: str,
    tokenizer: Any,
    image: str = "<image>",
    vision: Mapping[str, Any] = VISION,
    text: Mapping[str, Any] = TEXT,
    **settings: Any,
) -> Any:
    """Return a model of this type for the words of a tokenizer, with this placeholder of an image."""
    words = {
        "vocab_size": len(tokenizer),
        "pad_token_id": 0,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = transformers.AutoConfig.for_model(
        kind,
        vision_config=dict(vision),
        text_config={**words, **text},
        image_token_id=tokenizer.convert_tokens_to_ids(image),
        initializer_range=TEXT["initializer_range"],
        **settings,
    )
    return transformers.AutoModelForImageTextToText.from_config(config)


def enlarge(weights: Iterable[torch.nn.Parameter]) -> None:
    """Draw the weights of an image tower anew, as large as they must be for different images to look different."""
    for weight in weights:
        if weight.dim() > 1:
            torch.nn.init.kaiming_normal_(weight)


def tiles() -> Any:
    """Return an image processor that makes up to four tiles of an image, and a small image."""
    return transformers.GotOcr2ImageProcessor(size=SQUARE, crop_to_patches=True, max_patches=4)


def llava_next_images() -> Any:
    """Return an image processor that makes tiles of an image in one of three shapes, and a small image."""
    return transformers.LlavaNextImageProcessor(
        size={"shortest_edge": 32}, crop_size=SQUARE, image_grid_pinpoints=PINPOINTS
    )


def llava_next() -> tuple[Any, Any]:
    """Return a LLaVA-NeXT, which reads an image and its tiles, a token after each row of patches."""
    tokenizer = tokenizer_with("<image>")
    processor = transformers.LlavaNextProcessor(
        llava_next_images(),
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        chat_template=chat(),
        num_additional_image_tokens=1,
    )
    return model_of("llava_next", tokenizer, vision_feature_layer=-1, image_grid_pinpoints=PINPOINTS), processor


def llava_next_video() -> tuple[Any, Any]:
    """Return a LLaVA-NeXT-Video, which reads images as LLaVA-NeXT does."""
    tokenizer = tokenizer_with("<image>", "<video>")
    processor = transformers.LlavaNextVideoProcessor(
        transformers.LlavaNextVideoVideoProcessor(),
        llava_next_images(),
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        chat_template=chat(),
        num_additional_image_tokens=1,
    )
    model = model_of(
        "llava_next_video",
        tokenizer,
        vision_feature_layer=-1,
        image_grid_pinpoints=PINPOINTS,
        video_token_id=tokenizer.convert_tokens_to_ids("<video>"),
    )
    return model, processor


def llava_onevision() -> tuple[Any, Any]:
    """Return a LLaVA-OneVision, which reads an image and its tiles, seen by a SigLIP."""
    tokenizer = tokenizer_with("<image>", "<video>")
    processor = transformers.LlavaOnevisionProcessor(
        transformers.LlavaOnevisionImageProcessor(size=SQUARE, image_grid_pinpoints=PINPOINTS),
        tokenizer,
        transformers.LlavaOnevisionVideoProcessor(),
        num_image_tokens=4,
        vision_feature_select_strategy="full",
        chat_template=chat(),
    )
    video = tokenizer.convert_tokens_to_ids("<video>")
    settings = {"image_grid_pinpoints": PINPOINTS, "video_token_id": video}
    return model_of("llava_onevision", tokenizer, text=GROUPED, **settings), processor


def video_llava() -> tuple[Any, Any]:
    """Return a Video-LLaVA, which has a tower of images and a tower of videos."""
    tokenizer = tokenizer_with("<image>", "<video>")
    processor = transformers.VideoLlavaProcessor(
        transformers.VideoLlavaImageProcessor(size={"shortest_edge": 32}, crop_size=SQUARE),
        transformers.VideoLlavaVideoProcessor(),
        tokenizer,
        patch_size=16,
        chat_template=chat(),
    )
    video = tokenizer.convert_tokens_to_ids("<video>")
    return model_of("video_llava", tokenizer, video_token_id=video, vision_feature_layer=-1), processor


def idefics3() -> tuple[Any, Any]:
    """Return an Idefics3, which reads tiles and the whole image, four patches as a token."""
    tokenizer = tokenizer_with("<image>", "<end_of_utterance>", *PARTS)
    images = transformers.Idefics3ImageProcessor(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    processor = transformers.Idefics3Processor(images, tokenizer, image_seq_len=1, chat_template=chat())
    return model_of("idefics3", tokenizer, scale_factor=2, pad_token_id=0), processor


def idefics2() -> tuple[Any, Any]:
    """Return an Idefics2, whose Perceiver makes two tokens of an image of any shape."""
    tokenizer = tokenizer_with("<image>", "<fake_token_around_image>", "<end_of_utterance>")
    images = transformers.Idefics2ImageProcessor(size={"shortest_edge": 24, "longest_edge": 32})
    processor = transformers.Idefics2Processor(images, tokenizer, image_seq_len=2, chat_template=chat())
    perceiver = {
        "hidden_size": 32,
        "resampler_n_latents": 2,
        "resampler_depth": 1,
        "resampler_n_heads": 2,
        "resampler_head_dim": 16,
        "num_key_value_heads": 1,
        "initializer_range": 0.3,
    }
    return model_of("idefics2", tokenizer, text=GROUPED, perceiver_config=perceiver), processor


def internvl() -> tuple[Any, Any]:
    """Return an InternVL, which reads tiles and the whole image, four patches as a token."""
    tokenizer = tokenizer_with(
        start_image_token="<img>", end_image_token="</img>", context_image_token="<IMG_CONTEXT>", video_token="<video>"
    )
    videos = transformers.InternVLVideoProcessor()
    template = chat("<IMG_CONTEXT>")
    processor = transformers.InternVLProcessor(tiles(), tokenizer, videos, image_seq_length=1, chat_template=template)
    return model_of("internvl", tokenizer, "<IMG_CONTEXT>", text=GROUPED, image_seq_length=1), processor


def qianfan_ocr() -> tuple[Any, Any]:
    """Return a Qianfan-OCR, which reads tiles and the whole image, and writes by a Qwen3."""
    tokenizer = tokenizer_with(
        "<image>", start_image_token="<img>", end_image_token="</img>", context_image_token="<IMG_CONTEXT>"
    )
    processor = transformers.QianfanOCRProcessor(tiles(), tokenizer, image_seq_length=1, chat_template=chat())
    text = {**GROUPED, "head_dim": 8}
    return model_of("qianfan_ocr", tokenizer, "<IMG_CONTEXT>", text=text, image_seq_length=1), processor


def aya_vision() -> tuple[Any, Any]:
    """Return an Aya Vision, which reads numbered tiles and the whole image, four patches as a token."""
    marks = ("<|START_OF_IMG|>", "<|END_OF_IMG|>", "<|IMG_PATCH|>", "<|IMG_LINE_BREAK|>", "TILE_GLOBAL")
    tokenizer = tokenizer_with("<image>", *marks, *(f"TILE_{number}" for number in range(1, 5)))
    processor = transformers.AyaVisionProcessor(
        tiles(), tokenizer, patch_size=16, img_size=32, downsample_factor=2, chat_template=chat()
    )
    return model_of("aya_vision", tokenizer, "<|IMG_PATCH|>", text=MIXED), processor


def cohere2_vision() -> tuple[Any, Any]:
    """Return a Command A Vision, which reads tiles and the whole image, each with a line break."""
    tokenizer = tokenizer_with(
        boi_token="<|START_OF_IMG|>",
        eoi_token="<|END_OF_IMG|>",
        image_token="<|IMG_PATCH|>",
        img_line_break_token="<|IMG_LINE_BREAK|>",
    )
    images = transformers.Cohere2VisionImageProcessor(size=SQUARE, max_patches=4, patch_size=1)
    processor = transformers.Cohere2VisionProcessor(images, tokenizer, chat_template=chat("<|IMG_PATCH|>"))
    model = model_of("cohere2_vision", tokenizer, "<|IMG_PATCH|>", text=MIXED, alignment_intermediate_size=32)
    return model, processor


def ovis2() -> tuple[Any, Any]:
    """Return an Ovis2, each of whose patches chooses among words of images."""
    marks = ("<IMG_START>", "<IMG_GRID>", "<IMG_COL>", "<IMG_ROW>", "<IMG_END>")
    tokenizer = tokenizer_with("<image>", "<IMG_ATOM>", *marks)
    images = transformers.Ovis2ImageProcessor(size=SQUARE, crop_to_patches=True, max_patches=4)
    model = model_of(
        "ovis2",
        tokenizer,
        "<IMG_ATOM>",
        {**VISION, "vocab_size": 16},
        GROUPED,
        visual_indicator_token_ids=tokenizer.convert_tokens_to_ids(list(marks)),
        vocab_size=len(tokenizer),
        hidden_size=32,
    )
    return model, transformers.Ovis2Processor(images, tokenizer, chat(), image_seq_length=4)


def perception_lm() -> tuple[Any, Any]:
    """Return a PerceptionLM without tiles, because its processor cannot batch images of different numbers of tiles."""
    tokenizer = tokenizer_with(image_token="<image>", video_token="<video>")
    widths = {"embed_dim": 24, "depth": 2, "num_heads": 2}
    tower = {**widths, "img_size": [32, 32], "patch_size": 8, "ref_feat_shape": [4, 4], "init_values": 1.0}
    vision = {"architecture": "vit_pe_lang_large_patch14_448", "model_args": {**tower, "global_pool": ""}}
    images = transformers.PerceptionLMImageProcessor(tile_size=32, vision_input_type="vanilla")
    processor = transformers.PerceptionLMProcessor(
        transformers.PerceptionLMVideoProcessor(), images, tokenizer, patch_size=8, chat_template=chat()
    )
    settings = {"projector_pooling_ratio": 2, "video_token_id": tokenizer.video_token_id}
    return model_of("perception_lm", tokenizer, vision=vision, **settings), processor


def fast_vlm() -> tuple[Any, Any]:
    """Return a FastVLM, whose tower is a convolutional network that makes four tokens of an image."""
    tokenizer = tokenizer_with("<image>")
    tower = {"layers": [1] * 5, "embed_dims": [16, 16, 16, 32, 32]}
    vision = {"architecture": "fastvit_mci3", "hidden_size": 64, "model_args": tower}
    images = transformers.CLIPImageProcessor(size={"shortest_edge": 128}, crop_size=square(128))
    processor = transformers.LlavaProcessor(
        images, tokenizer, patch_size=64, vision_feature_select_strategy="full", chat_template=chat()
    )
    model = model_of("fast_vlm", tokenizer, vision=vision, text=GROUPED)
    enlarge(model.model.vision_tower.parameters())
    return model, processor


def gemma3() -> tuple[Any, Any]:
    """Return a Gemma 3, in which the patches of an image see each other in both directions."""
    tokenizer = tokenizer_with(boi_token="<start_of_image>", eoi_token="<end_of_image>", image_token="<image_soft>")
    processor = transformers.Gemma3Processor(
        transformers.Gemma3ImageProcessor(size=SQUARE), tokenizer, chat("<start_of_image>"), image_seq_length=4
    )
    model = model_of(
        "gemma3",
        tokenizer,
        "<image_soft>",
        text=GEMMA,
        mm_tokens_per_image=4,
        tie_word_embeddings=False,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
    )
    torch.nn.init.normal_(model.model.multi_modal_projector.mm_input_projection_weight)  # zeros until it is trained
    return model, processor


def gemma3n() -> tuple[Any, Any]:
    """Return a Gemma 3n, whose decoder has several streams and embeddings of words in each layer."""
    tokens = {"boi": "<start_of_image>", "eoi": "<end_of_image>", "boa": "<start_of_audio>", "eoa": "<end_of_audio>"}
    tokens["audio"] = "<audio_soft>"
    tokenizer = tokenizer_with(image_token="<image_soft>", **{f"{name}_token": tokens[name] for name in tokens})
    layers = {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": len(tokenizer), "num_kv_shared_layers": 0}
    layers |= {"laurel_rank": 4, "activation_sparsity_pattern": [0.0, 0.0]}
    audio = {"hidden_size": 16, "conf_num_attention_heads": 2, "conf_num_hidden_layers": 1}
    tower = {"depths": [1, 1, 1, 1], "dims": [8, 8, 8, 16], "ls_init_value": 1.0}
    vision = {"architecture": "test_convnext", "hidden_size": 16, "model_args": tower}
    model = model_of(
        "gemma3n",
        tokenizer,
        "<image_soft>",
        {**vision, "vocab_size": 1, "vocab_offset": len(tokenizer)},
        {**GEMMA, **layers, "initializer_range": 0.1},  # no larger, or words drown the image
        audio_config={**audio, "sscp_conv_channel_size": [4, 4], "vocab_size": 1, "vocab_offset": len(tokenizer) + 1},
        vision_soft_tokens_per_image=4,
        tie_word_embeddings=False,
        **{f"{name}_token_id": tokenizer.convert_tokens_to_ids(token) for name, token in tokens.items()},
    )
    enlarge(model.model.vision_tower.parameters())
    images = transformers.SiglipImageProcessor(size=square(64))
    sounds = transformers.Gemma3nAudioFeatureExtractor()
    return model, transformers.Gemma3nProcessor(sounds, images, tokenizer, chat("<image_soft>"), image_seq_length=4)


def gemma4_like(name: str, vision: Mapping[str, Any], text: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return a model of the classes of this name, which reads an image of any shape as at most 70 tokens."""
    tokens = {"boi": "<|image>", "eoi": "<image|>", "audio": "<|audio|>", "boa": "<|audio>"}
    named = {"image_token": "<|image|>", "eoa_token": "<audio|>", **{f"{key}_token": tokens[key] for key in tokens}}
    tokenizer = tokenizer_with("<|video|>", **named)
    processor = getattr(transformers, f"{name}Processor")(
        getattr(transformers, f"{name}AudioFeatureExtractor")(),
        getattr(transformers, f"{name}ImageProcessor")(patch_size=2, max_soft_tokens=70),
        tokenizer,
        getattr(transformers, f"{name}VideoProcessor")(),
        chat("<|image|>"),
    )
    layers = {"global_head_dim": 8, "vocab_size_per_layer_input": len(tokenizer)}
    model = model_of(
        {"Gemma4": "gemma4", "Gemma4Unified": "gemma4_unified"}[name],
        tokenizer,
        "<|image|>",
        {**vision, "patch_size": 2},
        {**GEMMA, **layers, **text},
        tie_word_embeddings=False,
        video_token_id=tokenizer.convert_tokens_to_ids("<|video|>"),
        **{f"{key}_token_id": tokenizer.convert_tokens_to_ids(token) for key, token in tokens.items()},
    )
    return model, processor


def gemma4() -> tuple[Any, Any]:
    """Return a Gemma 4, which sees nine patches as a token."""
    vision = {**VISION, "num_key_value_heads": 4, "head_dim": 8, "position_embedding_size": 64}
    return gemma4_like("Gemma4", vision, {"hidden_size_per_layer_input": 8})


def gemma4_unified() -> tuple[Any, Any]:
    """Return a Gemma 4 Unified, whose decoder reads pixels through linear layers."""
    vision = {"mm_embed_dim": 32, "mm_posemb_size": 64, "output_proj_dims": 32, "initializer_range": 0.3}
    return gemma4_like("Gemma4Unified", vision, {})


def mllama() -> tuple[Any, Any]:
    """Return an Mllama, whose second layer attends to the tiles of an image."""
    tokenizer = tokenizer_with("<|image|>", "<|python_tag|>")
    images = transformers.MllamaImageProcessor(size=SQUARE)
    vision = {**VISION, "vision_output_dim": 48, "num_global_layers": 1, "intermediate_layers_indices": [1]}
    model = model_of("mllama", tokenizer, "<|image|>", vision, {**GROUPED, "cross_attention_layers": [1]})
    for name, parameter in model.named_parameters():
        if name.endswith(("attn_gate", "mlp_gate")):
            torch.nn.init.ones_(parameter)  # zeros until it is trained
    return model, transformers.MllamaProcessor(images, tokenizer, chat_template=chat("<|image|>"))


def llama4() -> tuple[Any, Any]:
    """Return a Llama 4, which reads separated tiles, four patches as a token, and writes by experts."""
    marks = ("<|image_start|>", "<|image_end|>", "<|patch|>", "<|tile_x_separator|>", "<|tile_y_separator|>")
    tokenizer = tokenizer_with("<|image|>", *marks)
    images = transformers.Llama4ImageProcessor(size=SQUARE, max_patches=4)
    processor = transformers.Llama4Processor(images, tokenizer, patch_size=16, chat_template=chat("<|image|>"))
    widths = {name: 32 for name in ("hidden_size", "vision_output_dim", "projector_input_dim", "projector_output_dim")}
    vision = {**VISION, **widths, "intermediate_size": 128}
    text = {**GROUPED, "intermediate_size_mlp": 48, "head_dim": 8, "num_local_experts": 2, "moe_layers": [1]}
    return model_of("llama4", tokenizer, "<|patch|>", vision, text), processor


def sam_model(kind: str, tokenizer: Any, side: int) -> Any:
    """Return a model of this type that reads each 16 by 16 pixels of a square image as a token."""
    vision = {**SAM, "image_size": side, "patch_size": 4, "global_attn_indexes": []}
    return model_of(kind, tokenizer, "<imgpad>", vision, GROUPED, image_seq_length=(side // 16) ** 2)


def got_ocr2() -> tuple[Any, Any]:
    """Return a GOT-OCR 2, which reads an image as the 256 tokens that its processor counts on."""
    tokenizer = tokenizer_with("<|im_start|>", "<|im_end|>", "<img>", "</img>", "<imgpad>")
    images = transformers.GotOcr2ImageProcessor(size=square(256))
    return sam_model("got_ocr2", tokenizer, 256), transformers.GotOcr2Processor(images, tokenizer)


def pp_chart2table() -> tuple[Any, Any]:
    """Return a PP-Chart2Table, whose chat template has all placeholders of an image."""
    tokenizer = tokenizer_with("<img>", "</img>", "<imgpad>")
    images = transformers.PPChart2TableImageProcessor(size=SQUARE)
    template = chat(f"<img> {'<imgpad>' * 4} </img>")
    return sam_model("pp_chart2table", tokenizer, 32), transformers.PPChart2TableProcessor(images, tokenizer, template)


def deepseek_ocr2() -> tuple[Any, Any]:
    """Return a DeepSeek-OCR 2, in which a language model makes 256 tokens of an image."""
    tokenizer = tokenizer_with(image_token="<image>")
    images = transformers.DeepseekOcr2ImageProcessor(size=square(256), tile_size=192)
    sam = {**SAM, "image_size": 256, "patch_size": 4, "global_attn_indexes": [], "downsample_channels": [8, 32]}
    model = model_of(
        "deepseek_ocr2",
        tokenizer,
        vision={"sam_config": sam, "encoder_config": {**GROUPED, "vocab_size": 1}},
        text={**TEXT, **EXPERTS, "moe_intermediate_size": 16, "mlp_layer_types": ["dense", "sparse"]},
    )
    return model, transformers.DeepseekOcr2Processor(images, tokenizer, chat(), patch_size=4)


def deepseek_vl() -> tuple[Any, Any]:
    """Return a DeepSeek-VL, which reads each patch of an image as a token."""
    tokenizer = tokenizer_with(image_token="<image>")
    images = transformers.DeepseekVLImageProcessor(size=SQUARE)
    processor = transformers.DeepseekVLProcessor(images, tokenizer, chat(), num_image_tokens=4)
    return model_of("deepseek_vl", tokenizer), processor


def deepseek_vl_hybrid() -> tuple[Any, Any]:
    """Return a DeepSeek-VL with a SAM that sees the image in a higher resolution."""
    tokenizer = tokenizer_with(image_token="<image>")
    images = transformers.DeepseekVLHybridImageProcessor(size=SQUARE, high_res_size=square(64))
    processor = transformers.DeepseekVLHybridProcessor(images, tokenizer, chat(), num_image_tokens=4)
    sam = {**SAM, "image_size": 64, "global_attn_indexes": [0]}
    return model_of("deepseek_vl_hybrid", tokenizer, high_res_vision_config=sam), processor


def fuyu() -> tuple[Any, Any]:
    """Return a Fuyu, whose decoder reads the pixels of a patch through a linear layer."""
    vocabulary = tokenizer_with("|SPEAKER|", "|NEWLINE|", "<0x04>").get_vocab()
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    words.normalizer = tokenizers.normalizers.Prepend("_ ")  # its processor leaves out the first token
    marks = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\|[A-Z]+\||<0x04>"), "isolated")
    words.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([marks, tokenizers.pre_tokenizers.WhitespaceSplit()])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", unk_token="<unk>", bos_token="<s>", eos_token=END
    )
    config = transformers.FuyuConfig(
        text_config={**TEXT, "vocab_size": len(tokenizer), "eos_token_id": tokenizer.eos_token_id},
        image_size=32,
        patch_size=16,
        image_token_id=tokenizer.convert_tokens_to_ids("|SPEAKER|"),
    )
    images = transformers.FuyuImageProcessor(size=SQUARE, patch_size=square(16))
    return transformers.FuyuForCausalLM(config), transformers.FuyuProcessor(images, tokenizer)


def granite4_vision() -> tuple[Any, Any]:
    """Return a Granite 4 Vision, whose Q-Formers add features of tiles in several layers of the decoder."""
    tokenizer = tokenizer_with("<image>")
    shapes = [[64, 128], [128, 64]]
    settings: dict[str, Any] = {"vision_feature_select_strategy": "full", "downsample_rate": "2/4"}
    model = model_of(
        "granite4_vision",
        tokenizer,
        vision={**VISION, "model_type": "siglip_vision_model", "hidden_size": 64, "image_size": 64, "patch_size": 16},
        text=GROUPED,
        vision_feature_layer=-1,
        deepstack_layer_map=[[-1, 0]],
        spatial_target_layers=[1],
        image_grid_pinpoints=shapes,
        qformer_config={"num_hidden_layers": 1, "intermediate_size": 32, "initializer_range": 0.3},
        **settings,
    )
    images = transformers.LlavaNextImageProcessor(
        size={"shortest_edge": 64}, crop_size=square(64), image_grid_pinpoints=shapes
    )
    processor = transformers.Granite4VisionProcessor(images, tokenizer, patch_size=16, chat_template=chat(), **settings)
    return model, processor


def granite_docling() -> tuple[Any, Any]:
    """Return a Granite Docling, which reads tiles and the whole image, sixteen patches as a token."""
    tokenizer = tokenizer_with("<image>", *PARTS)
    images = transformers.GraniteDoclingImageProcessor(size=SQUARE, max_patches=4)
    vision = {**VISION, "patch_size": 8, "out_hidden_size": 32, "scale_factor": 4, "deepstack_visual_indexes": [0]}
    scales = {"embedding_multiplier": 1.0, "residual_multiplier": 1.0, "logits_scaling": 1.0}
    model = model_of(
        "granite_docling",
        tokenizer,
        vision=vision,
        text={**TEXT, **scales, "attention_multiplier": 0.4},
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    return model, transformers.GraniteDoclingProcessor(images, tokenizer, image_seq_len=1, chat_template=chat())


def aria() -> tuple[Any, Any]:
    """Return an Aria, which makes two tokens of an image of 980 pixels, and writes by experts."""
    tokenizer = tokenizer_with(image_token="<image>")
    processor = transformers.AriaProcessor(
        transformers.AriaImageProcessor(), tokenizer, chat(), size_conversion={490: 2, 980: 2}
    )
    model = model_of(
        "aria",
        tokenizer,
        vision={**VISION, "hidden_size": 8, "image_size": 980, "patch_size": 70},
        text={**TEXT, "moe_num_experts": 2, "moe_topk": 1, "moe_num_shared_experts": 1},
        projector_patch_to_query_dict={196: 2},
    )
    return model, processor


def molmo2() -> tuple[Any, Any]:
    """Return a Molmo 2, which reads overlapping tiles and the whole image, four patches as a token."""
    marks = ("im_patch", "im_col", "im_start", "low_res_im_start", "frame_start", "im_end", "frame_end", "im_low")
    tokenizer = tokenizer_with("<|image|>", "<|video|>", *(f"<{mark}>" for mark in marks))
    number = {mark: tokenizer.convert_tokens_to_ids(f"<{mark}>") for mark in marks}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 8, "initializer_range": 0.3}
    widths = {"hidden_size": 24, "intermediate_size": 32, "text_hidden_size": 32}
    model = model_of(
        "molmo2",
        tokenizer,
        "<im_patch>",
        {**VISION, **heads, "image_size": [32, 32], "patch_size": 8},
        {**GROUPED, "head_dim": 8, "additional_vocab_size": 0},
        adapter_config={**heads, **widths, "vision_feature_layer": [1, 0]},
        image_start_token_id=number["im_start"],
        low_res_image_start_token_id=number["low_res_im_start"],
        image_end_token_id=number["im_end"],
        frame_start_token_id=number["frame_start"],
        frame_end_token_id=number["frame_end"],
    )
    images = transformers.Molmo2ImageProcessor(size=SQUARE, patch_size=8, max_crops=4, overlap_margins=[1, 1])
    videos = transformers.Molmo2VideoProcessor()
    return model, transformers.Molmo2Processor(images, videos, tokenizer, chat_template=chat("<|image|>"))


MAKERS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "llava": llava,
    "paligemma": paligemma,
    "smolvlm": smolvlm,
    "vipllava": vipllava,
    "llava_next": llava_next,
    "llava_onevision": llava_onevision,
    "idefics3": idefics3,
    "idefics2": idefics2,
    "internvl": internvl,
    "gemma3": gemma3,
    "gemma3n": gemma3n,
    "gemma4": gemma4,
    "mllama": mllama,
    "llama4": llama4,
    "aya_vision": aya_vision,
    "cohere2_vision": cohere2_vision,
    "got_ocr2": got_ocr2,
    "pp_chart2table": pp_chart2table,
    "fuyu": fuyu,
    "fast_vlm": fast_vlm,
    "perception_lm": perception_lm,
    "ovis2": ovis2,
    "video_llava": video_llava,
    "llava_next_video": llava_next_video,
    "granite4_vision": granite4_vision,
    "granite_docling": granite_docling,
    "deepseek_vl": deepseek_vl,
    "deepseek_vl_hybrid": deepseek_vl_hybrid,
    "aria": aria,
    "gemma4_unified": gemma4_unified,
    "molmo2": molmo2,
    "qianfan_ocr": qianfan_ocr,
    "deepseek_ocr2": deepseek_ocr2,
}
BLOCKS: Mapping[str, dict[str, str]] = {
    "paligemma": {"prompt": "<image>describe it"},
    "got_ocr2": {"prompt": "<img> <imgpad> </img> describe it"},
    "fuyu": {"prompt": "describe it"},
}
ONE_CAPTION: Mapping[str, str] = {
    "fuyu": "`generate` repeats the patches of all images in a row, in place of the images of each prompt.",
    "llama4": "A search with beams ends in `Image features and image tokens do not match`, because generate repeats "
    "the pooled features of an image for each beam, and this type reads other features.",
}
LEFT_OUT: Mapping[str, str] = {
    "shieldgemma2": "Its processor asks three questions of its own about each image, and the weights that transformers "
    "saves of it have other names than the weights that it reads.",
}
