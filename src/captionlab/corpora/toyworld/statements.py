"""What a caption in the language of the toy world states: classes of objects, their colours and numbers, and scenes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from captionlab.corpora.toyworld.lexicon import GARMENT, HEIGHTS, NOUNS, PRAISE, SIZES
from captionlab.corpora.toyworld.world import COLOURS, PEOPLE, SCENES

NUMBERS: Mapping[str, int] = {
    **{"a": 1, "an": 1, "one": 1, "only one": 1},
    **{"two": 2, "a couple of": 2, "a pair of": 2},
    **{"three": 3, "a group of": 3, "several": 3},
}


@dataclass(frozen=True)
class Statements:
    """The statements of a caption. An object that is named without a colour or a number has an empty set."""

    colours: Mapping[str, frozenset[str]]
    """the colours of each class of objects that the caption names"""
    counts: Mapping[str, frozenset[int]]
    """the numbers of objects of each class that the caption names"""
    scenes: frozenset[str]


def statements(caption: str) -> Statements:
    """Return the statements of a caption.

    A noun that several classes share, such as person or animal, and a place that several scenes share, such as a house,
    state no class and no scene. A singular noun states one object. The colour of a person is the colour of the clothes.
    """
    text = " ".join(caption.lower().split())
    colours: dict[str, frozenset[str]] = {}
    counts: dict[str, frozenset[int]] = {}
    for label, said, number in _mentions(text):
        colours[label] = colours.get(label, frozenset()) | said
        counts[label] = counts.get(label, frozenset()) | ({number} if number else frozenset())
    places = (_PLACES[match] for match in _PLACE.findall(text))
    return Statements(colours, counts, frozenset(scene for scenes in places if len(scenes) == 1 for scene in scenes))


def _mentions(text: str) -> Iterator[tuple[str, frozenset[str], int | None]]:
    """Yield the class, the colours and the number of each mention of objects; None for an unknown number."""
    for match in _MENTION.finditer(text):
        labels = _CLASSES[match["noun"]]
        if len(labels) > 1:
            continue
        label = next(iter(labels))
        said = {*match["adjectives"].split()} & {*COLOURS}
        if label in PEOPLE:
            said = {match[name] for name in ("worn", "clothes")} - {None}
        said |= {match["state"]} - {None}
        yield label, frozenset(said), _number(match["number"], match["noun"])


def _number(word: str | None, noun: str) -> int | None:
    return NUMBERS[word] if word else 1 if noun in _SINGULARS - _PLURALS else None


def _by_meaning(words: Iterable[tuple[str, str]]) -> dict[str, frozenset[str]]:
    """Return the meanings of each word, from pairs of a word and a meaning."""
    found: dict[str, frozenset[str]] = {}
    for word, meaning in words:
        found[word] = found.get(word, frozenset()) | {meaning}
    return found


def _any(words: Iterable[str]) -> str:
    """Return a regular expression that matches any of the words, trying the longest first."""
    return "|".join(sorted(map(re.escape, words), key=lambda word: (-len(word), word)))


_SINGULARS = {noun.singular for nouns in NOUNS.values() for noun in nouns}
_PLURALS = {noun.plural for nouns in NOUNS.values() for noun in nouns}
_CLASSES = _by_meaning(
    (word, label) for label, nouns in NOUNS.items() for noun in nouns for word in (noun.singular, noun.plural)
)
_PLACES = _by_meaning(
    (words, name) for name, scene in SCENES.items() for words in (*scene.names, *scene.phrases, *scene.answers)
)
_PLACE = re.compile(rf"\b(?:{_any(_PLACES)})\b")
_COLOUR, _NOUN = _any(COLOURS), _any(_CLASSES)
_LOOKS = _any({*COLOURS, *PRAISE, *(word for sizes in (SIZES, HEIGHTS) for words in sizes.values() for word in words)})
_WORN = _any(word for words in GARMENT.values() for word in words)
_MENTION = re.compile(
    rf"\b(?:(?P<number>{_any(NUMBERS)}) )?(?P<adjectives>(?:(?:{_LOOKS}) )*)(?P<noun>{_NOUN})\b(?! station\b)"
    rf"(?: (?:in|wearing) (?:(?:an? )?(?P<worn>{_COLOUR}) (?:{_WORN})\b|(?P<clothes>{_COLOUR})\b(?! (?:{_NOUN})\b)))?"
    rf"(?:(?: on the left| on the right| in the middle)? (?:is|are) (?:wearing )?(?P<state>{_COLOUR})\b)?"
)
