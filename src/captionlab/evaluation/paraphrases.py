"""METEOR's paraphrases, cut down to those that some texts can contain, so that METEOR starts at once.

METEOR 1.5 reads 5 million pairs of phrases before it scores its first caption, which takes longer than scoring a test
split. A pair matches where a caption has one of its phrases and a reference the other, word after word, so all other
pairs change nothing. The pairs with a phrase of the references are looked up once for an evaluation; of these a job
takes those whose other phrase its captions have.
"""

import gzip
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.schemas import PARAPHRASES
from captionlab.tables import read_table

# What is between words. METEOR separates texts at other characters only, and takes away others only, whatever its rules
# (Normalizer of meteor-1.5.jar), so the words of a text as METEOR reads it are those of the text as it is, in order.
BETWEEN = "[^0-9a-z]+"
# But for these, which it takes for one character each.
ENTITIES = re.compile("&(?:quot|apos|lt|gt|amp);")
# Words of the longest phrase of METEOR's file.
LONGEST = 9
# Texts whose phrases are in memory together, in 3 to 7 kB each.
AT_ONCE = 50_000
# Columns of PARAPHRASES that say which phrase of a pair occurs.
OCCURS = ("phrase_occurs", "paraphrase_occurs")
# Of the bytes of the file all that are between words become spaces, but for the ends of lines.
NEWLINE, SPACE = b"\n "
SPACED = bytes(SPACE if re.match(BETWEEN, chr(byte)) and byte != NEWLINE else byte for byte in range(256))
# Bytes of the file that are looked through at a time, few enough for a processor's cache.
BLOCK = 1 << 18
# Bytes of a phrase, as one number, and bits of their hash, by which most lines are passed over.
BEGINNING, HASH_BITS = 8, 20


def paraphrases_of(texts: Iterable[str], path: str | os.PathLike[str]) -> dict[str, Any]:
    """Columns of PARAPHRASES: the pairs of METEOR's file `path`, three lines for each, with a phrase in the texts.

    The file is read once for every AT_ONCE texts. Raises ValueError where it is empty, ends within a
    pair or has a phrase of more than LONGEST words.
    """
    parts = pa.concat_tables([_pairs_with(phrases, path) for phrases in phrases_within(texts)])
    place, first, part_of = np.unique(parts["pair"].to_numpy(), return_index=True, return_inverse=True)
    found = parts.take(first)
    occurs = {name: np.bincount(part_of, parts[name].to_numpy(), len(place)) > 0 for name in OCCURS}
    return {name: occurs.get(name, found[name]) for name in PARAPHRASES.columns}


def _pairs_with(phrases: set[bytes], path: str | os.PathLike[str]) -> pa.Table:
    """The pairs of the file of which at least one phrase is among these, as a table of PARAPHRASES."""
    pairs, known = 0, np.zeros(1 << HASH_BITS, bool)
    known[_hashes(np.array([phrase[:BEGINNING] for phrase in phrases], f"S{BEGINNING}").view("<u8"))] = True
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    lines = []
    for block, ends in _blocks(path):
        one, other = _among(phrases, known, block, ends, path).reshape(-1, 3).T[1:]
        kept = np.flatnonzero(one | other)
        found.append((kept + pairs, one[kept], other[kept]))
        offsets = np.concatenate([[0], ends + 1]).astype(np.int32)
        given = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(block))
        lines.append(given.take((3 * kept[:, np.newaxis] + np.arange(3)).ravel()))
        pairs += len(one)
    place, *occurs = map(np.concatenate, zip(*found, strict=True))
    stripped = pc.utf8_rtrim(pa.chunked_array(lines), "\n").combine_chunks()
    probability, phrase, paraphrase = (stripped[part::3] for part in range(3))
    columns = {"pair": place, "probability": probability.cast(pa.float64()), "phrase": phrase, "paraphrase": paraphrase}
    return pa.table({**columns, **dict(zip(OCCURS, occurs, strict=True))})


def _among(
    phrases: set[bytes], known: np.ndarray, block: bytes, ends: np.ndarray, path: str | os.PathLike[str]
) -> np.ndarray:
    """Which lines of a block have, as words, one of the phrases; `known` are the hashes of the beginnings of these.

    Most lines begin as no phrase does, and no bytes are made of these.
    """
    spaced, odd = _words(block, ends, path)
    begins = np.concatenate([[0], ends[:-1] + 1])
    eights = np.ndarray(len(spaced), "<u8", spaced + bytes(BEGINNING), strides=(1,))[begins]
    spare = 8 * np.maximum(BEGINNING - (ends - begins), 0).astype(np.uint64)  # bits of what follows a short line
    beginning = np.where(spare < 8 * BEGINNING, eights << spare >> spare, 0)
    chosen = np.flatnonzero(known[_hashes(beginning)] | odd)
    found = np.zeros(len(ends), bool)
    words = (spaced[begin:end] for begin, end in zip(begins[chosen].tolist(), ends[chosen].tolist(), strict=True))
    found[chosen] = [
        (b" ".join(line.split()) if odd_one else line) in phrases
        for line, odd_one in zip(words, odd[chosen].tolist(), strict=True)
    ]
    return found


def _hashes(beginnings: np.ndarray) -> np.ndarray:
    """A number of HASH_BITS bits for each beginning of a phrase, BEGINNING bytes as one number (Knuth 1973, 6.4)."""
    return (beginnings * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - HASH_BITS)


def write_paraphrases(captions: Iterable[str], table: str | os.PathLike[str], path: Path) -> int:
    """Write METEOR's file of the pairs that can match captions and references; returns how many these are.

    `table` has the paraphrases of the references.
    """
    pairs, parts = read_table(table, PARAPHRASES), []
    one, other = (_words_of(pairs[name]) for name in ("phrase", "paraphrase"))
    for phrases in phrases_within(captions):
        within = pa.array(phrases, pa.binary())
        matches = pc.or_(
            pc.and_(pairs["phrase_occurs"], pc.is_in(other, within)),
            pc.and_(pairs["paraphrase_occurs"], pc.is_in(one, within)),
        )
        parts.append(pairs.filter(matches))
    together = pa.concat_tables(parts)
    _, first = np.unique(together["pair"].to_numpy(), return_index=True)  # in the order of METEOR's own file
    columns = together.take(first).select(["probability", "phrase", "paraphrase"]).to_pydict().values()
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(
            f"{probability!r}\n{phrase}\n{other}\n" for probability, phrase, other in zip(*columns, strict=True)
        )
    return len(first)


def phrases_within(texts: Iterable[str]) -> Iterator[set[bytes]]:
    """What occurs in texts, single spaces between words: nothing, words, and words in a row, LONGEST at most.

    A set for every AT_ONCE different texts, each of which adds some thirty phrases; without any text one, too.
    """
    different = {text.lower() for text in texts}
    different |= {ENTITIES.sub(" ", text) for text in different if "&" in text}
    remaining = iter(different)
    for _ in range(0, max(len(different), 1), AT_ONCE):
        found = {b""}
        for text in islice(remaining, AT_ONCE):
            words = re.sub(BETWEEN, " ", text).encode().split()
            for begin in range(len(words)):
                ends = range(begin + 1, min(begin + LONGEST, len(words)) + 1)
                found.update([b" ".join(words[begin:end]) for end in ends])
        yield found


def _blocks(path: str | os.PathLike[str]) -> Iterator[tuple[bytes, np.ndarray]]:
    """Pieces of METEOR's file, each of whole pairs, and the places of the ends of their lines."""
    rest, lines = b"", 0
    with gzip.open(path) as file:
        while more := file.read(BLOCK):
            rest += more
            ends = np.flatnonzero(np.frombuffer(rest, np.uint8) == NEWLINE)
            ends = ends[: len(ends) // 3 * 3]
            if len(ends):
                yield rest[: ends[-1] + 1], ends
                rest, lines = rest[ends[-1] + 1 :], lines + len(ends)
    if rest or not lines:
        lines += rest.count(NEWLINE)
        raise ValueError(f"{path}: {lines} lines are not a probability and two phrases each; install METEOR again")


def _words(block: bytes, ends: np.ndarray, path: str | os.PathLike[str]) -> tuple[bytes, np.ndarray]:
    """A block with spaces between words, and in which lines these are not single ones.

    ValueError where a line has more than LONGEST words.
    """
    spaced = block.translate(SPACED)
    between = np.frombuffer(spaced, np.uint8) <= SPACE
    begins = np.concatenate([~between[:1], between[:-1] & ~between[1:]])
    counts = np.add.reduceat(begins, np.concatenate([[0], ends[:-1] + 1]), dtype=np.int32)
    if counts.max() > LONGEST:
        longest = spaced.split(b"\n")[counts.argmax()].decode()
        raise ValueError(f"{path}: {longest!r} has more than {LONGEST} words; phrases of so many are not looked up")
    twice = np.flatnonzero(between[1:] & between[:-1])
    odd = np.zeros(len(ends), bool)
    odd[np.searchsorted(ends, np.concatenate([twice, twice + 1]))] = True
    return spaced, odd


def _words_of(phrases: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same of phrases in a table."""
    return pc.ascii_trim(pc.replace_substring_regex(phrases, BETWEEN, " "), " ").cast(pa.binary())
