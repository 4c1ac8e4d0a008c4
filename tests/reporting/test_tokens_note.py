"""Notes on the tokens of metrics, which each table with such a metric has."""

from captionlab.reporting.tables.render import Block, Cell, Column
from captionlab.reporting.tables.sheets import table_of
from captionlab.reporting.tables.tokens_note import token_notes

PTB = "the Penn treebank tokeniser of pycocoevalcap, in lower case and without punctuation"


def records(*corpora: str, metric: str = "CIDEr") -> list[dict[str, str]]:
    return [{"corpus": corpus, "metric": metric} for corpus in corpora]


def test_english_names_its_tokeniser():
    assert token_notes([], records("coco", "flickr"), {}) == [f"Tokens of CIDEr: {PTB}."]
    columns = [Column("captioner"), Column("METEOR"), Column("BLEU@4"), Column("SacreBLEU")]
    assert token_notes(columns, [], {}) == [
        f"Tokens of BLEU@4 and METEOR: {PTB}.",
        "Tokens of SacreBLEU: sacrebleu's tokeniser 13a.",
    ]


def test_other_metrics_have_no_tokens():
    assert token_notes([Column("P@1")], records("coco", metric="CLIPScore"), {"coco": "zh"}) == []


def test_one_language_has_one_tokeniser():
    tokens, english = token_notes([], records("a", "b"), {"a": "zh", "b": "zh", "c": "intl"})
    assert tokens == "Tokens of CIDEr: sacrebleu's tokeniser zh, in lower case and without punctuation."
    assert english.startswith("METEOR and SPICE are computed for English alone")
    assert english.endswith("not on a and b.")


def test_two_tokenisers_in_a_table_are_a_warning():
    found = token_notes([], [*records("a", "b"), *records("a", metric="SacreBLEU")], {"b": "ja-mecab"})
    assert found == [
        f"Tokens of CIDEr: on a, {PTB}; on b, sacrebleu's tokeniser ja-mecab, in lower case and without punctuation.",
        "Tokens of SacreBLEU: on a, sacrebleu's tokeniser 13a; on b, sacrebleu's tokeniser ja-mecab.",
        "Values of CIDEr and SacreBLEU on tokens of different tokenisers cannot be compared with each other.",
        "METEOR and SPICE are computed for English alone, by the tokeniser of pycocoevalcap, and not on b.",
    ]


def test_a_table_has_the_note_and_its_records_do_not():
    columns, blocks = [Column("captioner", numeric=False), Column("CIDEr")], [Block([[Cell("me"), Cell("80.0")]])]
    rows, provenance = records("xm"), {"config": "mine", "seed": 1, "tokenizers": {"xm": "intl"}}
    table = table_of("t", "T", "D.", columns, blocks, rows, ("corpus", "metric"), ["Mine."], provenance)
    assert table.footnotes[0] == "Mine."
    assert "sacrebleu's tokeniser intl" in table.footnotes[1]
    assert table.records == rows
    assert not any("tokenizers" in sentence for sentence in table.made)
