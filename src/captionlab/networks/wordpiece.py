"""BERT's word pieces, from a vocab.txt (one piece a line, its id is the number of the line).

Text is cut at spaces and punctuation, then into the longest piece first. Captioners generate pieces, so theirs are a
Tokenizer, which knows special pieces when it reads and writes; scorers read whole captions, between two special pieces.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Self, TypeVar

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from captionlab.given import text_lines
from captionlab.networks.tokenizer import Tokenizer

T = TypeVar("T")
PADDING, UNKNOWN, START, END, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# Anything but spaces, letters and digits, as ROSITA's readers take it out.
_PUNCTUATION = re.compile(r"([^\s\w]|_)+")


def pieces_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """A captioner's tokenizer of word pieces, in the order of their ids; ValueError for one missing or there twice."""
    tokenizer = _word_piece(pieces, SPECIAL, lowercase=True)
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(SPECIAL))
    return Tokenizer(tokenizer)


def read_pieces(path: str | os.PathLike[str]) -> Tokenizer:
    """The same of a published vocab.txt; ValueError names the file when it is none."""
    return _read(path, pieces_tokenizer)


def piece_id(tokenizer: Tokenizer, piece: str) -> int:
    """The id of a piece; ValueError when the tokenizer has no such piece."""
    if (number := tokenizer.tokenizer.token_to_id(piece)) is None:
        raise ValueError(f"the tokenizer has no piece {piece!r}; it is none of a BERT")
    return int(number)


class WordPieces:
    """A scorer's vocabulary, and how it reads captions."""

    def __init__(self, pieces: Sequence[str], lowercase: bool = True, strip_punctuation: bool = False):
        """Use these pieces, in the order of their ids; ValueError when a piece that is needed is missing or repeated.

        `lowercase` also takes accents off; `strip_punctuation` takes punctuation out of the text before all else.
        """
        self._tokenizer = _word_piece(pieces, (UNKNOWN, START, END), lowercase)
        self.pieces, self.strip_punctuation = list(pieces), strip_punctuation
        self.start, self.end = self.pieces.index(START), self.pieces.index(END)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], lowercase: bool = True, strip_punctuation: bool = False, *added: str
    ) -> Self:
        """Read a vocab.txt and add what it has not; ValueError names the file when it is none."""
        return _read(
            path, lambda own: cls([*own, *(new for new in added if new not in own)], lowercase, strip_punctuation)
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a vocab.txt."""
        Path(path).write_text("\n".join(self.pieces) + "\n", encoding="utf-8")

    def encode(self, texts: Sequence[str], max_tokens: int) -> list[list[int]]:
        """Ids of each text between the start and the end token, cut so that there are at most `max_tokens` in all."""
        if self.strip_punctuation:
            texts = [_PUNCTUATION.sub("", text) for text in texts]
        pieces = [encoding.ids for encoding in self._tokenizer.encode_batch(list(texts), add_special_tokens=False)]
        return [[self.start, *ids[: max_tokens - 2], self.end] for ids in pieces]


def learn_pieces(texts: Iterable[str], size: int, lowercase: bool = True, strip_punctuation: bool = False) -> list[str]:
    """Word pieces for texts: the special ones, all characters, and the most frequent words, at most `size` in all.

    Any other word of these texts is cut into its characters. The tokenizers library can learn word pieces too, but
    which ones, and in which order, changes from run to run. ValueError when the characters alone are more than `size`.
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
    """What cuts text into these pieces; ValueError when one is there twice or one of the `needed` is not there."""
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
