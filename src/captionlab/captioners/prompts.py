"""What a model of the hub reads beside an image: a prompt, as its processor writes it, and how captions follow it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tokenizers
from PIL import Image
from torch import Tensor

from captionlab.networks.tokenizer import Tokenizer

# What lies in a folder beside the weights and is stored with a captioner otherwise, or not needed.
_OTHERS = {"config.json", "tokenizer.json"}
# What has a number for each word, among what processors say.
_WORDS = {"input_ids", "token_type_ids", "mm_token_type_ids"}
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
# A word that stands for a caption; every tokenizer can write it.
_PROBE = "dog"


def read_prompt(processor: Any, block: Mapping[str, Any], image: Image.Image) -> dict[str, Tensor]:
    """What a model reads of an image and of the `prompt` or `chat` of a config: tensors (1, ...), without a mask.

    `input_ids` (1, P) end where the caption begins. A `prompt` is written as the processor of the type takes it, with a
    placeholder for the image where it wants one; what tokenizers put behind a text is left out. A `chat` is the text
    of a user who shows the image, by the template of the model.
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
    """The part of it that has a number for each word."""
    return {name: value for name, value in inputs.items() if name in _WORDS}


def of_image(inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The part of it that is said of the image."""
    return {name: value for name, value in inputs.items() if name not in _WORDS}


def _tokens_behind(tokenizer: Any) -> int:
    """How many tokens a tokenizer puts behind a text."""
    plain, whole = tokenizer(_PROBE, add_special_tokens=False).input_ids, tokenizer(_PROBE).input_ids
    return len(whole) - len(plain) - whole.index(plain[0])


def _turn(text: str, image: Image.Image | None = None) -> dict[str, Any]:
    shown = {"type": "image"} if image is None else {"type": "image", "image": image}
    return {"role": "user", "content": [shown, {"type": "text", "text": text}]}


def answer_form(
    processor: Any, block: Mapping[str, Any], ends: Sequence[int], prompt_ids: Sequence[int]
) -> tuple[str, int]:
    """What stands between prompt and caption, and the token behind it: of `ends` the one that the chat template has.

    `prompt_ids` are those of the prompt. Training captions must be written as
    the model writes its own: behind a colon `dog` is another token than ` dog`.
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
    # Processors put more behind a prompt than is written there, as PaliGemma's does, which ends a line.
    last = prompt_ids[-1]
    if not prompt or last in tokenizer.all_special_ids or tokenizer.decode([last])[-1:].isspace():
        return "", ends[0]
    ids = tokenizer(prompt, add_special_tokens=False).input_ids
    joined = tokenizer(f"{prompt} {_PROBE}", add_special_tokens=False).input_ids[len(ids) :]
    alone = tokenizer(_PROBE, add_special_tokens=False).input_ids
    return ("" if joined == alone else " "), ends[0]


class AnswerTokenizer(Tokenizer):
    """The tokenizer of a model of the hub: of what it answers, the caption."""

    def __init__(
        self,
        tokenizer: tokenizers.Tokenizer,
        end: int,
        size: int,
        lead: str = "",
        first_sentence: bool = False,
        max_words: int | None = None,
    ):
        """Wrap a tokenizer of a model of `size` tokens, whose captions follow `lead` and end with the token `end`.

        Of an answer the spaces around it are left out, and, where it is asked for, what comes after the first sentence
        or after so many words.
        """
        super().__init__(tokenizer, end)
        self._size, self.lead, self.first_sentence, self.max_words = size, lead, first_sentence, max_words

    @property
    def size(self) -> int:
        """Number of ids of the model, some of which may stand for nothing."""
        return self._size

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each caption as it follows the prompt, without an end token."""
        return super().encode([f"{self.lead}{text}" for text in texts])

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        """The captions in answers, whose tokens up to the first end count."""
        return [self._caption(text) for text in super().decode(tokens)]

    def _caption(self, answer: str) -> str:
        text = answer.strip()
        if self.first_sentence:
            text = _SENTENCE.split(text, maxsplit=1)[0].strip()
        return " ".join(text.split()[: self.max_words]) if self.max_words else text


def processor_files(processor: Any) -> dict[str, str]:
    """What `save_pretrained` writes of a processor, by file, without the tokenizer's own."""
    with TemporaryDirectory() as folder:
        processor.save_pretrained(folder)
        paths = [path for path in sorted(Path(folder).iterdir()) if path.name not in _OTHERS]
        return {path.name: path.read_text(encoding="utf-8") for path in paths}


def write_processor(files: Mapping[str, str], tokenizer: Tokenizer, folder: Path) -> None:
    """Write these files and the tokenizer into a folder."""
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    tokenizer.save(folder / "tokenizer.json")


def processor_of(files: Mapping[str, str], tokenizer: Tokenizer) -> Any:
    """The processor that was stored as these files."""
    from transformers import AutoProcessor

    with TemporaryDirectory() as folder:
        write_processor(files, tokenizer, Path(folder))
        # Which class it is, is said by the type of the model otherwise.
        return AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
