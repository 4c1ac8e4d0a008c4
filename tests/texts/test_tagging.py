"""The tagger that ships with captionlab, and what is said when another is missing."""

from pathlib import Path

import pytest

from captionlab.language.construction import visual_words
from captionlab.texts.tagging import NOUNS, TAGS, TaggerError, load_tagger, tag

MODEL = Path(__file__).parents[2] / "resources" / "en_ewt_sm"


@pytest.fixture(scope="module")
def tagger():
    return load_tagger(MODEL)


def test_words_lemmas_tags(tagger):
    [(words, lemmas, tags)] = tag(tagger, ["two people walked down the streets ."])
    assert words == ["two", "people", "walked", "down", "the", "streets", "."]
    assert lemmas == ["two", "people", "walk", "down", "the", "street", "."]
    assert tags == ["NUM", "NOUN", "VERB", "ADP", "DET", "NOUN", "PUNCT"]


def test_odd_captions(tagger):
    captions = ["", "   ", "...", "dog", "猫がいる 🐈", 'a "dog"\nand\ta\r\ncat', "dog " * 10_000]
    found = list(tag(tagger, captions))
    assert [len(words) for words, _, _ in found][:4] == [0, 0, 1, 1]
    assert found[2][2] == ["PUNCT"]
    assert found[5][0] == ["a", '"', "dog", '"', "and", "a", "cat"]
    assert len(found[6][0]) == 10_000
    for words, lemmas, tags in found:
        assert len(words) == len(lemmas) == len(tags)
        assert {*tags} <= TAGS
    assert {found[3][2][0]} <= NOUNS


def test_unk_is_no_visual_word(tagger):
    caption = "a UNK of a man and UNK unknown UNK"
    nlp_tags = [token.pos_ for token in tagger(caption)]
    assert {nlp_tags[1], nlp_tags[6], nlp_tags[8]} & NOUNS  # that is what the model takes it for
    [(words, _, tags)] = tag(tagger, [caption])
    assert words == caption.split()
    assert [place for place, found in enumerate(tags) if found == "X"] == [1, 6, 8]
    assert [found for found in tags if found != "X"] == [nlp_tags[place] for place in (0, 2, 3, 4, 5, 7)]
    assert visual_words([(words, words, tags)]) == ["man"]


def test_missing_model_is_explained(tmp_path: Path):
    with pytest.raises(TaggerError, match="python -m spacy download en_core_web_xyz"):
        load_tagger("en_core_web_xyz")
    with pytest.raises(TaggerError, match="no folder of a spaCy model"):
        load_tagger(tmp_path)


def test_model_without_tags_is_refused():
    import spacy

    with pytest.raises(TaggerError, match="no tag or no lemma"):
        list(tag(spacy.blank("en"), ["a dog"]))


def test_notice_travels_with_the_model():
    assert "CC BY-SA 4.0" in (MODEL / "NOTICE.md").read_text()
