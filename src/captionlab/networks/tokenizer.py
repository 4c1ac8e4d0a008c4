"""Tokenizers: between texts and token ids, kept as tokenizer.json, the format of the tokenizers library."""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
# What ends a caption: GPT-2's token, or BERT's.
_ENDS = (END, "[SEP]")
# The spaces that the authors' decoding (clean_up_tokenization_spaces of transformers) takes away.
_SPACED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")


class Tokenizer:
    """A tokenizer with an end token."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, end: int | None = None):
        """Wrap a tokenizer of the tokenizers library; its end token is named as GPT-2's or BERT's, or has the id `end`.

        ValueError when it has no end token.
        """
        ends = [number for name in _ENDS if (number := tokenizer.token_to_id(name)) is not None]
        if end is None and not ends:
            raise ValueError(f"the tokenizer has no token {' or '.join(map(repr, _ENDS))}; it cannot end a caption")
        self.tokenizer, self.end = tokenizer, ends[0] if end is None else end
        self.stop_ids = cache(self._stop_ids)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Read a tokenizer.json; ValueError when the file is not one. `options` are those of the constructor."""
        try:
            tokenizer = tokenizers.Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{path} is no tokenizer.json of the tokenizers library: {error}") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, **options)

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> Self:
        """Learn byte-level BPE as GPT-2's from texts, with at most `vocabulary` tokens.

        The 256 bytes and the end token always are tokens, so any text can be encoded; few texts may give fewer tokens
        than asked for. ValueError for a vocabulary below 257.
        """
        if vocabulary < 257:
            raise ValueError(f"vocabulary is {vocabulary}; 256 bytes and the end token need at least 257")
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=vocabulary,
            special_tokens=[END],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
        tokenizer.train_from_iterator(texts, trainer)
        return cls(tokenizer)

    @property
    def size(self) -> int:
        """Number of ids: one more than the largest."""
        return max(self.tokenizer.get_vocab().values()) + 1

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a tokenizer.json."""
        Path(path).write_text(self.tokenizer.to_str(pretty=True), encoding="utf-8")

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of each text, without an end token."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        """Texts of token ids up to the first end token, special tokens left out, no space before punctuation."""
        ended = [ids[: ids.index(self.end)] if self.end in ids else ids for ids in tokens]
        texts: list[str] = self.tokenizer.decode_batch(ended, skip_special_tokens=True)
        for spaced in _SPACED:
            texts = [text.replace(spaced, spaced.strip()) for text in texts]
        return texts

    def _stop_ids(self, text: str) -> list[int]:
        """Ids of all tokens whose text contains `text`; special tokens have no text."""
        ids = list(range(self.size))
        texts = self.tokenizer.decode_batch([[number] for number in ids], skip_special_tokens=True)
        return [number for number, decoded in zip(ids, texts, strict=True) if text in decoded]
