"""Word pieces of captioners against transformers' own tokenizer of BERT."""

from pathlib import Path

import pytest

from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import pieces_tokenizer, read_pieces

PIECES = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "boat", "in", "the", "cafe", "##s", "##ing", "surf", ".", ",",
    "isn", "'", "t", "it", "wine", "glass",
]  # fmt: skip
TEXTS = ["A boat in the café.", "surfing boats, in the CAFE", "isn't it", "a wine glass", "quay", "", "  boats  . "]


@pytest.fixture(scope="module")
def bert():
    from transformers import BertTokenizer

    return BertTokenizer(vocab={piece: number for number, piece in enumerate(PIECES)}, do_lower_case=True)


def test_ids_and_texts_are_those_of_transformers(bert):
    ours = pieces_tokenizer(PIECES)
    theirs = [bert(text, add_special_tokens=False)["input_ids"] for text in TEXTS]
    assert ours.encode(TEXTS) == theirs
    for ids in theirs:
        expected = bert.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=True)
        assert ours.decode([[*ids, ours.end, 6, 6]]) == [expected]


def test_end_and_stored_form(tmp_path):
    tokenizer = pieces_tokenizer(PIECES)
    assert (tokenizer.end, tokenizer.size) == (3, len(PIECES))
    assert tokenizer.stop_ids(".") == [13]
    assert tokenizer.decode([[6, 4, 10, 0]]) == ["boats"]  # special tokens have no text
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.end == 3
    assert again.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert again.decode(again.encode(TEXTS)) == tokenizer.decode(tokenizer.encode(TEXTS))


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (PIECES[:4], r"vocab.txt is no vocab.txt of word pieces: the vocabulary has no \[MASK\]"),
        ([*PIECES, "boat"], "has 'boat' twice"),
    ],
)
def test_other_vocabularies(pieces, message, tmp_path: Path):
    (tmp_path / "vocab.txt").write_text("\n".join(pieces))
    with pytest.raises(ValueError, match=message):
        read_pieces(tmp_path / "vocab.txt")


def test_a_published_file(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    assert read_pieces(tmp_path / "vocab.txt").encode(["boats"]) == [[6, 10]]
