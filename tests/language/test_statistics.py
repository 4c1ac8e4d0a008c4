"""Statistics of captions against counts by hand."""

import pytest

from captionlab.language.statistics import caption_measures, corpus_statistics, distinct
from captionlab.texts.ngram import score, train

TRAINING = [["a", "dog", "runs"], ["a", "cat", "sits"], ["a", "dog", "sits"]]


def described(captions: list[str], tagged: list[tuple[list[str], list[str]]]) -> tuple[dict, dict]:
    tokens = [caption.split() for caption in captions]
    scores = score(train(TRAINING), tokens)
    measures = caption_measures(tokens, tagged, scores)
    return measures, {one.name: one for one in corpus_statistics(tokens, measures, scores)}


def test_by_hand():
    captions = ["a dog dog runs", "a zebra", ""]
    tagged = [
        (["a", "dog", "Dog", "runs"], ["DET", "NOUN", "PROPN", "VERB"]),
        (["a", "zebra", "."], ["DET", "NOUN", "PUNCT"]),
        (["..."], ["PUNCT"]),
    ]
    measures, found = described(captions, tagged)
    assert measures["words"] == [4, 2, 0]
    assert measures["repeated"] == [1, 0, 0]
    assert measures["unknown"] == [0, 1, 0]
    assert measures["nouns"] == [2, 1, 0]
    assert measures["distinct_nouns"] == [1, 1, 0]
    assert measures["log_prob"][2] is None
    assert measures["perplexity"][2] is None

    values = {name: one.value for name, one in found.items()}
    assert (values["captions"], values["empty_captions"]) == (3, 1)
    assert values["mean_length"] == 2
    assert (values["tokens"], values["types"]) == (6, 4)
    assert values["distinct_1"] == pytest.approx(4 / 6)
    assert values["distinct_2"] == 1
    assert values["distinct_3"] == 1
    assert found["distinct_3"].n == 1
    assert values["repeated_share"] == pytest.approx(1 / 6)
    assert values["unknown_share"] == pytest.approx(1 / 6)
    assert values["nouns"] == 1
    assert values["distinct_nouns"] == pytest.approx(2 / 3)
    # The unknown word and the empty caption are left out: 5 words and 2 ends.
    total = measures["log_prob"][0] + measures["log_prob"][1]
    assert values["perplexity"] == pytest.approx(10 ** (-total / 7))
    assert values["perplexity_without_end"] == pytest.approx(10 ** (-total / 5))
    assert values["mean_perplexity"] == pytest.approx(
        (10 ** (-measures["log_prob"][0] / 5) + 10 ** (-measures["log_prob"][1] / 2)) / 2
    )
    assert found["perplexity"].n == 2


def test_nothing_to_measure_is_said():
    _, found = described(["", ""], [([], []), (["!"], ["PUNCT"])])
    for name in ("distinct_1", "repeated_share", "unknown_share", "perplexity", "mean_perplexity"):
        assert found[name].value is None
        assert "no caption" in found[name].note
        assert found[name].n == 0
    assert found["mean_length"].value == 0
    with pytest.raises(ValueError, match="no captions"):
        corpus_statistics([], {"words": []}, score(train(TRAINING), []))


def test_long_and_foreign_captions():
    captions = [" ".join(["dog"] * 10_000), "猫 が いる", "runs"]
    measures, found = described(
        captions, [(["dog"] * 10_000, ["NOUN"] * 10_000), (["猫"], ["X"]), (["runs"], ["VERB"])]
    )
    assert measures["repeated"][0] == 9_999
    assert measures["distinct_nouns"] == [1, 0, 0]
    assert all(value > 0 for value in measures["perplexity"])
    assert found["perplexity"].value > 1


def test_distinct():
    assert distinct([["a", "a", "a"], ["a"]], 1) == 0.25
    assert distinct([["a"]], 2) is None
