"""Patterns over words and parts of speech, and the captions that follow them (Ma et al. 2022, Table 5 and Figure 1).

A pattern is a sequence joined by `+` (or spaces); `(...)*` is one or more times and `(...)?` zero or one time, as the
paper defines them, and `(...|...)` is one or the other. What it is made of:

    image, that, of     a word, in lower case
    NOUN, DET, ADP ...  a universal part-of-speech tag; NOUN is also a name, for "a tv" is tagged as one
    CONJ                CCONJ, as the paper's Figure 1 calls it
    AUX                 the copula: an auxiliary, or "is" or "was" whatever its tag
    REL                 what relates two phrases: one or more prepositions and verbs ("parked near")
    NOUN.P              a noun phrase: determiners, modifiers, then one or more nouns
    IMAGE.P             a noun phrase that contains the word "image"; so for any word

Matching is by an automaton, in one pass over the caption, because the nested repetitions of these patterns take a
backtracking matcher exponential time.
"""

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from captionlab.texts.tagging import NOUNS, TAGS

# A caption as patterns see it: (word in lower case, tag) of each word, without punctuation.
Tagged = Sequence[tuple[str, str]]

POSSESSIVES = frozenset({"my", "your", "his", "her", "its", "our", "their"})
COPULAS = frozenset(("is", "was"))
_PIECE = re.compile(r"\s*([()*?|+]|[^\s()*?|+]+)")


class PatternError(ValueError):
    """A pattern that cannot be read."""


@dataclass(frozen=True)
class Follows:
    """How far a caption follows a pattern.

    start: its first words, one or more, match the pattern. whole: so does the rest, except that the caption may break
    off inside the last repetition, as captions do that a decoder cuts at its maximal length.
    """

    start: bool
    whole: bool


def tagged(words: Iterable[str], tags: Iterable[str]) -> list[tuple[str, str]]:
    """A caption as patterns see it."""
    return [(word.lower(), tag) for word, tag in zip(words, tags, strict=True) if tag != "PUNCT"]


class Pattern:
    """A pattern that has been read; PatternError says what is wrong with a text."""

    def __init__(self, text: str):
        self.text = text
        self._edges: list[list[tuple[_Test, int]]] = []
        self._jumps: list[list[int]] = []
        self._steps: dict[tuple[frozenset[int], tuple[str, str]], frozenset[int]] = {}
        start = self._state()
        self._end = _Reader(text, self).read(start)
        self._start = self._closure({start})

    def follows(self, caption: Tagged) -> Follows:
        """How far a caption follows this pattern; a caption without words does not."""
        states, found = self._start, False
        for token in caption:
            states = self._step(states, token)
            if not states:
                break
            found = found or self._end in states
        return Follows(found, found and bool(states))

    def longest(self, caption: Tagged, position: int = 0) -> int:
        """Number of words of the longest match that starts at this position; 0 when there is none."""
        states, length = self._start, 0
        for index in range(position, len(caption)):
            states = self._step(states, caption[index])
            if not states:
                break
            if self._end in states:
                length = index + 1 - position
        return length

    def _step(self, states: frozenset[int], token: tuple[str, str]) -> frozenset[int]:
        key = (states, token)
        if key not in self._steps:
            self._steps[key] = self._closure(
                {target for state in states for test, target in self._edges[state] if test.passes(*token)}
            )
        return self._steps[key]

    def _closure(self, states: set[int]) -> frozenset[int]:
        reached, pending = set(states), list(states)
        while pending:
            for target in self._jumps[pending.pop()]:
                if target not in reached:
                    reached.add(target)
                    pending.append(target)
        return frozenset(reached)

    def _state(self) -> int:
        self._edges.append([])
        self._jumps.append([])
        return len(self._edges) - 1

    def _add(self, start: int, test: "_Test") -> int:
        end = self._state()
        self._edges[start].append((test, end))
        return end

    def _jump(self, start: int, end: int) -> None:
        self._jumps[start].append(end)


@dataclass(frozen=True)
class _Test:
    """Passes a word that is one of these words or has one of these tags."""

    words: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()

    def passes(self, word: str, tag: str) -> bool:
        return word in self.words or tag in self.tags


_CLASSES = {
    **{tag: _Test(tags=frozenset({tag})) for tag in TAGS},
    "NOUN": _Test(tags=NOUNS),
    "CONJ": _Test(tags=frozenset({"CCONJ"})),
    "AUX": _Test(COPULAS, frozenset({"AUX"})),
}
_DETERMINER = _Test(POSSESSIVES, frozenset({"DET"}))
_MODIFIER = _Test(tags=frozenset({"ADJ", "NUM"}))
# "a fenced area": a verb between a determiner and a noun modifies the noun.
_PARTICIPLE = _Test(tags=frozenset({"ADJ", "NUM", "VERB"}))
_RELATION = _Test(tags=frozenset({"ADP", "VERB"}))


class _Reader:
    """Reads a pattern by recursive descent and builds its automaton; read() and the rest go from a state to a state."""

    def __init__(self, text: str, pattern: Pattern):
        self.text, self.pattern = text, pattern
        self.pieces = _PIECE.findall(text)
        self.place = 0

    def read(self, start: int) -> int:
        end = self._either(start)
        if self._next():
            raise PatternError(f"pattern {self.text!r}: {self._next()!r} is too much after item {self.place}")
        return end

    def _next(self) -> str:
        return self.pieces[self.place] if self.place < len(self.pieces) else ""

    def _take(self) -> str:
        self.place += 1
        return self.pieces[self.place - 1]

    def _either(self, start: int) -> int:
        end = self.pattern._state()
        while True:
            self.pattern._jump(self._sequence(start), end)
            if self._next() != "|":
                return end
            self._take()

    def _sequence(self, start: int) -> int:
        end = self._item(start)
        while self._next() not in ("", ")", "|"):
            if self._next() == "+":
                self._take()
            end = self._item(end)
        return end

    def _item(self, start: int) -> int:
        piece = self._next()
        if piece in ("", ")", "|", "*", "?", "+"):
            raise PatternError(f"pattern {self.text!r}: a word, a tag or '(' must stand before {piece or 'its end'!r}")
        self._take()
        first = self.pattern._state()
        self.pattern._jump(start, first)
        if piece == "(":
            end = self._either(first)
            if self._next() != ")":
                raise PatternError(f"pattern {self.text!r}: a '(' is not closed")
            self._take()
        else:
            end = self._name(piece, first)
        if self._next() in ("*", "?"):
            self.pattern._jump(*((end, first) if self._take() == "*" else (first, end)))
        return end

    def _name(self, name: str, start: int) -> int:
        if name == "NOUN.P":
            return self._phrase(start, None)
        if name.endswith(".P") and name.isupper():
            return self._phrase(start, _Test(words=frozenset({name.removesuffix(".P").lower()})))
        if name == "REL":
            end = self.pattern._add(start, _RELATION)
            self.pattern._edges[end].append((_RELATION, end))
            return end
        if name in _CLASSES:
            return self.pattern._add(start, _CLASSES[name])
        if name != name.lower():
            raise PatternError(
                f"pattern {self.text!r}: {name!r} is neither a word in lower case nor one of "
                f"{', '.join(sorted({*_CLASSES, 'REL', 'NOUN.P'}))} or a phrase such as IMAGE.P"
            )
        return self.pattern._add(start, _Test(words=frozenset({name})))

    def _phrase(self, start: int, word: _Test | None) -> int:
        """Determiners and modifiers, then nouns; with a word, nouns on its left and right are optional."""
        pattern, nouns = self.pattern, _CLASSES["NOUN"]
        bare, determined, head = pattern._state(), pattern._state(), pattern._state()
        pattern._jump(start, bare)
        pattern._edges[bare].append((_MODIFIER, bare))
        pattern._edges[start].append((_DETERMINER, determined))
        pattern._edges[determined] += [(_DETERMINER, determined), (_PARTICIPLE, determined)]
        pattern._jump(bare, head)
        pattern._jump(determined, head)
        if word:
            pattern._edges[head].append((nouns, head))
        end = pattern._add(head, word or nouns)
        pattern._edges[end].append((nouns, end))
        return end


@functools.cache
def compiled(text: str) -> Pattern:
    """A pattern, read once."""
    return Pattern(text)


def with_prefix(pattern: str, prefixes: Sequence[str]) -> str:
    """A sentence pattern with the word `Prefix` replaced by its prefixes, one or the other."""
    return re.sub(r"\bPrefix\b", f"({'|'.join(prefixes)})", pattern)
