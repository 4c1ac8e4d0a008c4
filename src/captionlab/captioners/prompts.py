"""Prompts of models of the Hugging Face hub: how a processor writes a prompt, and how captions follow the prompt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import tokenizers
from jinja2 import TemplateError
from PIL import Image
from torch import Tensor

from captionlab.networks import hub
from captionlab.networks.checkpoints import CheckpointError
from captionlab.networks.tokenizer import Tokenizer
from captionlab.texts.answers import caption_in

# Files of a processor's folder that are not stored with the processor: they are stored with the captioner, or not
# needed.
_OTHERS = {"config.json", "tokenizer.json"}
# Stands for a caption. Every tokenizer can write this word.
_PROBE = "dog"


@dataclass(frozen=True)
class Prompter:
    """Writes the inputs of a model for images, as the processor of the model makes them."""

    processor: Any
    """processor of images and texts"""
    block: Mapping[str, Any]
    """`prompt` or `chat` of the config"""
    reads_prompt: Literal["decoder", "encoder", "none"]
    """what reads the prompt: the decoder continues it, an encoder of texts reads it, or images are the only input"""

    def __call__(self, images: Sequence[Image.Image]) -> dict[str, Any]:
        """Return the inputs of a model for images and the prompt, which are padded as the model expects.

        A `prompt` is written as the processor of the type expects it, with a placeholder for the image if the processor
        needs one. If the decoder continues it, tokens that the tokenizer appends to a text are left out. A `chat` is
        the message of a user who shows the image, formatted with the chat template of the model. Raises CheckpointError
        if the processor refuses the prompt.
        """
        if "chat" in self.block and not self.processor.chat_template:
            raise CheckpointError("the model has no chat template; give a `prompt` in place of `chat`")
        side = "left" if self.reads_prompt == "decoder" else "right"
        try:
            inputs = self._written(images, {"padding": True, "padding_side": side})
        except (ValueError, IndexError, KeyError, TypeError, TemplateError) as error:
            raise CheckpointError(
                f"the processor cannot write the prompt {self.text!r} for an image ({error}); write it as the page of "
                "the model does, with one placeholder for the image, or use `chat`"
            ) from error
        found = {name: value for name, value in inputs.items() if name != "labels"}
        behind = self._behind
        if behind and "input_ids" in found:
            length = found["input_ids"].shape[1]
            words = {name: value[:, : length - behind] for name, value in of_words(found).items()}
            found |= words
        return found

    @property
    def text(self) -> str:
        """Return the text of the prompt or of the message."""
        return str(self.block.get("chat", self.block.get("prompt", "")))

    def _written(self, images: Sequence[Image.Image], options: Mapping[str, Any]) -> Mapping[str, Any]:
        if "chat" in self.block:
            return self.processor.apply_chat_template(
                [[turn(self.text, image)] for image in images],
                add_generation_prompt=True,
                tokenize=True,
                return_dict=True,
                return_tensors="pt",
                processor_kwargs=dict(options),
            )
        if self.reads_prompt == "none":
            return self.processor(images=list(images), return_tensors="pt")
        flat, nested = list(images), [[image] for image in images]
        texts = [self.text] * len(images)
        # Processors take the images as a list, or as a list for each text; those of chats take lists of both kinds.
        first, second = (nested, flat) if self.processor.chat_template else (flat, nested)
        try:
            return self.processor(images=first, text=texts, return_tensors="pt", **options)
        except ValueError as error:
            try:
                return self.processor(images=second, text=texts, return_tensors="pt", **options)
            except ValueError:
                raise error from None

    @cached_property
    def _behind(self) -> int:
        """Return the number of tokens that the tokenizer appends to a prompt that the decoder continues."""
        if "chat" in self.block or self.reads_prompt != "decoder":
            return 0
        return _tokens_behind(self.processor.tokenizer)


def of_words(inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    """Return the inputs of a model that have a whole number for each word: integers (B, P, ...)."""
    words = inputs.get("input_ids")
    return {
        name: value
        for name, value in inputs.items()
        if isinstance(value, Tensor)
        and words is not None
        and not value.is_floating_point()
        and value.shape[:2] == words.shape
        and not name.startswith(("pixel", "image_sizes", "image_grid"))
    }


def _tokens_behind(tokenizer: Any) -> int:
    """Return the number of tokens that a tokenizer appends to a text."""
    plain, whole = tokenizer(_PROBE, add_special_tokens=False).input_ids, tokenizer(_PROBE).input_ids
    return len(whole) - len(plain) - whole.index(plain[0])


def turn(text: str, image: Image.Image | None = None) -> dict[str, Any]:
    """Return a message of a user who shows an image and writes a text."""
    shown = {"type": "image"} if image is None else {"type": "image", "image": image}
    return {"role": "user", "content": [shown, {"type": "text", "text": text}]}


def answer_form(prompter: Prompter, ends: Sequence[int], prompt_ids: Tensor | None) -> tuple[str, int]:
    """Return the text between the prompt and a caption, "" or white space, and the id of the token that ends a caption.

    `prompt_ids` (1, P) are the token ids of the prompt, and `ends` the ids that end an answer of the model. For a chat,
    the end token is the token that the chat template writes after an answer, if it is in `ends`. Otherwise, the end
    token is the first of `ends`. Training captions must be tokenized as the model writes its own captions: after a
    colon, `dog` and ` dog` are different tokens.
    """
    processor, prompt = prompter.processor, prompter.text
    if "chat" in prompter.block:
        asked = [turn(prompt)]
        told = {"role": "assistant", "content": [{"type": "text", "text": _PROBE}]}
        before = processor.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
        whole = processor.apply_chat_template([*asked, told], tokenize=False)
        if not whole.startswith(before):  # the template writes thoughts before an answer
            return "", ends[0]
        lead, _, behind = whole.removeprefix(before).partition(_PROBE)
        following = processor.tokenizer(behind.strip(), add_special_tokens=False).input_ids[:1]
        end = following[0] if following and following[0] in ends else ends[0]
        return ("" if lead.strip() else lead), end
    if not prompt or prompt_ids is None or prompter.reads_prompt != "decoder":
        return "", ends[0]
    # A processor may append more than the prompt says. PaliGemma's processor appends a line break.
    tokenizer, last = processor.tokenizer, int(prompt_ids[0, -1])
    if last in tokenizer.all_special_ids or tokenizer.decode([last])[-1:].isspace():
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
        ends: Sequence[int],
        size: int,
        lead: str = "",
        first_sentence: bool = False,
        max_words: int | None = None,
    ):
        """Wrap the tokenizer of a model with `size` ids. Captions follow the text `lead`. They end with one of the
        tokens `ends`, references with the first of them.

        White space around an answer is removed. With `first_sentence`, only the first sentence of an answer is kept.
        With `max_words`, only that many words are kept.
        """
        super().__init__(tokenizer, ends[0])
        self.ends = tuple(ends)
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
        return caption_in(answer, self.first_sentence, self.max_words)


def processor_files(processor: Any) -> dict[str, str]:
    """Return the content of each file that `save_pretrained` writes for a processor, without config and tokenizer."""
    with TemporaryDirectory() as folder:
        processor.save_pretrained(folder)
        return {name: text for name, text in hub.read_files(Path(folder)).items() if name not in _OTHERS}


def write_processor(files: Mapping[str, str], tokenizer: Tokenizer, folder: Path) -> None:
    """Write the files of a processor and the tokenizer into a folder."""
    hub.write_files(files, folder)
    tokenizer.save(folder / "tokenizer.json")


def processor_of(files: Mapping[str, str], tokenizer: Tokenizer) -> Any:
    """Return the processor that is stored in these files and this tokenizer."""
    from transformers import AutoProcessor

    with TemporaryDirectory() as folder:
        write_processor(files, tokenizer, Path(folder))
        # `files` contain the class of the processor, so transformers does not need the type of the model.
        return AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
