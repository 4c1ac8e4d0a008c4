"""Sentence templates that visual words are put into (Ma et al. 2022, Table 7), given or found in captions.

A template is a sequence of words and of `NOUN`, joined by `+`, that ends in a repeated group with one `NOUN`, as
`a+NOUN+of+a+NOUN+(near+a+NOUN)*`: the nouns fill its places in order, and the group takes those that remain.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from typing import Self

from captionlab.language.mining import LONGEST, Chunk, Mined, chunks_of, units_of
from captionlab.language.patterns import POSSESSIVES, Tagged, compiled
from captionlab.texts.tagging import NOUNS

SLOT = "NOUN"
# The body of a pattern whose further nouns follow each other without a connecting word.
PACKED = "(NOUN.P)*"
_TEMPLATE = re.compile(r"(?:(?P<start>[^()]+)\+)?\((?P<repeated>[^()]+)\)\*")


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


def template_of(mined: Mined, captions: Sequence[Tagged]) -> Template:
    """The template of a pattern that was mined from captions: each part of it as it is mostly worded.

    A noun phrase keeps its determiners, and its nouns are one place; a phrase that the pattern names by a word, such
    as IMAGE.P, is worded as it is. After the prefix stands the first noun phrase with what connects it, then the later
    ones are repeated; without a connecting word in the pattern they are packed, noun after noun.
    """
    named = {name.lower() for name in re.findall(r"(\w+)\.P", mined.prefix)} - {SLOT.lower()}
    prefix = compiled(mined.prefix)
    starts, firsts, laters = (Counter[tuple[str, ...]]() for _ in range(3))
    for index in mined.matches:
        chunks = chunks_of(captions[index][:LONGEST])
        pieces = accumulate(chunk.piece for chunk in chunks)
        end = next(number for number, words in enumerate(pieces, 1) if prefix.longest(words) == len(words))
        starts[tuple(word for chunk in chunks[:end] for word in _worded(chunk, named))] += 1
        units = [tuple(word for chunk in unit for word in _worded(chunk, set())) for unit in units_of(chunks[end:])]
        firsts.update(units[:1])
        laters.update(units[1:])
    first = _most(firsts)
    packed = mined.pattern.endswith(f"+{PACKED}") or not firsts
    return Template(_most(starts) + first, (SLOT,) if packed else _most(laters) or first)


def _worded(chunk: Chunk, named: set[str]) -> list[str]:
    """A chunk in a template: its words, and of a noun phrase that no word names its determiners and one place."""
    if chunk.kind != "NOUN.P" or named & set(chunk.nouns):
        return [*chunk.words]
    before = takewhile(lambda pair: pair[1] not in NOUNS, chunk.piece)
    return [*(word for word, tag in before if tag == "DET" or word in POSSESSIVES), SLOT]


def _most(counts: Counter[tuple[str, ...]]) -> tuple[str, ...]:
    """What occurs most often; of several the first by name, and nothing of none."""
    return min(counts, key=lambda words: (-counts[words], words), default=())
