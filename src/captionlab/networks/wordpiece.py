"""BERT's word pieces, from a vocab.txt with a piece on each line. The id of a piece is its line number, from 0.

Text is split at spaces and punctuation, then into the longest pieces from the left. Captioners generate pieces, so they
use a Tokenizer, which reads and writes special pieces. Scorers read whole captions between two special pieces.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Self, TypeVar

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from captionlab.networks.tokenizer import Tokenizer
from captionlab.userfiles.reading import text_lines

T = TypeVar("T")
PADDING, UNKNOWN, START, END, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Anything but spaces, letters and digits, as ROSITA's readers remove it.
_PUNCTUATION = re.compile(r"([^\s\w]|_)+")


def pieces_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """Return a captioner's tokenizer of word pieces, in the order of their ids.

    Raises ValueError if a special piece is missing or a piece is repeated.
    """
    tokenizer = _word_piece(pieces, SPECIAL, lowercase=True)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(SPECIAL))
    return Tokenizer(tokenizer)


def read_pieces(path: str | os.PathLike[str]) -> Tokenizer:
    """Read a captioner's tokenizer from a published vocab.txt.

    Raises ValueError that names the file if it is not valid.
    """
    return _read(path, pieces_tokenizer)


def piece_id(tokenizer: Tokenizer, piece: str) -> int:
    """Return the id of a piece. Raises ValueError if the tokenizer has no such piece."""
    if (number := tokenizer.tokenizer.token_to_id(piece)) is None:
        raise ValueError(f"the tokenizer has no piece {piece!r}; it is none of a BERT")
    return int(number)


class WordPieces:
    """The vocabulary of a scorer, which encodes captions."""

    def __init__(self, pieces: Sequence[str], lowercase: bool = True, strip_punctuation: bool = False):
        """Use these pieces, in the order of their ids.

        `lowercase` also removes accents. `strip_punctuation` removes punctuation from a text before it is split. Raises
        ValueError if a required piece is missing or a piece is repeated.
        """
        self._tokenizer = _word_piece(pieces, (UNKNOWN, START, END), lowercase)
        self.pieces, self.strip_punctuation = list(pieces), strip_punctuation
        self.start, self.end = self.pieces.index(START), self.pieces.index(END)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], lowercase: bool = True, strip_punctuation: bool = False, *added: str
    ) -> Self:
        """Read a vocab.txt and append the pieces `added` that it lacks.

        Raises ValueError that names a file that is not valid.
        """
        return _read(
            path, lambda own: cls([*own, *(new for new in added if new not in own)], lowercase, strip_punctuation)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a vocab.txt."""
        Path(path).write_text("\n".join(self.pieces) + "\n", encoding="utf-8")

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """Return the ids of each text between the start and the end token, cut to at most `max_tokens` ids."""
        return [[self.start, *ids[: max_tokens - 2], self.end] for ids in self._ids(texts)]

    def left_out(self, texts: Sequence[str], max_tokens: int) -> list[int]:
        """Return for each text the number of ids that `encode` cuts off."""
        return [max(len(ids) - (max_tokens - 2), 0) for ids in self._ids(texts)]

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of the pieces of each text."""
        if self.strip_punctuation:
            texts = [_PUNCTUATION.sub("", text) for text in texts]
        return [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]


def learn_pieces(texts: Iterable[str], size: int, lowercase: bool = True, strip_punctuation: bool = False) -> list[str]:
    """Return at most `size` word pieces for texts: special pieces, all characters, and the most frequent words.

    Other words in the texts are split into characters. The tokenizers library can learn word pieces, too, but the
    pieces and their order change from run to run. Raises ValueError if the special pieces and characters alone are more
    than `size`.
    """
    normalizer, splitter = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer()
    counts: Counter[str] = Counter()
    for text in texts:
        cleaned = _PUNCTUATION.sub("", text) if strip_punctuation else text
        counts.update(word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(cleaned)))
    characters = sorted({character for word in counts for character in word})
    pieces = [PADDING, UNKNOWN, START, END, *characters, *(f"##{character}" for character in characters)]
    if len(pieces) > size:
        raise ValueError(
            f"architecture.vocabulary is {size}; the special tokens and characters alone are {len(pieces)}"
        )
    words = sorted((word for word in counts if len(word) > 1), key=lambda word: (-counts[word], word))
    return pieces + words[: size - len(pieces)]


def _word_piece(pieces: Sequence[str], needed: Iterable[str], lowercase: bool) -> tokenizers.Tokenizer:
    """Return a tokenizer that cuts text into `pieces`.

    Raises ValueError if a piece is repeated or one of the `needed` is missing.
    """
    ids = {piece: number for number, piece in enumerate(pieces)}
    if missing := [piece for piece in needed if piece not in ids]:
        raise ValueError(f"the vocabulary has no {missing[0]}; it is none of BERT's")
    if len(ids) < len(pieces):
        repeated = next(piece for number, piece in enumerate(pieces) if ids[piece] != number)
        raise ValueError(f"the vocabulary has {repeated!r} twice")
    tokenizer = tokenizers.Tokenizer(models.WordPiece(ids, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _read(path: str | os.PathLike[str], build: Callable[[list[str]], T]) -> T:
    try:
        return build([line.strip() for _, line in text_lines(path)])
    except ValueError as error:
        raise ValueError(f"{path} is no vocab.txt of word pieces: {error}") from error
