"""Local mutual information against its definition."""

import math
import random

import pytest

from captionlab.language.statistics import associate


def analysed(lemmas, tags):
    """A caption whose words are their own lemmas."""
    return lemmas, lemmas, tags


ONE = [analysed(["a", "red", "dog"], ["DET", "ADJ", "NOUN"]), analysed(["red"], ["NOUN"])]
TWO = [analysed(["a", "big", "dog", "."], ["DET", "ADJ", "NOUN", "PUNCT"])]


def test_by_hand():
    found = {(a.caption_type, a.tag, a.lemma): (a.count, a.association) for a in associate({"one": ONE, "two": TWO})}
    # 4 tokens in each type, 8 in all: expected counts are half of a lemma's count.
    assert found["one", "ADJ", "red"] == (1, pytest.approx(math.log(1 / 0.5)))
    assert found["one", "NOUN", "red"] == (1, pytest.approx(math.log(1 / 0.5)))
    assert found["one", "NOUN", "dog"] == (1, pytest.approx(0))
    assert found["two", "ADJ", "big"] == (1, pytest.approx(math.log(2)))
    assert ("two", "ADJ", "red") not in found
    assert not any(tag in ("DET", "PUNCT") for _, tag, _ in found)


@pytest.mark.parametrize("types", [2, 3, 5])
def test_observed_against_expected(types: int):
    generator = random.Random(types)
    captions = {
        f"type{t}": [
            analysed(
                [generator.choice("abcdefg") for _ in range(8)],
                generator.choices(["ADJ", "NOUN", "VERB"], [6, 3, 1], k=8),
            )
            for _ in range(20 + 10 * t)
        ]
        for t in range(types)
    }
    total = sum(8 * len(of_type) for of_type in captions.values())
    found = associate(captions)
    pairs = {name: [(w, t) for _, *c in of_type for w, t in zip(*c, strict=True)] for name, of_type in captions.items()}
    every = [pair for of_type in pairs.values() for pair in of_type]
    assert {(one.lemma, one.tag) for one in found} == {
        (word, tag)
        for word, tag in every
        if tag in ("ADJ", "NOUN") and 2 * every.count((word, tag)) >= sum(other == word for other, _ in every)
    }
    for one in found:
        observed = pairs[one.caption_type].count((one.lemma, one.tag))
        everywhere = sum(of_type.count((one.lemma, one.tag)) for of_type in pairs.values())
        expected = everywhere * len(pairs[one.caption_type]) / total
        assert one.count == observed
        assert one.association == pytest.approx(observed * math.log(observed / expected))
    for name in captions:
        values = [one.association for one in found if (one.caption_type, one.tag) == (name, "ADJ")]
        assert values == sorted(values, reverse=True)


def test_formula_of_the_authors_for_two_types():
    # Their code: c_k * (ln c_k + ln N - ln(c_1 + c_2) - ln N_k).
    one, two, size_one, size_two = 7, 2, 100, 300
    captions = {
        "one": [analysed(["red"] * one + ["x"] * (size_one - one), ["ADJ"] * one + ["VERB"] * (size_one - one))],
        "two": [analysed(["red"] * two + ["x"] * (size_two - two), ["ADJ"] * two + ["VERB"] * (size_two - two))],
    }
    expected = [
        count * (math.log(count) + math.log(size_one + size_two) - math.log(one + two) - math.log(size))
        for count, size in ((one, size_one), (two, size_two))
    ]
    assert [a.association for a in associate(captions)] == pytest.approx(expected)


def test_no_adjective_or_noun():
    assert associate({"one": [([], [], []), analysed(["."], ["PUNCT"])], "two": []}) == []


def test_a_word_that_a_tagger_takes_for_an_adjective_now_and_then_is_a_noun():
    """Umbrellas are an adjective in one caption of three, and Whitby a noun, a name and an adjective."""
    captions = {
        "people": [
            (["a", "Whitby", "street"], ["a", "Whitby", "street"], ["DET", "ADJ", "NOUN"]),
            (["whitby", "umbrellas"], ["whitby", "umbrella"], ["NOUN", "NOUN"]),
            (["Umbrellas", "in", "whitby"], ["umbrella", "in", "whitby"], ["NOUN", "ADP", "PROPN"]),
        ],
        "tuned": [(["green", "umbrellas"], ["green", "umbrellas"], ["ADJ", "ADJ"])],
    }
    found = {(a.caption_type, a.tag, a.lemma): a.count for a in associate(captions)}
    assert found == {
        ("people", "NOUN", "street"): 1, ("people", "NOUN", "umbrella"): 2, ("people", "NOUN", "whitby"): 1,
        ("tuned", "ADJ", "green"): 1,
    }  # fmt: skip
