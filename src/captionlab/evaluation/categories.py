"""Categories of objects and the words that captions have for them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from captionlab.corpora.toyworld.lexicon import NOUNS as TOYWORLD
from captionlab.files import read_yaml
from captionlab.texts.tagging import NOUNS

_EXPECTED = "{categories: {name: [word, ...], ...}, ambiguous: [word, ...], nothing: [compound, ...]}"
_PATH = str | os.PathLike[str]
# A word, or the words of a compound.
Phrase = tuple[str, ...]


class CategoriesError(ValueError):
    """A list of categories cannot be used; the message says what is wrong with which category or word."""


@dataclass(frozen=True)
class Mention:
    """Words of a caption that name an object, and the category of that."""

    words: str
    category: str


@dataclass(frozen=True)
class Categories:
    """Categories of objects: for each word or compound that names one its category, None for one that names nothing.

    A word that is `ambiguous` is a verb or an adjective, too.
    """

    phrases: Mapping[Phrase, str | None]
    ambiguous: frozenset[Phrase] = frozenset()

    def of_label(self, label: str) -> str | None:
        """The category of an annotated object, whose label is one of the words; None for an object of no category."""
        return self.phrases.get(tuple(label.lower().split()))

    def mentions(self, words: Sequence[str], lemmas: Sequence[str], tags: Sequence[str]) -> list[Mention]:
        """The objects that a caption names, in order and with repetitions.

        The caption is as captionlab.texts.tagging has it: its words, their lemmas and their tags, all (n,). A word of a
        list is found by itself or by its lemma, whatever its case; a hyphen is a space. At each place the longest
        compound counts. Of mentions side by side only the last does, which says what the whole is: a baby elephant is
        an elephant, and a bus driver a person.

        A single word counts where it is tagged as a noun. Taggers take 2 in 100 nouns of COCO's captions for verbs or
        adjectives; so what is written as in the list, or ends in s, counts whatever its tag, but for what is ambiguous:
        not the orange of an orange cat, nor the ski of skiing.
        """
        kept = [place for place, word in enumerate(words) if word != "-"]
        written = [words[place].lower() for place in kept]
        forms = [{word, lemmas[place].lower()} for word, place in zip(written, kept, strict=True)]
        found: list[tuple[int, Mention]] = []
        start = 0
        while start < len(forms):
            word, tag = written[start], tags[kept[start]]
            phrases = (one for one in self._beginning(forms[start:]) if self._is_noun(one, word, tag))
            if not (phrase := next(phrases, None)):
                start += 1
                continue
            end = start + len(phrase)
            if category := self.phrases[phrase]:
                if found and found[-1][0] == start:
                    found.pop()
                found.append((end, Mention(" ".join(written[start:end]), category)))
            start = end
        return [mention for _, mention in found]

    def _is_noun(self, phrase: Phrase, word: str, tag: str) -> bool:
        """Whether a phrase is a compound, or one word that is a noun here, where it is written and tagged like this."""
        written = word == phrase[0] or word.endswith("s")
        return len(phrase) > 1 or tag in NOUNS or (written and phrase not in self.ambiguous)

    @cached_property
    def _by_first(self) -> Mapping[str, list[Phrase]]:
        """Words and compounds by their first word."""
        found: dict[str, list[Phrase]] = {}
        for phrase in self.phrases:
            found.setdefault(phrase[0], []).append(phrase)
        return found

    def _beginning(self, forms: Sequence[set[str]]) -> Iterator[Phrase]:
        """The words and compounds that a caption of such forms begins with, the longest first."""
        candidates = [phrase for form in sorted(forms[0]) for phrase in self._by_first.get(form, ())]
        for phrase in sorted(candidates, key=len, reverse=True):
            if len(phrase) <= len(forms) and all(word in form for word, form in zip(phrase, forms, strict=False)):
                yield phrase


def load_categories(name: str, path: _PATH) -> Categories:
    """The list that a config calls by this name, from its file, which the toy world reads by itself.

    CategoriesError where the file is no such list.
    """
    return toyworld_categories() if name == "toyworld" else read_categories(path)


def toyworld_categories() -> Categories:
    """The toy world's classes of objects with all their nouns; left out are nouns of several classes, as `person`."""
    classes: dict[Phrase, list[str]] = {}
    for label, nouns in TOYWORLD.items():
        for name in {label, *(noun.singular for noun in nouns), *(noun.plural for noun in nouns)}:
            classes.setdefault(tuple(name.split()), []).append(label)
    return Categories({phrase: labels[0] for phrase, labels in sorted(classes.items()) if len(labels) == 1})


def read_categories(path: _PATH) -> Categories:
    """Categories of a file of YAML; resources/categories/coco.yaml says at its head how one is written.

    CategoriesError names the category or the word that is wrong; RepeatedKeyError a category that stands there twice.
    """
    try:
        document = read_yaml(path)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CategoriesError(f"{path} cannot be read as YAML: {error}") from error
    keys = {"categories", "ambiguous", "nothing"}
    if not (isinstance(document, dict) and document.get("categories") and document.keys() <= keys):
        raise CategoriesError(f"{path} is no list of categories; it must be {_EXPECTED}")
    if not isinstance(lists := document["categories"], dict):
        raise CategoriesError(f"{path}: `categories` must be {{name: [word, ...], ...}}, not {lists!r}")
    phrases: dict[Phrase, str | None] = {}
    for category, words in lists.items():
        _add(path, phrases, category, [category, *_texts(path, category, words)])
    ambiguous = {_phrase(word): word for word in _texts(path, "ambiguous", document.get("ambiguous"))}
    if unknown := [word for phrase, word in ambiguous.items() if phrase not in phrases]:
        raise CategoriesError(f"{path}: the word {unknown[0]!r} of `ambiguous` is of no category; add it to one")
    _add(path, phrases, None, _texts(path, "nothing", document.get("nothing")))
    return Categories(phrases, frozenset(ambiguous))


def _add(path: _PATH, phrases: dict[Phrase, str | None], category: str | None, words: Sequence[str]) -> None:
    """Add the words of a category; CategoriesError for one that another has."""
    for word in words:
        phrase = _phrase(word)
        if (other := phrases.setdefault(phrase, category)) != category:
            both = f"{other!r} and {category!r}" if category else f"{other!r} and of `nothing`"
            raise CategoriesError(f"{path}: the word {word!r} is of {both}; keep it in one of them")


def _phrase(word: str) -> Phrase:
    return tuple(word.lower().split())


def _texts(path: _PATH, name: Any, words: Any) -> list[str]:
    """The words of a category, or of another list; none where nothing is given."""
    quotes = "put quotes around a word that YAML takes for something else, as no"
    if not isinstance(name, str) or not name.split():
        raise CategoriesError(f"{path}: the category {name!r} is no text; {quotes}")
    if words is None:
        return []
    given = words if isinstance(words, list) else [None]
    if not all(isinstance(word, str) and word.split() for word in given):
        raise CategoriesError(f"{path}: {name!r} must be a list of words, and is {words!r}; {quotes}")
    return list(words)
