"""Captions of the toy world in which a word is replaced, so that what they say becomes wrong."""

import re
from collections.abc import Iterable
from random import Random

from captionlab.corpora.toyworld.lexicon import NOUNS, Noun

_PLURALS = {noun.plural for nouns in NOUNS.values() for noun in nouns}
_WORDS = {word for nouns in NOUNS.values() for noun in nouns for word in (noun.singular, noun.plural)}


def any_of(words: Iterable[str]) -> str:
    """Return a regular expression that matches any of the words, trying the longest first."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


# A noun of an object, after an article if it has one.
NAMED = re.compile(rf"\b(?:(an?) )?({any_of(_WORDS)})\b(?! station\b)")


def with_another_object(caption: str, shown: set[str], random: Random) -> str:
    """Return the caption with one object replaced by a class that is not shown, and its article adapted.

    `shown` has the classes of objects in the image. Raises IndexError if the caption names no object.
    """
    found = random.choice([*NAMED.finditer(caption)])
    noun = NOUNS[random.choice([label for label in NOUNS if label not in shown])][0]
    word = noun.plural if found[2] in _PLURALS else noun.singular
    return f"{caption[: found.start()]}{_article(word) if found[1] else word}{caption[found.end() :]}"


def one(noun: Noun) -> str:
    """Return a singular noun after its article."""
    return _article(noun.singular)


def _article(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
