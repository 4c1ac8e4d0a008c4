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
    """How far a caption follows a pattern: its `start`, one or more words, or the `whole` of it.

    A caption may break off inside the last repetition, as captions do that a decoder cuts at its maximal length.
    """

    start: bool
    whole: bool


def tagged(words: Iterable[str], tags: Iterable[str]) -> list[tuple[str, str]]:
    """A caption as patterns see it."""
    return [(word.lower(), tag) for word, tag in zip(words, tags, strict=True) if tag != "PUNCT"]


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


class Pattern:
    """A pattern, read by recursive descent into an automaton; PatternError says what is wrong with a text."""

    def __init__(self, text: str):
        self.text = text
        self._pieces, self._place = _PIECE.findall(text), 0
        self._edges: list[list[tuple[_Test, int]]] = []
        self._jumps: list[list[int]] = []
        self._steps: dict[tuple[frozenset[int], tuple[str, str]], frozenset[int]] = {}
        start = self._state()
        self._end = self._either(start)
        if self._next():
            raise PatternError(f"pattern {self.text!r}: {self._next()!r} is too much after item {self._place}")
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

    def _add(self, start: int, test: _Test) -> int:
        end = self._state()
        self._edges[start].append((test, end))
        return end

    def _next(self) -> str:
        return self._pieces[self._place] if self._place < len(self._pieces) else ""

    def _take(self) -> str:
        self._place += 1
        return self._pieces[self._place - 1]

    # From here on, what is read leads from a state to the state that is returned.

    def _either(self, start: int) -> int:
        end = self._state()
        self._jumps[self._sequence(start)].append(end)
        while self._next() == "|":
            self._take()
            self._jumps[self._sequence(start)].append(end)
        return end

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
        first = self._state()
        self._jumps[start].append(first)
        if piece == "(":
            end = self._either(first)
            if self._next() != ")":
                raise PatternError(f"pattern {self.text!r}: a '(' is not closed")
            self._take()
        else:
            end = self._name(piece, first)
        if self._next() in ("*", "?"):
            one, other = (end, first) if self._take() == "*" else (first, end)
            self._jumps[one].append(other)
        return end

    def _name(self, name: str, start: int) -> int:
        if name == "NOUN.P":
            return self._phrase(start, None)
        if name.endswith(".P") and name.isupper():
            return self._phrase(start, _Test(words=frozenset({name.removesuffix(".P").lower()})))
        if name == "REL":
            end = self._add(start, _RELATION)
            self._edges[end].append((_RELATION, end))
            return end
        if name in _CLASSES:
            return self._add(start, _CLASSES[name])
        if name != name.lower():
            raise PatternError(
                f"pattern {self.text!r}: {name!r} is neither a word in lower case nor one of "
                f"{', '.join(sorted({*_CLASSES, 'REL', 'NOUN.P'}))} or a phrase such as IMAGE.P"
            )
        return self._add(start, _Test(words=frozenset({name})))

    def _phrase(self, start: int, word: _Test | None) -> int:
        """Determiners and modifiers, then nouns; with a word, nouns on its left and right are optional."""
        nouns = _CLASSES["NOUN"]
        bare, determined, head = self._state(), self._state(), self._state()
        self._jumps[start].append(bare)
        self._edges[bare].append((_MODIFIER, bare))
        self._edges[start].append((_DETERMINER, determined))
        self._edges[determined] += [(_DETERMINER, determined), (_PARTICIPLE, determined)]
        self._jumps[bare].append(head)
        self._jumps[determined].append(head)
        if word:
            self._edges[head].append((nouns, head))
        end = self._add(head, word or nouns)
        self._edges[end].append((nouns, end))
        return end


@functools.cache
def compiled(text: str) -> Pattern:
    """A pattern, read once."""
    return Pattern(text)


def with_prefix(pattern: str, prefixes: Sequence[str]) -> str:
    """A sentence pattern with the word `Prefix` replaced by its prefixes, one or the other."""
    return re.sub(r"\bPrefix\b", f"({'|'.join(prefixes)})", pattern)
