"""Small models of types of the Hugging Face hub, with random weights, as the folders that `save_pretrained` writes.

Each is of the size of a few hundred kB. Their tokenizers know a few words, their processors make images of 32 pixels.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

WORDS = "a an the dog cat man woman red blue ball on in with next to grass street house tree of photo describe it"
TEXT: Mapping[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "initializer_range": 0.3,  # so that what is said next depends on what was said
}
VISION: Mapping[str, Any] = {
    "hidden_size": 24,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "image_size": 32,
    "patch_size": 16,
    "initializer_range": 0.3,
}
SQUARE = {"height": 32, "width": 32}
CHAT = (
    "{% for message in messages %}{{ message['role'] }} : {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}IMAGE {% else %}{{ part['text'] }} {% endif %}{% endfor %}"
    "{% if message['role'] == 'assistant' %}END{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}assistant :{% endif %}"
)


def tokenizer_of(*special: str, end: str, begin: str = "", closes: bool = False) -> Any:
    """A tokenizer of words with special tokens; `begin` begins each text, and `end` ends it where it `closes`."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    names = ["<pad>", "<unk>", end, *special, *WORDS.split(), "user", "assistant", ":", *([begin] if begin else [])]
    vocabulary = {name: number for number, name in enumerate(dict.fromkeys(names))}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if begin:
        inner.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A {end}" if closes else f"{begin} $A",
            special_tokens=[(name, vocabulary[name]) for name in {begin, end}],
        )
    names = {"bos_token": begin, **({"cls_token": begin, "sep_token": end} if closes else {})} if begin else {}
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token=end,
        additional_special_tokens=list(special),
        **names,
    )


def git() -> tuple[Any, Any]:
    """GIT: patches and words are one sequence, images without a placeholder."""
    from transformers import CLIPImageProcessor, GitConfig, GitForCausalLM, GitProcessor

    tokenizer = tokenizer_of(end="[SEP]", begin="[CLS]", closes=True)
    ids = {"vocab_size": len(tokenizer), "bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
    config = GitConfig(vision_config=dict(VISION), pad_token_id=0, max_position_embeddings=64, **ids, **TEXT)
    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=SQUARE)
    return GitForCausalLM(config), GitProcessor(images, tokenizer)


def blip_2() -> tuple[Any, Any]:
    """BLIP-2: a Q-Former's queries stand before the words of an OPT."""
    from transformers import (
        Blip2Config,
        Blip2ForConditionalGeneration,
        Blip2Processor,
        Blip2QFormerConfig,
        Blip2VisionConfig,
        BlipImageProcessor,
        OPTConfig,
    )

    tokenizer = tokenizer_of("<image>", end="</s>", begin="</s>")
    text = {name: value for name, value in TEXT.items() if name not in ("intermediate_size", "initializer_range")}
    config = Blip2Config(
        vision_config=Blip2VisionConfig(**VISION).to_dict(),
        qformer_config=Blip2QFormerConfig(encoder_hidden_size=24, **TEXT).to_dict(),
        text_config=OPTConfig(
            vocab_size=len(tokenizer),
            word_embed_proj_dim=32,
            ffn_dim=48,
            init_std=0.3,
            pad_token_id=0,
            bos_token_id=2,
            eos_token_id=2,
            max_position_embeddings=64,
            **text,
        ).to_dict(),
        num_query_tokens=4,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    images = BlipImageProcessor(size=SQUARE)
    model = Blip2ForConditionalGeneration(config)
    torch.nn.init.normal_(model.query_tokens)
    return model, Blip2Processor(images, tokenizer, num_query_tokens=4)


def llava() -> tuple[Any, Any]:
    """LLaVA: patches of a CLIP, through a projector, in the place of placeholders of a Llama."""
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    tokenizer = tokenizer_of("IMAGE", end="</s>", begin="<s>")
    image = tokenizer.convert_tokens_to_ids("IMAGE")
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**VISION),
        text_config=LlamaConfig(vocab_size=len(tokenizer), pad_token_id=0, eos_token_id=2, **TEXT),
        image_token_id=image,
        image_token_index=image,
        vision_feature_layer=-1,
    )
    images = CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=SQUARE)
    processor = LlavaProcessor(
        images,
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        chat_template=CHAT,
        image_token="IMAGE",
        num_additional_image_tokens=1,
    )
    return LlavaForConditionalGeneration(config), processor


def paligemma() -> tuple[Any, Any]:
    """PaliGemma: patches of a SigLIP and the prompt see each other in both directions."""
    from transformers import (
        GemmaConfig,
        PaliGemmaConfig,
        PaliGemmaForConditionalGeneration,
        PaliGemmaProcessor,
        SiglipImageProcessor,
        SiglipVisionConfig,
    )

    tokenizer = tokenizer_of("<image>", end="<eos>", begin="<bos>")
    images = SiglipImageProcessor(size=SQUARE)
    images.image_seq_length = 4
    processor = PaliGemmaProcessor(images, tokenizer)
    text = GemmaConfig(
        vocab_size=len(processor.tokenizer), head_dim=8, num_key_value_heads=1, pad_token_id=0, eos_token_id=2, **TEXT
    )
    config = PaliGemmaConfig(
        vision_config=SiglipVisionConfig(projection_dim=32, vision_use_head=False, **VISION),
        text_config=text,
        image_token_id=processor.image_token_id,
        projection_dim=32,
        hidden_size=32,
    )
    return PaliGemmaForConditionalGeneration(config), processor


def smolvlm() -> tuple[Any, Any]:
    """SmolVLM: patches of a SigLIP, shuffled into few, in the place of placeholders of a Llama."""
    from transformers import (
        LlamaConfig,
        SmolVLMConfig,
        SmolVLMForConditionalGeneration,
        SmolVLMImageProcessor,
        SmolVLMProcessor,
    )
    from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

    special = (
        "<image>",
        "<fake_token_around_image>",
        "<global-img>",
        "<row_1_col_1>",
        "<row_1_col_2>",
        "<row_2_col_1>",
        "<row_2_col_2>",
        "<video>",
    )
    tokenizer = tokenizer_of(*special, end="<end_of_utterance>")
    config = SmolVLMConfig(
        vision_config=dict(VISION),
        text_config=LlamaConfig(vocab_size=len(tokenizer), pad_token_id=0, eos_token_id=2, **TEXT).to_dict(),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=0,
    )
    images = SmolVLMImageProcessor(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    chat = CHAT.replace("IMAGE ", "<image> ").replace("END", "<end_of_utterance>")
    processor = SmolVLMProcessor(images, tokenizer, SmolVLMVideoProcessor(), image_seq_len=1, chat_template=chat)
    return SmolVLMForConditionalGeneration(config), processor


def qwen2_5_vl() -> tuple[Any, Any]:
    """Qwen2.5-VL: as many placeholders as an image of its shape has patches, positions in three dimensions."""
    from transformers import (
        Qwen2_5_VLConfig,
        Qwen2_5_VLForConditionalGeneration,
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
    )

    tokenizer = tokenizer_of("<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>", end="<|im_end|>")
    number = tokenizer.convert_tokens_to_ids
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    config = Qwen2_5_VLConfig(
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 32,
            "num_heads": 4,
            "out_hidden_size": 32,
            "patch_size": 4,
            "window_size": 16,
            "fullatt_block_indexes": [1],
            "initializer_range": 0.3,
        },
        text_config={
            "vocab_size": len(tokenizer),
            "num_key_value_heads": 2,
            "rope_parameters": rope,
            "pad_token_id": 0,
            "eos_token_id": 2,
            **TEXT,
        },
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
    )
    images = Qwen2VLImageProcessor(patch_size=4, size={"shortest_edge": 64, "longest_edge": 1024})
    chat = CHAT.replace("IMAGE ", "<|vision_start|> <|image_pad|> <|vision_end|> ").replace("END", "<|im_end|>")
    processor = Qwen2_5_VLProcessor(images, tokenizer, Qwen2VLVideoProcessor(patch_size=4), chat_template=chat)
    return Qwen2_5_VLForConditionalGeneration(config), processor


def vipllava() -> tuple[Any, Any]:
    """VipLLaVA, of which nothing is declared: LLaVA with several layers of its CLIP."""
    from transformers import CLIPVisionConfig, LlamaConfig, VipLlavaConfig, VipLlavaForConditionalGeneration

    _, processor = llava()
    config = VipLlavaConfig(
        vision_config=CLIPVisionConfig(**VISION),
        text_config=LlamaConfig(vocab_size=len(processor.tokenizer), pad_token_id=0, eos_token_id=2, **TEXT),
        image_token_id=processor.image_token_id,
        image_token_index=processor.image_token_id,
        vision_feature_layers=[-1, -2],
    )
    return VipLlavaForConditionalGeneration(config), processor


MAKERS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "git": git,
    "blip-2": blip_2,
    "llava": llava,
    "paligemma": paligemma,
    "smolvlm": smolvlm,
    "qwen2_5_vl": qwen2_5_vl,
    "vipllava": vipllava,
}


def hub_model(kind: str, folder: Path) -> Path:
    """Write a model of this type, and its processor, into a folder of that name."""
    torch.manual_seed(0)
    model, processor = MAKERS[kind]()
    model.generation_config.update(eos_token_id=processor.tokenizer.eos_token_id, pad_token_id=0)
    model.eval().save_pretrained(folder / kind)
    processor.save_pretrained(folder / kind)
    return folder / kind
