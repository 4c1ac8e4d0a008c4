"""Tokenizers between texts and token ids, stored as tokenizer.json, the format of the tokenizers library."""

import os
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

END = "<|endoftext|>"
# End tokens of GPT-2 and of BERT.
_ENDS = (END, "[SEP]")
# Spaces that the authors' decoding (clean_up_tokenization_spaces of transformers) removes.
_SPACED = (" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're")


class Tokenizer:
    """A tokenizer with an end token."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, end: int | None = None):
        """Wrap a tokenizer of the tokenizers library. `end` is the id of its end token.

        By default, the end token is GPT-2's or BERT's, by name. Raises ValueError if the tokenizer has no end token.
        """
        ends = [number for name in _ENDS if (number := tokenizer.token_to_id(name)) is not None]
        if end is None and not ends:
            raise ValueError(f"the tokenizer has no token {' or '.join(map(repr, _ENDS))}; it cannot end a caption")
        self.tokenizer, self.end = tokenizer, ends[0] if end is None else end
        # A caption ends with one of these tokens; references end with `end`.
        self.ends: tuple[int, ...] = (self.end,)
        self.stop_ids = cache(self._stop_ids)

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Self:
        """Read a tokenizer.json. `options` are arguments of the constructor.

        Raises ValueError if the file cannot be read.
        """
        try:
            tokenizer = tokenizers.Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
        except Exception as error:  # the library raises bare Exception
            raise ValueError(f"{path} is no tokenizer.json of the tokenizers library: {error}") from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(tokenizer, **options)

    @classmethod
    def train(cls, texts: Iterable[str], vocabulary: int) -> Self:
        """Learn byte-level BPE, as GPT-2 uses it, from texts, with at most `vocabulary` tokens.

        The 256 bytes and the end token always are tokens, so any text can be encoded. Few texts may yield fewer tokens
        than `vocabulary`. Raises ValueError for a vocabulary below 257.
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
        """Return the number of ids: the largest id plus one."""
        return max(self.tokenizer.get_vocab().values()) + 1

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a tokenizer.json."""
        Path(path).write_text(self.tokenizer.to_str(pretty=True), encoding="utf-8")

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text, without an end token."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def decode(self, tokens: Sequence[Sequence[int]]) -> list[str]:
        """Return the texts of token ids up to the first end token.

        Special tokens and spaces before punctuation are removed.
        """
        ended = [[*takewhile(lambda number: number not in self.ends, ids)] for ids in tokens]
        texts: list[str] = self.tokenizer.decode_batch(ended, skip_special_tokens=True)
        for spaced in _SPACED:
            texts = [text.replace(spaced, spaced.strip()) for text in texts]
        return texts

    def _stop_ids(self, text: str) -> list[int]:
        """Return the ids of all tokens whose text contains `text`. Special tokens have no text."""
        ids = list(range(self.size))
        texts = self.tokenizer.decode_batch([[number] for number in ids], skip_special_tokens=True)
        return [number for number, decoded in zip(ids, texts, strict=True) if text in decoded]
