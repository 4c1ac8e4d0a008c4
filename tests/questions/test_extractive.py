"""The extractive answerer: the option with the largest share of its content words in the caption."""

import random

import pytest

from captionlab.plugins import defined
from captionlab.questions.answerers.extractive.answerer import STOP_WORDS
from captionlab.questions.entries import Question, is_correct
from captionlab.texts.plurals import regular_plural

ANSWERER = defined("questions.answerers", "extractive", "build")({"kind": "extractive"}, "questions.mine")


def answer(caption, question, *options):
    return ANSWERER.answer([caption], [Question("any", question, options)])[0]


@pytest.mark.parametrize(
    ("caption", "options", "expected"),
    [
        ("A red car on a road.", ("a red car", "a blue car", "a boat"), "a red car"),
        ("A car on a road.", ("a red car", "a blue car", "a boat"), None),
        ("A car on a road.", ("cars", "boats"), "cars"),
        ("Two boxes of berries", ("a berry", "a box of apples"), "a berry"),
        ("Dogs run", ("none", "the dog", "a cat"), "the dog"),
        ("", ("a dog", "a cat"), None),
        ("A dog and a cat", ("dog", "cat"), None),
        ("A dog and a cat", (), None),
    ],
)
def test_options(caption, options, expected):
    assert answer(caption, "what is there?", *options) == expected


def test_yes_or_no():
    assert answer("A brown dog runs", "Is there a dog?", "yes", "No") == "yes"
    assert answer("A brown dog runs", "Is the dog black?", "Yes", "No") is None
    assert answer("A brown dog runs", "Is there?", "Yes", "No") is None


def naive(caption, options):
    """Return the best option by loops over words."""
    words = [word for word in caption.lower().split() if word not in STOP_WORDS]
    shares = []
    for option in options:
        of_option = [word for word in option.lower().split() if word not in STOP_WORDS]
        found = 0
        for word in of_option:
            found += any(a == b or regular_plural(a) == b or a == regular_plural(b) for a in words for b in [word])
        shares.append(found / len(of_option) if of_option else 0)
    best = [option for option, share in zip(options, shares, strict=True) if share == max(shares) > 0]
    return best[0] if len(best) == 1 else None


def test_against_loops():
    generator = random.Random(3)
    words = ["a", "the", "dog", "dogs", "box", "boxes", "red", "sky", "skies", "of", "none", "cat"]
    for _ in range(400):
        caption = " ".join(generator.choices(words, k=generator.randrange(7)))
        options = [*{" ".join(generator.choices(words, k=generator.randrange(1, 4))) for _ in range(3)}]
        assert answer(caption, "what is it?", *options) == naive(caption, options), (caption, options)


def test_answers_are_compared_by_their_words():
    assert is_correct("A red Car.", "red car")
    assert is_correct("the", "the")
    assert not is_correct("red", "red car")
    assert not is_correct(None, "red")


@pytest.mark.parametrize("options", [("-5", "5"), ("<", ">"), ("A", "a"), ("C", "C++", "C#"), ("the who", "who")])
def test_options_that_differ_in_punctuation_case_or_articles_are_different_answers(options):
    for expected in options:
        assert [option for option in options if is_correct(option, expected, options)] == [expected]


def test_an_answer_that_is_no_option_is_compared_by_its_words():
    assert is_correct("A red car.", "red car", ("red car", "blue car"))
    assert is_correct(" blue car ", "blue car", ("red car", "blue car"))
    assert not is_correct("A red car.", "blue car", ("red car", "blue car"))


def test_answers_without_words_are_compared_as_they_are():
    assert is_correct(" < ", "<")
    assert not is_correct("<", ">")
    assert not is_correct("?", "red")
