"""Local mutual information against its definition."""

import math
import random

import pytest

from captionlab.language.statistics import associate

ONE = [(["a", "red", "dog"], ["DET", "ADJ", "NOUN"]), (["red"], ["NOUN"])]
TWO = [(["a", "big", "dog", "."], ["DET", "ADJ", "NOUN", "PUNCT"])]


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
            (
                [generator.choice("abcdefg") for _ in range(8)],
                [generator.choice(["ADJ", "NOUN", "VERB"]) for _ in range(8)],
            )
            for _ in range(20 + 10 * t)
        ]
        for t in range(types)
    }
    total = sum(8 * len(of_type) for of_type in captions.values())
    found = associate(captions)
    assert found
    for one in found:
        pairs = {name: [(w, t) for c in of_type for w, t in zip(*c, strict=True)] for name, of_type in captions.items()}
        observed = pairs[one.caption_type].count((one.lemma, one.tag))
        everywhere = sum(of_type.count((one.lemma, one.tag)) for of_type in pairs.values())
        expected = everywhere * len(pairs[one.caption_type]) / total
        assert one.count == observed
        assert one.association == pytest.approx(observed * math.log(observed / expected))
    for name in captions:
        values = [one.association for one in found if (one.caption_type, one.tag) == (name, "NOUN")]
        assert values == sorted(values, reverse=True)


def test_formula_of_the_authors_for_two_types():
    # Their code: c_k * (ln c_k + ln N - ln(c_1 + c_2) - ln N_k).
    one, two, size_one, size_two = 7, 2, 100, 300
    captions = {
        "one": [(["red"] * one + ["x"] * (size_one - one), ["ADJ"] * one + ["VERB"] * (size_one - one))],
        "two": [(["red"] * two + ["x"] * (size_two - two), ["ADJ"] * two + ["VERB"] * (size_two - two))],
    }
    expected = [
        count * (math.log(count) + math.log(size_one + size_two) - math.log(one + two) - math.log(size))
        for count, size in ((one, size_one), (two, size_two))
    ]
    assert [a.association for a in associate(captions)] == pytest.approx(expected)


def test_no_adjective_or_noun():
    assert associate({"one": [([], []), (["."], ["PUNCT"])], "two": []}) == []
