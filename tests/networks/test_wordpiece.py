"""Word pieces of captioners against transformers' own tokenizer of BERT."""

from pathlib import Path

import pytest

from captionlab.networks.tokenizer import Tokenizer
from captionlab.networks.wordpiece import WordPieces, pieces_tokenizer, read_pieces

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
    ("given", "content", "names"),
    [
        ("the first four pieces", "\n".join(PIECES[:4]), "no [MASK]"),
        ("a piece twice", "\n".join([*PIECES, "boat"]), "'boat' twice"),
        ("an empty file", "", "vocab.txt"),
        ("a tokenizer.json", '{"model": {}}', "vocab.txt"),
        ("a file in cp1252", "\n".join([*PIECES, "café"]).encode("cp1252"), f"line {len(PIECES) + 1}"),
    ],
)
def test_other_vocabularies(given, content, names, answers, tmp_path: Path):
    (tmp_path / "vocab.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=r"vocab\.txt is no vocab\.txt of word pieces") as raised:
        read_pieces(tmp_path / "vocab.txt")
    answers.hold(f"word pieces: {given}", raised.value, names)


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("an empty file", ""),
        ("a file that was cut off", '{"version": "1.0", "model": {"type": "BPE", "vo'),
        ("word pieces", "[PAD]\n[UNK]\n"),
        ("a file in cp1252", '{"café": 1}'.encode("cp1252")),
    ],
)
def test_other_tokenizers(given, content, answers, tmp_path: Path):
    (tmp_path / "tokenizer.json").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=r"no tokenizer\.json of the tokenizers library") as raised:
        Tokenizer.load(tmp_path / "tokenizer.json")
    answers.hold(f"a tokenizer: {given}", raised.value, "tokenizer.json")


def test_a_mark_before_the_first_piece_is_none_of_it(tmp_path: Path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8-sig")
    assert WordPieces.load(tmp_path / "vocab.txt").pieces == PIECES


def test_a_published_file(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n")
    assert read_pieces(tmp_path / "vocab.txt").encode(["boats"]) == [[6, 10]]
