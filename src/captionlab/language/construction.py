"""Construction of captions that reveal what a scorer rewards (Ma et al. 2022, section 5).

Captions are constructed by replacing words (Figure 2), by visual words in templates (Table 7), and by templates with an
increasing number of visual words (Figure 3). Visual words are nouns, as in the paper. Random choices depend on the seed
and the image only. Replacements are nested: the words that are replaced at a share are also replaced, by the same
words, at every larger share.

A template is configured or derived from captions. It is a sequence of words and of `NOUN`, joined by `+`, that ends in
a repeated group with one `NOUN`, such as `a+NOUN+of+a+NOUN+(near+a+NOUN)*`. The nouns fill its places in order, and the
group is repeated for the remaining nouns.
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

# Tags of tokens that are no words. They are neither replaced nor used as replacements.
NO_WORDS = frozenset({"PUNCT", "SYM", "X"})
ANY = "any"  # for all words, with any part of speech

# A caption from captionlab.texts.tagging.tag: words as written, their lemmas, their tags.
Tags = tuple[Sequence[str], Sequence[str], Sequence[str]]
SLOT = "NOUN"
PACKED = "(NOUN.P)*"  # body of a pattern whose further nouns follow each other without a connecting word
_TEMPLATE = re.compile(r"(?:(?P<start>[^()]+)\+)?\((?P<repeated>[^()]+)\)\*")
ATTEMPTS = 50  # number of draws before all remaining words are listed


class TemplateError(ValueError):
    """A text is no template."""


@dataclass(frozen=True)
class Template:
    """A template for nouns: the words of `start`, then the words of `repeated` for every further noun."""

    start: tuple[str, ...]
    repeated: tuple[str, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse a template. Raises TemplateError, which says what is wrong, if the text is no template."""
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
        """Return the template as a text."""
        return "+".join([*self.start, f"({'+'.join(self.repeated)})*"])

    def fill(self, nouns: Sequence[str]) -> str:
        """Return the caption with these nouns, which ends with the last noun. Raises ValueError if there is no noun."""
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
    """The captions to construct.

    `shares` are the shares of visual words, and of other words, that are replaced. `templates` are by the model that
    they are for and their source, published or mined. `counts` are the numbers of visual words in a template, used with
    the first source only. `others` selects the replacements of words that are no nouns: `any` other words, including
    nouns, or words of the `same-part-of-speech`.
    """

    shares: Sequence[float] = ()
    templates: Mapping[tuple[str, str], Template] = field(default_factory=dict)
    counts: Sequence[int] = ()
    others: str = ANY
    seed: int = 0


@dataclass(frozen=True)
class Constructed:
    """A constructed caption and its construction; the table kind CONSTRUCTED documents the fields."""

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
        """Count the words of tagged captions, in lower case.

        Words are drawn by frequency (`frequency`) or with equal weights (`uniform`).
        """
        counts: dict[str, Counter[str]] = {ANY: Counter()}
        self._lemmas: dict[str, str] = {}
        for caption in tagged:
            for word, lemma, tag in zip(*caption, strict=True):
                if tag not in NO_WORDS:
                    counts.setdefault(_class(tag), Counter())[word.lower()] += 1
                    counts[ANY][word.lower()] += 1
                    self._lemmas.setdefault(word.lower(), lemma.lower())
        # By part of speech: its words, and their cumulative weights.
        self._words: dict[str, tuple[list[str], list[int]]] = {}
        for tag, of_tag in counts.items():
            words = sorted(of_tag)
            weights = (of_tag[word] if draw == "frequency" else 1 for word in words)
            self._words[tag] = words, list(accumulate(weights))

    def word(self, tag: str, but: Set[str], generator: np.random.Generator) -> str | None:
        """Draw a word with this tag, or any word for ANY, such that neither it nor its lemma is in `but`.

        Returns None if there is no such word.
        """
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
    """Return the different nouns of captions, in lower case and in order of occurrence."""
    nouns = (word.lower() for caption in tagged for word, _, tag in zip(*caption, strict=True) if tag in NOUNS)
    return list(dict.fromkeys(nouns))


def construct(
    image: str, caption: str, tagged: Tags, references: Sequence[Tags], plan: Plan, vocabulary: Vocabulary
) -> Iterator[Constructed]:
    """Yield all captions of the plan for an image with this caption and these tagged references.

    A caption without a noun yields nothing. Templates with more visual words than the caption and references have are
    left out. Replacements are left out if the vocabulary has no suitable word.
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
        rest = float(generator.random())  # random rounding: shares of few words hold on average
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
    """Return the template of a mined pattern: each part of the pattern in its most frequent wording.

    A noun phrase keeps its determiners, and its nouns become one place. A phrase that the pattern names by a word, such
    as IMAGE.P, keeps its words. After the prefix comes the first noun phrase with its connecting words, and then the
    later noun phrases are repeated. If the pattern has no connecting word, they follow noun after noun. Raises
    ValueError, which names the caption, if a caption does not start like its pattern.
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
    """Return a replacement by position: a noun that is not in `right` for a noun, or another word for each other word.

    Either nouns or other words are replaced, as `subject` says. A replacement is None if the vocabulary has none.
    """
    drawn: dict[int, str | None] = {}
    for place, (word, _, tag) in enumerate(zip(*caption, strict=True)):
        if subject == "nouns" and tag in NOUNS:
            drawn[place] = vocabulary.word("NOUN", right, generator)
        elif subject == "others" and tag not in NOUNS | NO_WORDS:
            itself = {word.lower()}
            same = vocabulary.word(tag, itself, generator) if others == "same-part-of-speech" else None
            # A word like "that" may be the only word of its part of speech.
            drawn[place] = same or vocabulary.word(ANY, itself, generator)
    return drawn


def _spliced(caption: str, words: Sequence[str], replacements: Mapping[int, str]) -> str:
    """Return the caption with the words at some positions replaced and everything else unchanged."""
    parts, end = [], 0
    for place, word in enumerate(words):
        start = caption.index(word, end)
        parts += [caption[end:start], replacements.get(place, word)]
        end = start + len(word)
    return "".join([*parts, caption[end:]])


def _worded(chunk: Chunk, named: set[str]) -> list[str]:
    """Return the words of a chunk in a template.

    A noun phrase without a named word becomes its determiners and one place.
    """
    if chunk.kind != "NOUN.P" or named & set(chunk.nouns):
        return [*chunk.words]
    before = takewhile(lambda pair: pair[1] not in NOUNS, chunk.piece)
    return [*(word for word, tag in before if tag == "DET" or word in POSSESSIVES), SLOT]


def _most(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    """Return the most frequent item, the first in sorted order if there are several, () if there is none."""
    return min(counts, key=lambda words: (-counts[words], words), default=())
