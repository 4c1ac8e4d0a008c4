"""METEOR's table of paraphrases without the pairs that some texts cannot contain, so that METEOR loads in a second.

METEOR 1.5 loads five million pairs of phrases before it scores the first caption, which takes longer than to score
5,000 captions. A pair counts only where a caption has one of its phrases and a reference the other. So pairs with a
phrase that begins like no part of the texts are left out. Phrases and texts are compared by their letters and digits
alone, and only by the first BEGINNING of these: more pairs stay than can match, and no score changes.
"""

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

# How many letters and digits of a phrase are compared: the bytes of a 64-bit number.
BEGINNING = 8
# METEOR lowers letters, and separates or removes characters other than these (class Normalizer of meteor-1.5.jar).
WORD = re.compile("[0-9a-z]+")
# METEOR reads each of these as one character.
ENTITIES = re.compile("&(?:quot|apos|lt|gt|amp);")
NEWLINE = ord("\n")
OTHERS = bytes(byte for byte in range(256) if byte != NEWLINE and not WORD.fullmatch(chr(byte)))
# Bytes that are read at a time: few enough for a processor's cache.
BLOCK = 1 << 18
# Bits of the hash by which most phrases are passed over.
HASH_BITS = 20

Numbers = NDArray[np.uint64]


def beginnings(texts: Iterable[str]) -> Numbers:
    """Return the beginnings of all parts of texts that a phrase could equal, sorted, each as a 64-bit number."""
    found: set[str] = set()
    for text in texts:
        lowered = text.lower()
        for form in {lowered, ENTITIES.sub(" ", lowered)}:
            words = WORD.findall(form)
            for first in range(len(words)):
                begun = ""
                for word in words[first:]:
                    begun += word
                    found.add(begun[:BEGINNING])
                    if len(begun) >= BEGINNING:
                        break
    return np.unique(np.array([begun.encode() for begun in found], f"S{BEGINNING}").view("<u8"))


def write_possible(begun: Numbers, table: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Write the pairs of METEOR's gzipped table whose two phrases have such beginnings; return how many these are.

    A pair has three lines: a probability and two phrases. Raises ValueError if the table is incomplete or damaged.
    """
    known = np.zeros(1 << HASH_BITS, bool)
    known[_hashes(begun)] = True
    pairs = 0
    with gzip.open(path, "wb", compresslevel=1) as file:
        for block in _blocks(table):
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == NEWLINE) + 1
            possible = np.flatnonzero(_begin_so(block, begun, known).reshape(-1, 3)[:, 1:].all(axis=1))
            first = np.concatenate(([0], ends))[3 * possible].tolist()
            last = ends[3 * possible + 2].tolist()
            file.write(b"".join([block[start:end] for start, end in zip(first, last, strict=True)]))
            pairs += len(possible)
    return pairs


def _begin_so(block: bytes, begun: Numbers, known: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether each line of a block has such a beginning, or neither letter nor digit."""
    letters = block.translate(None, OTHERS) + bytes(BEGINNING)
    ends = np.flatnonzero(np.frombuffer(letters, np.uint8) == NEWLINE)
    starts = np.concatenate(([0], ends[:-1] + 1))
    beginning = np.ndarray(len(letters) - BEGINNING + 1, "<u8", letters, strides=(1,))[starts]
    spare = 8 * np.maximum(BEGINNING - (ends - starts), 0).astype(np.uint64)  # bits of the line that follows
    empty = spare == 8 * BEGINNING
    beginning = np.where(empty, 0, beginning << np.minimum(spare, 63) >> np.minimum(spare, 63))
    found = known[_hashes(beginning)]
    place = np.flatnonzero(found)
    found[place] = begun[np.searchsorted(begun, beginning[place]).clip(max=len(begun) - 1)] == beginning[place]
    return found | empty


def _hashes(numbers: Numbers) -> Numbers:
    """Return a number of HASH_BITS bits for each number (Knuth 1973, section 6.4)."""
    return (numbers * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - HASH_BITS)


def _blocks(table: str | os.PathLike[str]) -> Iterator[bytes]:
    """Yield a table of pairs in blocks of whole pairs. Raises ValueError if the table is incomplete or damaged."""
    rest = b""
    try:
        with gzip.open(table) as file:
            while more := file.read(BLOCK):
                rest += more
                ends = np.flatnonzero(np.frombuffer(rest, np.uint8) == NEWLINE)
                if whole := len(ends) // 3 * 3:
                    end = int(ends[whole - 1]) + 1
                    yield rest[:end]
                    rest = rest[end:]
        if rest:
            raise EOFError("it ends within a pair")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        again = "`pip install --force-reinstall --no-deps pycocoevalcap`"
        raise ValueError(f"{os.fspath(table)} is damaged ({error}); install it again by {again}") from error
