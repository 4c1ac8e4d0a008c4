"""Mining of patterns that captions follow: an automatic version of the procedure of Ma et al. 2022 (§4.1, Figure 1).

Noun phrases and relations are merged into chunks. Prefixes are counted as n-grams at the start of captions. The rest
after a prefix is split into repetitions of connecting words and noun phrases, which are summarized in one body. Prefix
and body make a pattern.

Any pattern can be made to match more captions by making it less specific. Patterns are therefore ranked by the number
of bits that they save when the captions are encoded. A pattern is kept if at least half of its captions follow no
pattern that was kept before. Naming the class of a chunk saves -log2 of the class's share. Naming a word also saves the
choice among the different words of its class.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import product

from captionlab.language.patterns import Tagged, compiled
from captionlab.texts.tagging import NOUNS
from captionlab.texts.unknown import UNKNOWN

PREFIX = 4  # longest prefix in merged chunks, as the paper uses 4-grams
FREQUENT = 0.05  # a prefix, or a word that is named instead of its class, must occur in this share of captions
# A body must cover this share of the repetitions after its prefix. A word with this share of its class in the
# repetitions replaces the class.
COVERED = 0.9
NEW = 0.5  # this share of a pattern's captions must follow no kept pattern that saves more
LONGEST = 200  # number of words of a caption that are used for mining
CLASSES = ("NOUN.P", "REL", "CONJ", "AUX")
UNK = (UNKNOWN.lower(),)


@dataclass(frozen=True)
class Mined:
    """A mined pattern as a text, with its prefix; `matches` are the indices of captions that follow it to the end."""

    prefix: str
    pattern: str
    matches: tuple[int, ...]


@dataclass(frozen=True)
class Chunk:
    """A merged chunk of a caption: its class (one of CLASSES, or a tag), and its words with their tags."""

    kind: str
    piece: Tagged

    @property
    def words(self) -> tuple[str, ...]:
        """Return the words."""
        return tuple(word for word, _ in self.piece)

    @property
    def nouns(self) -> tuple[str, ...]:
        """Return the nouns of a noun phrase."""
        return tuple(word for word, tag in self.piece if tag in NOUNS)


def mine(captions: Sequence[Tagged], max_patterns: int = 5) -> list[Mined]:
    """Return at most `max_patterns` patterns of the captions, by the share of captions that follow them, largest first.

    UNK is in no pattern.
    """
    chunked = [chunks_of(caption[:LONGEST]) for caption in captions]
    elements = Counter(element for chunks in chunked for element in {e for chunk in chunks for e in _words(chunk)})
    named = {element for element, count in elements.items() if count >= FREQUENT * len(captions)}
    surprise = _surprise(chunked)
    starts: dict[tuple[str, ...], list[int]] = {}
    for index, chunks in enumerate(chunked):
        for prefix in _prefixes(chunks, named):
            starts.setdefault(prefix, []).append(index)

    candidates = []
    for prefix, found in starts.items():
        if len(found) < FREQUENT * len(captions):
            continue
        body, elements_of_body = _body([chunked[index][len(prefix) :] for index in found])
        # Consecutive noun phrases were merged into one chunk, so they become a repetition.
        text = "+".join(f"({element})*" if element == "NOUN.P" else element for element in prefix)
        pattern = f"{text}+{body}" if body else text
        matches = frozenset(index for index in found if compiled(pattern).follows(captions[index]).whole)
        saved = sum(_saved(chunked[index], prefix, elements_of_body, surprise) for index in matches)
        candidates.append((-saved, len(pattern), pattern, text, matches))
    kept: list[Mined] = []
    covered: set[int] = set()
    for _, _, pattern, text, matches in sorted(candidates):
        if matches and len(matches - covered) >= NEW * len(matches):
            follow = (index for index, caption in enumerate(captions) if compiled(pattern).follows(caption).whole)
            kept.append(Mined(text, pattern, tuple(follow)))
            covered |= matches
    return sorted(kept, key=lambda mined: (-len(mined.matches), mined.pattern))[:max_patterns]


def chunks_of(caption: Tagged) -> list[Chunk]:
    """Return the chunks of a caption: merged noun phrases and relations.

    Consecutive noun phrases are one chunk.
    """
    chunks: list[Chunk] = []
    for piece in pieces_of(caption):
        if chunks and piece.kind == chunks[-1].kind == "NOUN.P":
            piece = Chunk(piece.kind, [*chunks.pop().piece, *piece.piece])
        chunks.append(piece)
    return chunks


def pieces_of(caption: Tagged) -> list[Chunk]:
    """Return the pieces of a caption: the words of each noun phrase and each relation are merged.

    Consecutive nouns are one phrase.
    """
    pieces: list[Chunk] = []
    place = 0
    while place < len(caption):
        kind = next((name for name in CLASSES if compiled(name).longest(caption, place)), caption[place][1])
        length = compiled(kind).longest(caption, place) if kind in CLASSES else 1
        pieces.append(Chunk(kind, caption[place : place + length]))
        place += length
    return pieces


def _words(chunk: Chunk) -> list[str]:
    """Return elements that name a word of a chunk: `but`, `IMAGE.P`."""
    if chunk.kind == "NOUN.P":
        return [f"{noun.upper()}.P" for noun in dict.fromkeys(chunk.nouns) if _writable(noun.upper())]
    return ["+".join(chunk.words)] if chunk.words != UNK and all(map(_writable, chunk.words)) else []


def _writable(word: str) -> bool:
    """Return whether a pattern can name this word: without operators, and with a case to tell it from a tag."""
    return word.isalnum() and word.isascii() and not word.isdigit()


def _surprise(chunked: Sequence[Sequence[Chunk]]) -> dict[str, float]:
    """Return the bits that each element saves."""
    every = [chunk for chunks in chunked for chunk in chunks]
    kinds = Counter(chunk.kind for chunk in every)
    words: dict[str, set[str]] = {kind: set() for kind in kinds}
    for chunk in every:
        words[chunk.kind].update(_words(chunk))
    bits = {kind: -math.log2(count / kinds.total()) for kind, count in kinds.items()}
    return bits | {word: bits[kind] + math.log2(len(of_kind)) for kind, of_kind in words.items() for word in of_kind}


def _saved(
    chunks: Sequence[Chunk], prefix: tuple[str, ...], elements: Sequence[str], surprise: Mapping[str, float]
) -> float:
    """Return the bits that a prefix and the elements of its body save on a caption that follows them."""
    rest = (element for chunk in chunks[len(prefix) :] for element in (*_words(chunk), chunk.kind))
    return sum(surprise[element] for element in (*prefix, *(element for element in rest if element in elements)))


def _prefixes(chunks: Sequence[Chunk], named: Set[str]) -> Iterator[tuple[str, ...]]:
    """Yield every description of the start of a caption.

    A prefix ends in a chunk that is no noun phrase, as in the paper.
    """
    for length in range(1, min(PREFIX, len(chunks)) + 1):
        if chunks[length - 1].words == UNK:
            return
        if chunks[length - 1].kind != "NOUN.P":
            yield from product(*([chunk.kind, *(w for w in _words(chunk) if w in named)] for chunk in chunks[:length]))


def _body(rests: Sequence[Sequence[Chunk]]) -> tuple[str, list[str]]:
    """Return a body for the rests after a prefix, such as `((but)?+(NOUN.P)*)*`, and its elements.

    Both are empty if the rests have no noun phrase.
    """
    units = [unit[:-1] for rest in rests for unit in units_of(rest)]
    if not units:
        return "", []
    # The most frequent classes of connecting words, until they cover enough repetitions.
    frequency = Counter(chunk.kind for unit in units for chunk in unit if chunk.words != UNK)
    classes: list[str] = []
    for kind, _ in sorted(frequency.items(), key=lambda item: (-item[1], item[0])):
        if sum({chunk.kind for chunk in unit} <= {*classes} for unit in units) >= COVERED * len(units):
            break
        classes.append(kind)
    if not classes:
        return "(NOUN.P)*", ["NOUN.P"]
    # Sorted by their mean position.
    place = {kind: [i for unit in units for i, chunk in enumerate(unit) if chunk.kind == kind] for kind in classes}
    classes.sort(key=lambda kind: (sum(place[kind]) / len(place[kind]), kind))
    elements = []
    for kind in classes:
        words = Counter(word for unit in units for chunk in unit if chunk.kind == kind for word in _words(chunk))
        word, count = words.most_common(1)[0] if words else ("", 0)
        elements.append(word if count >= COVERED * frequency[kind] else kind)
    return f"({''.join(f'({element})?+' for element in elements)}(NOUN.P)*)*", [*elements, "NOUN.P"]


def units_of(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return each noun phrase together with the chunks before it that connect it to the previous noun phrase."""
    units: list[list[Chunk]] = [[]]
    for chunk in chunks:
        units[-1].append(chunk)
        if chunk.kind == "NOUN.P":
            units.append([])
    return units[:-1]
