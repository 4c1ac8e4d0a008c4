"""Prompts of models of the Hugging Face hub: how a processor writes a prompt, and how captions follow the prompt."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tokenizers
from PIL import Image
from torch import Tensor

from captionlab.networks.tokenizer import Tokenizer

# Files of a processor's folder that are not stored with the processor: they are stored with the captioner, or not
# needed.
_OTHERS = {"config.json", "tokenizer.json"}
# Inputs of a model, named as processors name them, that have a number for each word.
_WORDS = {"input_ids", "token_type_ids", "mm_token_type_ids"}
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
# Stands for a caption. Every tokenizer can write this word.
_PROBE = "dog"


def read_prompt(processor: Any, block: Mapping[str, Any], image: Image.Image) -> dict[str, Tensor]:
    """Return the inputs of a model, without a mask, for an image and the `prompt` or `chat` of a config.

    The inputs are tensors (1, ...). `input_ids` (1, P) end where the caption begins. A `prompt` is written as the
    processor of the type expects it, with a placeholder for the image if the processor needs one. Tokens that the
    tokenizer appends to a text are left out. A `chat` is the message of a user who shows the image, formatted with the
    chat template of the model.
    """
    if "chat" in block:
        inputs = processor.apply_chat_template(
            [_turn(block["chat"], image)],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )
        behind = 0
    else:
        inputs = processor(text=block.get("prompt", ""), images=image, return_tensors="pt")
        behind = _tokens_behind(processor.tokenizer)
    length = inputs["input_ids"].shape[1]
    found = {name: value for name, value in inputs.items() if name not in ("attention_mask", "labels")}
    return {**of_image(found), **{name: value[:, : length - behind] for name, value in of_words(found).items()}}


def of_words(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the inputs of a model that have a number for each word."""
    return {name: value for name, value in inputs.items() if name in _WORDS}


def of_image(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the inputs of a model that describe the image."""
    return {name: value for name, value in inputs.items() if name not in _WORDS}


def _tokens_behind(tokenizer: Any) -> int:
    """Return the number of tokens that a tokenizer appends to a text."""
    plain, whole = tokenizer(_PROBE, add_special_tokens=False).input_ids, tokenizer(_PROBE).input_ids
    return len(whole) - len(plain) - whole.index(plain[0])


def _turn(text: str, image: Image.Image | None = None) -> dict[str, Any]:
    shown = {"type": "image"} if image is None else {"type": "image", "image": image}
    return {"role": "user", "content": [shown, {"type": "text", "text": text}]}


def answer_form(
    processor: Any, block: Mapping[str, Any], ends: Sequence[int], prompt_ids: Sequence[int]
) -> tuple[str, int]:
    """Return the text between the prompt and a caption, "" or white space, and the id of the token that ends a caption.

    `prompt_ids` are the token ids of the prompt, and `ends` the ids that end an answer of the model. For a `chat`, the
    end token is the token that the chat template writes after an answer, if it is in `ends`. Otherwise, the end token
    is the first of `ends`. Training captions must be tokenized as the model writes its own captions: after a colon,
    `dog` and ` dog` are different tokens.
    """
    if "chat" in block:
        asked = [_turn(block["chat"])]
        told = {"role": "assistant", "content": [{"type": "text", "text": _PROBE}]}
        prompt = processor.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
        whole = processor.apply_chat_template([*asked, told], tokenize=False)
        lead, _, behind = whole.removeprefix(prompt).partition(_PROBE)
        following = processor.tokenizer(behind.strip(), add_special_tokens=False).input_ids[:1]
        end = following[0] if following and following[0] in ends else ends[0]
        return (lead, end) if whole.startswith(prompt) and not lead.strip() else ("", end)
    tokenizer, prompt = processor.tokenizer, block.get("prompt", "")
    # A processor may append more than the prompt says. PaliGemma's processor appends a line break.
    last = prompt_ids[-1]
    if not prompt or last in tokenizer.all_special_ids or tokenizer.decode([last])[-1:].isspace():
        return "", ends[0]
    ids = tokenizer(prompt, add_special_tokens=False).input_ids
    joined = tokenizer(f"{prompt} {_PROBE}", add_special_tokens=False).input_ids[len(ids) :]
    alone = tokenizer(_PROBE, add_special_tokens=False).input_ids
    return ("" if joined == alone else " "), ends[0]


class AnswerTokenizer(Tokenizer):
    """The tokenizer of a model of the Hugging Face hub. It takes the caption out of each answer of the model."""

    def __init__(
        self,
        tokenizer: tokenizers.Tokenizer,
        end: int,
        size: int,
        lead: str = "",
        first_sentence: bool = False,
        max_words: int | None = None,
    ):
        """Wrap the tokenizer of a model with `size` ids. Captions follow the text `lead` and end with the token `end`.

        White space around an answer is removed. With `first_sentence`, only the first sentence of an answer is kept.
        With `max_words`, only that many words are kept.
        """
        super().__init__(tokenizer, end)
        self._size, self.lead, self.first_sentence, self.max_words = size, lead, first_sentence, max_words

    @property
    def size(self) -> int:
        """Return the number of ids of the model. Some ids may be unused."""
        return self._size

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each caption as it follows the prompt, without an end token."""
        return super().encode([f"{self.lead}{text}" for text in texts])

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        """Return the captions in answers. Tokens after the first end token are ignored."""
        return [self._caption(text) for text in super().decode(tokens)]

    def _caption(self, answer: str) -> str:
        text = answer.strip()
        if self.first_sentence:
            text = _SENTENCE.split(text, maxsplit=1)[0].strip()
        return " ".join(text.split()[: self.max_words]) if self.max_words else text


def processor_files(processor: Any) -> dict[str, str]:
    """Return the content of each file that `save_pretrained` writes for a processor, without config and tokenizer."""
    with TemporaryDirectory() as folder:
        processor.save_pretrained(folder)
        paths = [path for path in sorted(Path(folder).iterdir()) if path.name not in _OTHERS]
        return {path.name: path.read_text(encoding="utf-8") for path in paths}


def write_processor(files: Mapping[str, str], tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files of a processor and the tokenizer into a folder."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    tokenizer.save(folder / "tokenizer.json")


def processor_of(files: Mapping[str, str], tokenizer: Tokenizer) -> Any:
    """Return the processor that is stored in these files and this tokenizer."""
    from transformers import AutoProcessor

    with TemporaryDirectory() as folder:
        write_processor(files, tokenizer, Path(folder))
        # `files` contain the class of the processor, so transformers does not need the type of the model.
        return AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
