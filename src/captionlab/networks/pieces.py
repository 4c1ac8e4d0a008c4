"""Word pieces as tokens: a sibling of byte pairs for captioners that are BERTs."""

import os
from collections.abc import Sequence
from pathlib import Path

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from captionlab.networks.tokenizer import Tokenizer

PADDING, UNKNOWN, START, END, MASK = SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def pieces_tokenizer(pieces: Sequence[str]) -> Tokenizer:
    """A tokenizer of these word pieces, in the order of their ids, for text in lower case.

    ValueError when a special piece is missing, or a piece is there twice.
    """
    ids = {piece: number for number, piece in enumerate(pieces)}
    if missing := [piece for piece in SPECIAL if piece not in ids]:
        raise ValueError(f"the vocabulary has no {missing[0]}; it is none of BERT's")
    if len(ids) < len(pieces):
        repeated = next(piece for number, piece in enumerate(pieces) if ids[piece] != number)
        raise ValueError(f"the vocabulary has {repeated!r} twice")
    tokenizer = tokenizers.Tokenizer(models.WordPiece(ids, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens(list(SPECIAL))
    return Tokenizer(tokenizer)


def piece_id(tokenizer: Tokenizer, piece: str) -> int:
    """The id of a piece; ValueError when the tokenizer has no such piece."""
    if (number := tokenizer.tokenizer.token_to_id(piece)) is None:
        raise ValueError(f"the tokenizer has no piece {piece!r}; it is none of a BERT")
    return int(number)


def read_pieces(path: str | os.PathLike[str]) -> Tokenizer:
    """A tokenizer of a published vocab.txt, one piece a line; ValueError names the file when it is none."""
    try:
        lines = Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")
        return pieces_tokenizer([line.strip() for line in lines])
    except ValueError as error:
        raise ValueError(f"{path} is no vocab.txt of word pieces: {error}") from error
