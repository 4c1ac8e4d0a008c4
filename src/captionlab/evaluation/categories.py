"""Categories of objects and the words that captions have for them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from captionlab.corpora.toyworld.lexicon import NOUNS as TOYWORLD
from captionlab.files import read_yaml
from captionlab.texts.plurals import regular_plural
from captionlab.texts.tagging import NOUNS

_EXPECTED = (
    "{categories: {name: [word, ...], ...}, plurals: {word: [plural, ...], ...}, verbs: [word, ...], "
    "adjectives: [word, ...], nothing: [compound, ...]}"
)
# Right before a word these say that it is no verb: articles, possessives but `her`, and prepositions but `to`.
_BEFORE_NOUNS = frozenset(
    (
        *("a", "an", "the", "his", "its", "their", "our", "my", "your"),
        *("of", "in", "on", "at", "by", "with", "from", "near", "behind", "beside", "under", "over"),
    )
)
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

    Words and compounds are there in singular and plural. Some of the words are `verbs` or `adjectives`, too.
    """

    phrases: Mapping[Phrase, str | None]
    verbs: frozenset[Phrase] = frozenset()
    adjectives: frozenset[Phrase] = frozenset()

    def of_label(self, label: str) -> str | None:
        """The category of an annotated object, whose label is one of the words; None for an object of no category."""
        return self.phrases.get(tuple(label.lower().split()))

    def mentions(self, words: Sequence[str], tags: Sequence[str]) -> list[Mention]:
        """The objects that a caption names, in order and with repetitions.

        The caption is as captionlab.texts.tagging has it: its words and their tags, both (n,). Words of a list are
        found in singular and plural, whatever their case; a hyphen is a space. At each place the longest compound
        counts. Of mentions side by side only the last does, which says what the whole is: a baby elephant is an
        elephant, and a bus driver a person.

        Tags decide only where a single word is a verb or an adjective, too, and what stands before it does not tell:
        not the orange of an orange cat, nor the ski of people who ski, but a skateboard, which follows an article.
        """
        kept = [place for place, word in enumerate(words) if word != "-"]
        written, tagged = [words[place].lower() for place in kept], [tags[place] for place in kept]
        found: list[tuple[int, Mention]] = []
        start = 0
        while start < len(written):
            phrases = (one for one in self._beginning(written[start:]) if self._is_noun(one, start, written, tagged))
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

    def _is_noun(self, phrase: Phrase, place: int, written: Sequence[str], tags: Sequence[str]) -> bool:
        """Whether a phrase, which a caption has from this place, is a compound, or one word that is a noun there."""
        if len(phrase) > 1 or tags[place] in NOUNS:
            return True
        if phrase in self.verbs:
            before = place - 1
            while before > 0 and tags[before] == "ADJ":
                before -= 1
            return before >= 0 and written[before] in _BEFORE_NOUNS
        return phrase not in self.adjectives

    @cached_property
    def _by_first(self) -> Mapping[str, list[Phrase]]:
        """Words and compounds by their first word."""
        found: dict[str, list[Phrase]] = {}
        for phrase in self.phrases:
            found.setdefault(phrase[0], []).append(phrase)
        return found

    def _beginning(self, written: Sequence[str]) -> Iterator[Phrase]:
        """The words and compounds that such words begin with, the longest first."""
        for phrase in sorted(self._by_first.get(written[0], ()), key=len, reverse=True):
            if phrase == tuple(written[: len(phrase)]):
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
    keys = {"categories", "plurals", "verbs", "adjectives", "nothing"}
    if not (isinstance(document, dict) and document.get("categories") and document.keys() <= keys):
        raise CategoriesError(f"{path} is no list of categories; it must be {_EXPECTED}")
    if not isinstance(lists := document["categories"], dict):
        raise CategoriesError(f"{path}: `categories` must be {{name: [word, ...], ...}}, not {lists!r}")
    phrases: dict[Phrase, str | None] = {}
    for category, words in lists.items():
        _add(path, phrases, category, [category, *_texts(path, category, words)])
    verbs, adjectives = (_listed(path, phrases, document, name) for name in ("verbs", "adjectives"))
    irregular = _plurals(path, phrases, document)
    _add(path, phrases, None, _texts(path, "nothing", document.get("nothing")))
    plurals = {phrase: [_phrase(regular_plural(" ".join(phrase))), *irregular.get(phrase, [])] for phrase in phrases}
    every = dict(phrases)
    for phrase, of_phrase in plurals.items():
        for plural in of_phrase:
            every.setdefault(plural, phrases[phrase])
    # Of adjectives a plural is a noun always, as oranges are; of verbs it may be a form too: he skateboards.
    forms = {plural for verb in verbs for plural in plurals[verb]} - phrases.keys()
    return Categories(every, frozenset(verbs | forms), frozenset(adjectives))


def _listed(path: _PATH, phrases: Mapping[Phrase, str | None], document: Mapping[str, Any], name: str) -> set[Phrase]:
    """The words of a list of the document; CategoriesError for one of no category."""
    words = {_phrase(word): word for word in _texts(path, name, document.get(name))}
    if unknown := [word for phrase, word in words.items() if phrase not in phrases]:
        raise CategoriesError(f"{path}: the word {unknown[0]!r} of `{name}` is of no category; add it to one")
    return {*words}


def _plurals(
    path: _PATH, phrases: Mapping[Phrase, str | None], document: Mapping[str, Any]
) -> dict[Phrase, list[Phrase]]:
    """The irregular plurals of the document by their word; CategoriesError for a word of no category."""
    lists = document.get("plurals") or {}
    if not isinstance(lists, dict):
        raise CategoriesError(f"{path}: `plurals` must be {{word: [plural, ...], ...}}, not {lists!r}")
    plurals = {str(word): [_phrase(plural) for plural in _texts(path, word, of)] for word, of in lists.items()}
    if unknown := [word for word in plurals if _phrase(word) not in phrases]:
        raise CategoriesError(f"{path}: the word {unknown[0]!r} of `plurals` is of no category; add it to one")
    return {_phrase(word): of_word for word, of_word in plurals.items()}


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
