"""Patterns over words and parts of speech, and their match with captions (Ma et al. 2022, Table 5 and Figure 1).

A pattern is a sequence joined by `+` (or spaces). `(...)*` means one or more times and `(...)?` zero or one time, as
the paper defines them. `(...|...)` means one or the other. The elements of a pattern are:

    image, that, of     a word, in lower case
    NOUN, DET, ADP ...  a universal part-of-speech tag; NOUN includes names, because "a tv" is tagged as one
    CONJ                CCONJ, as the paper's Figure 1 calls it
    AUX                 the copula: an auxiliary, or "is" or "was" with any tag
    DETERMINER          DET, or a possessive ("his") with any tag
    REL                 a relation of two phrases: one or more prepositions and verbs ("parked near")
    NOUN.P              a noun phrase: determiners, modifiers, then one or more nouns
    IMAGE.P             a noun phrase that contains the word "image"; any other word works in the same way

An automaton matches a pattern in one pass over the caption. A backtracking matcher would take exponential time, because
repetitions are nested.
"""

import functools
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from captionlab.texts.tagging import NOUNS, TAGS

# A caption as input of patterns: (word in lower case, tag) of each word, without punctuation.
Tagged = Sequence[tuple[str, str]]

POSSESSIVES = frozenset({"my", "your", "his", "her", "its", "our", "their"})
# Values that an element matches: the text of a word in lower case, or its tag.
_CLASSES = {
    **{tag: frozenset({tag}) for tag in TAGS},
    "NOUN": NOUNS,
    "CONJ": frozenset({"CCONJ"}),
    "AUX": frozenset({"AUX", "is", "was"}),
    "DETERMINER": POSSESSIVES | {"DET"},
}
# The part of a noun phrase before its nouns. A verb between a determiner and a noun modifies the noun ("a fenced
# area").
_BEFORE_NOUNS = "(((ADJ|NUM)*)?|DETERMINER+((DETERMINER|ADJ|NUM|VERB)*)?)"
_PIECE = re.compile(r"[()*?|+]|[^\s()*?|+]+")
# A part of a pattern: whether it may be empty, and the states at which it may start and end.
_Part = tuple[bool, frozenset[int], frozenset[int]]


class PatternError(ValueError):
    """A pattern cannot be parsed."""


@dataclass(frozen=True)
class Follows:
    """The extent to which a caption follows a pattern.

    `start` is true if the start of the caption matches. `whole` is true if every word of the caption also continues the
    pattern; the caption may end inside the last repetition.
    """

    start: bool
    whole: bool


def tagged(words: Iterable[str], tags: Iterable[str]) -> list[tuple[str, str]]:
    """Return a caption as input of patterns: (word in lower case, tag) of each word, without punctuation."""
    return [(word.lower(), tag) for word, tag in zip(words, tags, strict=True) if tag != "PUNCT"]


class Pattern:
    """A pattern, parsed by recursive descent into a position automaton (Glushkov 1961).

    Raises PatternError if the text cannot be parsed.
    """

    def __init__(self, text: str):
        self.text = text
        self._pieces = deque([*(part for piece in _PIECE.findall(text) for part in _written_out(piece)), ""])
        # Per state, the values that its word must match, and the states that may follow.
        self._words: list[frozenset[str]] = [frozenset()]
        self._after: list[frozenset[int]] = [frozenset()]
        self._steps: dict[tuple[frozenset[int], tuple[str, str]], frozenset[int]] = {}
        _, self._after[0], self._ends = self._either()
        if self._pieces[0]:
            raise PatternError(f"pattern {text!r}: a ')' has no '(' before it")

    def follows(self, caption: Tagged) -> Follows:
        """Return the extent to which a caption follows this pattern; a caption without words does not follow any."""
        ends = list(self._match(caption))
        return Follows(any(ends), any(ends) and len(ends) == len(caption))

    def longest(self, caption: Tagged, position: int = 0) -> int:
        """Return the number of words of the longest match that starts at `position`; 0 if there is none."""
        ends = self._match(caption[position:])
        return max((length for length, end in enumerate(ends, 1) if end), default=0)

    def _match(self, words: Tagged) -> Iterator[bool]:
        """Yield for each word whether the pattern may end with it; stop at the first word that does not match."""
        state = frozenset({0})
        for word in words:
            key = (state, word)
            if key not in self._steps:
                after = frozenset[int]().union(*(self._after[place] for place in state))
                self._steps[key] = frozenset(place for place in after if not self._words[place].isdisjoint(word))
            state = self._steps[key]
            if not state:
                return
            yield not state.isdisjoint(self._ends)

    def _either(self) -> _Part:
        empty, first, last = self._sequence()
        while self._pieces[0] == "|":
            self._pieces.popleft()
            other = self._sequence()
            empty, first, last = empty or other[0], first | other[1], last | other[2]
        return empty, first, last

    def _sequence(self) -> _Part:
        empty, first, last = self._item()
        while self._pieces[0] not in ("", ")", "|"):
            if self._pieces[0] == "+":
                self._pieces.popleft()
            optional, starts, ends = self._item()
            self._link(last, starts)
            first, last = first | starts if empty else first, last | ends if optional else ends
            empty = empty and optional
        return empty, first, last

    def _item(self) -> _Part:
        piece = self._pieces[0]
        if piece in ("", ")", "|", "*", "?", "+"):
            raise PatternError(f"pattern {self.text!r}: a word, a tag or '(' must stand before {piece or 'its end'!r}")
        self._pieces.popleft()
        if piece == "(":
            empty, first, last = self._either()
            if self._pieces[0] != ")":
                raise PatternError(f"pattern {self.text!r}: a '(' is not closed")
            self._pieces.popleft()
        else:
            empty, first = False, frozenset({len(self._words)})
            last = first
            if piece != piece.lower() and piece not in _CLASSES:
                raise PatternError(
                    f"pattern {self.text!r}: {piece!r} is neither a word in lower case nor one of "
                    f"{', '.join(sorted({*_CLASSES, 'REL', 'NOUN.P'}))} or a phrase such as IMAGE.P"
                )
            self._words.append(_CLASSES.get(piece, frozenset({piece})))
            self._after.append(frozenset())
        if self._pieces[0] in ("*", "?"):
            if self._pieces.popleft() == "*":
                self._link(last, first)
            else:
                empty = True
        return empty, first, last

    def _link(self, places: Iterable[int], following: frozenset[int]) -> None:
        for place in places:
            self._after[place] |= following


def _written_out(piece: str) -> list[str]:
    """Return the pieces that a piece of a pattern stands for: relations and noun phrases are patterns themselves."""
    if piece == "REL":
        piece = "((ADP|VERB)*)"
    elif piece == "NOUN.P":
        piece = f"({_BEFORE_NOUNS}+(NOUN)*)"
    elif piece.endswith(".P") and piece.isupper():
        piece = f"({_BEFORE_NOUNS}+((NOUN)*)?+{piece.removesuffix('.P').lower()}+((NOUN)*)?)"
    return _PIECE.findall(piece)


@functools.cache
def compiled(text: str) -> Pattern:
    """Return the parsed pattern; each pattern is parsed once."""
    return Pattern(text)


def with_prefix(pattern: str, prefixes: Sequence[str]) -> str:
    """Return a sentence pattern whose word `Prefix` is replaced by the alternatives `prefixes`."""
    return re.sub(r"\bPrefix\b", f"({'|'.join(prefixes)})", pattern)
