"""Categories of objects and the words that captions use for them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import yaml

from captionlab.corpora.toyworld.lexicon import NOUNS as TOYWORLD
from captionlab.storage.files import read_yaml
from captionlab.texts.plurals import regular_plural
from captionlab.texts.tagging import NOUNS

_EXPECTED = (
    "{categories: {name: [word, ...], ...}, plurals: {word: [plural, ...], ...}, verbs: [word, ...], "
    "adjectives: [word, ...], nothing: [compound, ...]}"
)
# Words after which a word is no verb: articles, possessives except `her`, numbers, and prepositions except `to`.
_BEFORE_NOUNS = frozenset(
    (
        *("a", "an", "the", "his", "its", "their", "our", "my", "your", "another", "each", "every", "these", "those"),
        *(
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "several",
            "some",
            "many",
            "few",
            "both",
        ),
        *("of", "in", "on", "at", "by", "with", "from", "near", "behind", "beside", "under", "over"),
    )
)
_PATH = str | os.PathLike[str]
# The words of a compound, or a single word.
Phrase = tuple[str, ...]


class CategoriesError(ValueError):
    """A list of categories cannot be used. The message names the category or word that is wrong, and says why."""


@dataclass(frozen=True)
class Mention:
    """Words of a caption that name an object, and the category of the object."""

    words: str
    category: str


@dataclass(frozen=True)
class Categories:
    """Words and compounds, each with its category of objects, or None if it names no object.

    Words and compounds are listed in singular and plural. Words in `verbs` or `adjectives` can also be a verb or an
    adjective.
    """

    phrases: Mapping[Phrase, str | None]
    verbs: frozenset[Phrase] = frozenset()
    adjectives: frozenset[Phrase] = frozenset()

    def of_label(self, label: str) -> str | None:
        """Return the category of an annotated object by its label, or None if the label has no category."""
        return self.phrases.get(tuple(label.lower().split()))

    def mentions(self, words: Sequence[str], tags: Sequence[str]) -> list[Mention]:
        """Return the objects that a caption names, in order and with repetitions.

        `words` (n,) and `tags` (n,) are the words of the caption and their parts of speech, from
        captionlab.texts.tagging. Case is ignored, and a hyphen counts as a space. At each position the longest compound
        counts. Of adjacent mentions only the last counts, because it names the whole: a baby elephant is an elephant,
        and a bus driver is a person.

        Tags decide only for a single word that can also be a verb or an adjective. `orange` in "an orange cat" and
        `ski` in "people who ski" do not count. `skateboard` counts after an article, whatever its tag.
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
        """Return whether a phrase of a caption, from this position on, is a compound or a noun."""
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
        """Return words and compounds by their first word."""
        found: dict[str, list[Phrase]] = {}
        for phrase in self.phrases:
            found.setdefault(phrase[0], []).append(phrase)
        return found

    def _beginning(self, written: Sequence[str]) -> Iterator[Phrase]:
        """Yield the words and compounds that these words begin with, the longest first."""
        for phrase in sorted(self._by_first.get(written[0], ()), key=len, reverse=True):
            if phrase == tuple(written[: len(phrase)]):
                yield phrase


def load_categories(name: str, path: _PATH) -> Categories:
    """Return the categories that a config calls by this name, from their file; `toyworld` needs no file.

    Raises CategoriesError if the file is not a valid list of categories.
    """
    return toyworld_categories() if name == "toyworld" else read_categories(path)


def toyworld_categories() -> Categories:
    """Return the toy world's classes of objects with all their nouns.

    Nouns that several classes share, as `person`, are left out.
    """
    classes: dict[Phrase, list[str]] = {}
    for label, nouns in TOYWORLD.items():
        for name in {label, *(noun.singular for noun in nouns), *(noun.plural for noun in nouns)}:
            classes.setdefault(tuple(name.split()), []).append(label)
    return Categories({phrase: labels[0] for phrase, labels in sorted(classes.items()) if len(labels) == 1})


def read_categories(path: _PATH) -> Categories:
    """Read categories from a YAML file. The head of resources/categories/coco.yaml describes the format.

    Raises CategoriesError, which names the category or word that is wrong. Raises RepeatedKeyError if the file has a
    category twice.
    """
    try:
        document = read_yaml(path)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise CategoriesError(f"{path} cannot be read as YAML: {error}") from error
    keys = {"categories", "plurals", "verbs", "adjectives", "nothing"}
    if isinstance(document, dict) and (unknown := [name for name in document if name not in keys]):
        instead = "; write its words under `verbs` or `adjectives`" if unknown[0] == "ambiguous" else ""
        raise CategoriesError(f"{path} has an unknown key {unknown[0]!r}{instead}; it must be {_EXPECTED}")
    if not (isinstance(document, dict) and document.get("categories")):
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
    # The plural of an adjective is always a noun (oranges). The plural of a verb may be a verb form (he skateboards).
    forms = {plural for verb in verbs for plural in plurals[verb]} - phrases.keys()
    return Categories(every, frozenset(verbs | forms), frozenset(adjectives))


def _listed(path: _PATH, phrases: Mapping[Phrase, str | None], document: Mapping[str, Any], name: str) -> set[Phrase]:
    """Return the words of a list of the document. Raises CategoriesError if a word has no category."""
    words = {_phrase(word): word for word in _texts(path, name, document.get(name))}
    if unknown := [word for phrase, word in words.items() if phrase not in phrases]:
        raise CategoriesError(f"{path}: the word {unknown[0]!r} of `{name}` is of no category; add it to one")
    return {*words}


def _plurals(
    path: _PATH, phrases: Mapping[Phrase, str | None], document: Mapping[str, Any]
) -> dict[Phrase, list[Phrase]]:
    """Return the irregular plurals of the document, by word. Raises CategoriesError if a word has no category."""
    lists = document.get("plurals") or {}
    if not isinstance(lists, dict):
        raise CategoriesError(f"{path}: `plurals` must be {{word: [plural, ...], ...}}, not {lists!r}")
    plurals = {str(word): [_phrase(plural) for plural in _texts(path, word, of)] for word, of in lists.items()}
    if unknown := [word for word in plurals if _phrase(word) not in phrases]:
        raise CategoriesError(f"{path}: the word {unknown[0]!r} of `plurals` is of no category; add it to one")
    return {_phrase(word): of_word for word, of_word in plurals.items()}


def _add(path: _PATH, phrases: dict[Phrase, str | None], category: str | None, words: Sequence[str]) -> None:
    """Add the words of a category. Raises CategoriesError if a word has another category already."""
    for word in words:
        phrase = _phrase(word)
        if (other := phrases.setdefault(phrase, category)) != category:
            both = f"{other!r} and {category!r}" if category else f"{other!r} and of `nothing`"
            raise CategoriesError(f"{path}: the word {word!r} is of {both}; keep it in one of them")


def _phrase(word: str) -> Phrase:
    return tuple(word.lower().split())


def _texts(path: _PATH, name: Any, words: Any) -> list[str]:
    """Return the words of a category or of another list; an absent list has no words."""
    quotes = "put quotes around a word that YAML takes for something else, as no"
    if not isinstance(name, str) or not name.split():
        raise CategoriesError(f"{path}: the category {name!r} is no text; {quotes}")
    if words is None:
        return []
    given = words if isinstance(words, list) else [None]
    if not all(isinstance(word, str) and word.split() for word in given):
        raise CategoriesError(f"{path}: {name!r} must be a list of words, and is {words!r}; {quotes}")
    return list(words)
