"""Captions that are constructed to ask what a scorer looks at (Ma et al. 2022, section 5).

Replaced words (Figure 2), visual words in templates (Table 7), and templates with more and more of them (Figure 3).
Visual words are nouns, as in the paper. Whatever is drawn depends on the seed and the image alone, and replacements
are nested: the words that are replaced at a share are replaced, by the same words, at every larger one.

A template, given or found in captions, is a sequence of words and of `NOUN`, joined by `+`, that ends in a repeated
group with one `NOUN`, as `a+NOUN+of+a+NOUN+(near+a+NOUN)*`: the nouns fill its places in order, and the group takes
those that remain.
"""

import re
import zlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Self

import numpy as np

from captionlab.language.mining import LONGEST, Chunk, Mined, chunks_of, units_of
from captionlab.language.patterns import POSSESSIVES, Tagged, compiled
from captionlab.texts.tagging import NOUNS

# What the tagger takes for no word, which is neither replaced nor a replacement.
NO_WORDS = frozenset({"PUNCT", "SYM", "X"})
ANY = "any"  # for every word, whatever its part of speech

# As captionlab.texts.tagging.tag gives a caption: words as written, their lemmas, their tags.
Tags = tuple[Sequence[str], Sequence[str], Sequence[str]]
SLOT = "NOUN"
PACKED = "(NOUN.P)*"  # the body of a pattern whose further nouns follow each other without a connecting word
_TEMPLATE = re.compile(r"(?:(?P<start>[^()]+)\+)?\((?P<repeated>[^()]+)\)\*")
ATTEMPTS = 50  # draws that may be refused before all words are looked at


class TemplateError(ValueError):
    """A text is no template."""


@dataclass(frozen=True)
class Template:
    """Words and places for nouns: first `start`, then `repeated` for every further noun."""

    start: tuple[str, ...]
    repeated: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """The template that a text says; a TemplateError says what is wrong with it."""
        found = _TEMPLATE.fullmatch(text)
        parts = [tuple(part.split("+")) if part else () for part in found.group("start", "repeated")] if found else []
        if not found or any(not word for part in parts for word in part) or parts[1].count(SLOT) != 1:
            raise TemplateError(
                f"{text!r} is no template: it must be words and {SLOT}, joined by +, and end in a group with one "
                f"{SLOT}, as a+{SLOT}+(near+a+{SLOT})*"
            )
        return cls(*parts)

    @property
    def text(self) -> str:
        """The template as a text."""
        return "+".join([*self.start, f"({'+'.join(self.repeated)})*"])

    def fill(self, nouns: Sequence[str]) -> str:
        """The caption with these nouns, at least one; with few of them it ends after the last."""
        if not nouns:
            raise ValueError(f"the template {self.text} needs a noun")
        words: list[str] = []
        left = list(nouns)
        for word in self.start:
            words.append(left.pop(0) if word == SLOT else word)
            if not left:
                return " ".join(words)
        for noun in left:
            words += [noun if word == SLOT else word for word in self.repeated]
        return " ".join(words)


@dataclass(frozen=True)
class Plan:
    """Which captions are constructed.

    shares: of visual words, and of other words, that are replaced. templates: by the model that they are for and their
    source, published or mined. counts: numbers of visual words in a template, those of the first source. others: words
    that are no nouns are replaced by `any` other words, nouns among them, or by words of the `same-part-of-speech`.
    """

    shares: Sequence[float] = ()
    templates: Mapping[tuple[str, str], Template] = field(default_factory=dict)
    counts: Sequence[int] = ()
    others: str = ANY
    seed: int = 0


@dataclass(frozen=True)
class Constructed:
    """A constructed caption and how it came about; the kind CONSTRUCTED of tables explains the fields."""

    caption: str
    experiment: str
    subject: str
    source: str | None
    level: float
    words: tuple[str, ...]
    template: str | None = None


class Vocabulary:
    """The words of captions by part of speech, with their frequency."""

    def __init__(self, tagged: Iterable[Tags], draw: str = "frequency"):
        """Count the words of tagged captions, in lower case; drawn by `frequency`, or every word alike (`uniform`)."""
        counts: dict[str, Counter[str]] = {ANY: Counter()}
        self._lemmas: dict[str, str] = {}
        for caption in tagged:
            for word, lemma, tag in zip(*caption, strict=True):
                if tag not in NO_WORDS:
                    counts.setdefault(_class(tag), Counter())[word.lower()] += 1
                    counts[ANY][word.lower()] += 1
                    self._lemmas.setdefault(word.lower(), lemma.lower())
        # Of each part of speech its words, and how often they and those before them are to be drawn.
        self._words: dict[str, tuple[list[str], list[int]]] = {}
        for tag, of_tag in counts.items():
            words = sorted(of_tag)
            weights = (of_tag[word] if draw == "frequency" else 1 for word in words)
            self._words[tag] = words, list(accumulate(weights))

    def word(self, tag: str, but: Set[str], generator: np.random.Generator) -> str | None:
        """A word with this tag, or ANY, drawn again while it or its lemma is in `but`. None when there is no other."""
        words, ends = self._words.get(_class(tag), ([], []))
        for _ in range(ATTEMPTS if words else 0):
            word = words[bisect_right(ends, int(generator.integers(ends[-1])))]
            if word not in but and self._lemmas[word] not in but:
                return word
        left = [place for place, word in enumerate(words) if not {word, self._lemmas[word]} & but]
        if not left:
            return None
        weights = list(accumulate(ends[place] - (ends[place - 1] if place else 0) for place in left))
        return words[left[bisect_right(weights, int(generator.integers(weights[-1])))]]


def visual_words(tagged: Iterable[Tags]) -> list[str]:
    """The different nouns of captions, in lower case and in the order in which they occur."""
    nouns = (word.lower() for caption in tagged for word, _, tag in zip(*caption, strict=True) if tag in NOUNS)
    return list(dict.fromkeys(nouns))


def construct(
    image: str, caption: str, tagged: Tags, references: Sequence[Tags], plan: Plan, vocabulary: Vocabulary
) -> Iterator[Constructed]:
    """All captions of the plan for an image that has this caption and these tagged references.

    What cannot be made is left out: all of a caption without a noun, templates with more visual words than caption and
    references have, and wrong visual words where the vocabulary has only right ones.
    """
    own, union = visual_words([tagged]), visual_words([tagged, *references])
    if not own:
        return
    lemmas = (lemma for of in (tagged, *references) for _, lemma, tag in zip(*of, strict=True) if tag in NOUNS)
    right = {*union, *(lemma.lower() for lemma in lemmas)}
    for subject in ("nouns", "others") if plan.shares else ():
        generator = np.random.default_rng([plan.seed, zlib.crc32(f"{subject} {image}".encode())])
        drawn = _replacements(tagged, subject, right, plan.others, vocabulary, generator)
        order = generator.permutation(list(drawn)).tolist()
        rest = float(generator.random())  # a caption of three words has no quarter; the share holds on average
        if not drawn or None in drawn.values():
            continue
        for share in plan.shares:
            words = {place: str(drawn[place]) for place in sorted(order[: int(share * len(drawn) + rest)])}
            text = _spliced(caption, tagged[0], words)
            yield Constructed(text, "replacement", subject, None, share, tuple(words.values()))
    for (model, source), template in plan.templates.items():
        yield Constructed(template.fill(own), "template", model, source, len(own), tuple(own), template.text)
    first = next((source for _, source in plan.templates), None)
    for (model, source), template in plan.templates.items():
        for count in plan.counts:
            if source == first and count <= len(union):
                nouns = union[:count]
                yield Constructed(template.fill(nouns), "count", model, source, count, tuple(nouns), template.text)


def template_of(mined: Mined, captions: Sequence[Tagged]) -> Template:
    """The template of a pattern that was mined from captions: each part of it as it is mostly worded.

    A noun phrase keeps its determiners, and its nouns are one place; a phrase that the pattern names by a word, such
    as IMAGE.P, is worded as it is. After the prefix stands the first noun phrase with what connects it, then the later
    ones are repeated; without a connecting word in the pattern they are packed, noun after noun. A
    ValueError names a caption that does not start as its pattern says.
    """
    named = {name.lower() for name in re.findall(r"(\w+)\.P", mined.prefix)} - {SLOT.lower()}
    prefix = compiled(mined.prefix)
    starts, firsts, laters = (Counter[tuple[str, ...]]() for _ in range(3))
    for index in mined.matches:
        chunks = chunks_of(captions[index][:LONGEST])
        pieces = accumulate(chunk.piece for chunk in chunks)
        ends = (number for number, words in enumerate(pieces, 1) if prefix.longest(words) == len(words))
        if not (end := next(ends, 0)):
            caption = " ".join(word for word, _ in captions[index])
            raise ValueError(f"the caption {caption!r} does not start as its pattern says")
        starts[tuple(word for chunk in chunks[:end] for word in _worded(chunk, named))] += 1
        units = [tuple(word for chunk in unit for word in _worded(chunk, set())) for unit in units_of(chunks[end:])]
        firsts.update(units[:1])
        laters.update(units[1:])
    first = _most(firsts)
    packed = mined.pattern.endswith(f"+{PACKED}") or not firsts
    return Template(_most(starts) + first, (SLOT,) if packed else _most(laters) or first)


def _class(tag: str) -> str:
    return "NOUN" if tag in NOUNS else tag


def _replacements(
    caption: Tags, subject: str, right: Set[str], others: str, vocabulary: Vocabulary, generator: np.random.Generator
) -> dict[int, str | None]:
    """For the place of each noun a wrong one (not in `right`), or for each other word one that it is not."""
    drawn: dict[int, str | None] = {}
    for place, (word, _, tag) in enumerate(zip(*caption, strict=True)):
        if subject == "nouns" and tag in NOUNS:
            drawn[place] = vocabulary.word("NOUN", right, generator)
        elif subject == "others" and tag not in NOUNS | NO_WORDS:
            itself = {word.lower()}
            same = vocabulary.word(tag, itself, generator) if others == "same-part-of-speech" else None
            # "that" may be the only word of its part of speech.
            drawn[place] = same or vocabulary.word(ANY, itself, generator)
    return drawn


def _spliced(caption: str, words: Sequence[str], replacements: Mapping[int, str]) -> str:
    """The caption with the words at some places replaced, and all else as it was."""
    parts, end = [], 0
    for place, word in enumerate(words):
        start = caption.index(word, end)
        parts += [caption[end:start], replacements.get(place, word)]
        end = start + len(word)
    return "".join([*parts, caption[end:]])


def _worded(chunk: Chunk, named: set[str]) -> list[str]:
    """A chunk in a template: its words, and of a noun phrase that no word names its determiners and one place."""
    if chunk.kind != "NOUN.P" or named & set(chunk.nouns):
        return [*chunk.words]
    before = takewhile(lambda pair: pair[1] not in NOUNS, chunk.piece)
    return [*(word for word, tag in before if tag == "DET" or word in POSSESSIVES), SLOT]


def _most(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    """What occurs most often; of several the first by name, and nothing of none."""
    return min(counts, key=lambda words: (-counts[words], words), default=())
