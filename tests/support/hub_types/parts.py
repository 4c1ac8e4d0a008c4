"""Parts that small random models of many types share: tokenizers, chat templates and weights."""

from collections.abc import Mapping
from typing import Any

import torch
from support.hub_models import CHAT, tokenizer_of


def lively(model: Any, scale: float = 0.3) -> Any:
    """Return the model with matrices so large that its captions depend on the image and on the words so far."""
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(std=scale)
    return model


def named(tokenizer: Any, **tokens: str) -> Any:
    """Return the tokenizer with names of special tokens: `image_token="<image>"` makes `tokenizer.image_token`."""
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.backend_tokenizer,
        extra_special_tokens=tokenizer.extra_special_tokens,
        **tokenizer.special_tokens_map,
        **tokens,
    )


def ids_of(tokenizer: Any, **more: Any) -> dict[str, Any]:
    """Return the size of the vocabulary and the numbers of special tokens, as configurations name them."""
    names = ("bos_token_id", "eos_token_id", "pad_token_id")
    return {"vocab_size": len(tokenizer), **{name: getattr(tokenizer, name) for name in names}, **more}


def words(*special: str) -> Any:
    """Return a tokenizer whose texts begin with `<s>` and whose captions end with `</s>`."""
    return tokenizer_of(*special, end="</s>", begin="<s>")


def chat(image: str) -> str:
    """Return a chat template that writes this text for an image."""
    return CHAT.replace("IMAGE ", f"{image} ")


def without(name: str, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes without the size of this name."""
    return {key: size for key, size in sizes.items() if key != name}
