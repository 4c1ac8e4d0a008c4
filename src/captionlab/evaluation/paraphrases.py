"""METEOR's paraphrases, cut down to those that some texts can contain, so that METEOR starts at once.

METEOR 1.5 reads 5 million pairs of phrases before it scores its first caption, which takes longer than scoring a test
split. A pair can only match where both of its phrases occur, word after word, so pairs with a phrase that no text has
change nothing. Phrases are compared by hashes of their words: two that share one cost a pair too many, never one.
"""

import gzip
import hashlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from captionlab.evaluation.schemas import PARAPHRASES, PHRASES
from captionlab.tables import read_table

# What is between words. METEOR separates texts at other characters only, and takes away others only, whatever its rules
# (Normalizer of meteor-1.5.jar), so the words of a text as METEOR reads it are those of the text as it is, in order.
BETWEEN = "[^0-9a-z]+"
# But for these, which it takes for one character each.
ENTITIES = re.compile("&(?:quot|apos|lt|gt|amp);")
# Of a hash of words in a row: an odd number of 64 bits, here 2^64 divided by the golden ratio.
FACTOR = np.uint64(0x9E3779B97F4A7C15)


def index_paraphrases(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of the tables of phrases and of paraphrases; `path` is METEOR's file, three lines for a pair."""
    lines = pyarrow.csv.read_csv(
        path,
        pyarrow.csv.ReadOptions(column_names=["line"]),
        pyarrow.csv.ParseOptions(delimiter="\x1f", quote_char=False, ignore_empty_lines=False),
        pyarrow.csv.ConvertOptions(column_types={"line": pa.string()}, strings_can_be_null=False),
    )["line"]
    if len(lines) % 3:
        raise ValueError(f"{path}: {len(lines)} lines are not a probability and two phrases each; install METEOR again")
    places = np.arange(0, len(lines), 3)
    both = pa.chunked_array([*lines.take(places + 1).chunks, *lines.take(places + 2).chunks])
    encoded = both.dictionary_encode().unify_dictionaries()
    phrases = encoded.chunk(0).dictionary
    of_pairs = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    first, second = np.split(of_pairs, 2)
    pairs = {"probability": lines.take(places).cast(pa.float64()), "phrase": first, "paraphrase": second}
    words, starts = _words(phrases)
    lengths = np.diff(starts)
    hashes = _hashes(words, starts[:-1], lengths)
    return {"phrase": phrases, "words": pa.array(lengths), "hash": pa.array(hashes)}, pairs


def write_paraphrases(
    texts: Iterable[str], phrases: str | os.PathLike[str], paraphrases: str | os.PathLike[str], path: Path
) -> int:
    """Write METEOR's file of those paraphrases of which both phrases occur in the texts; returns how many these are."""
    table = read_table(phrases, PHRASES)
    possible = pc.is_in(table["hash"], pa.array(_hashes_within(texts, pc.max(table["words"]).as_py()))).to_numpy()
    pairs = read_table(paraphrases, PARAPHRASES)
    first, second = pairs["phrase"].to_numpy(), pairs["paraphrase"].to_numpy()
    kept = np.flatnonzero(possible[first] & possible[second])
    ones, others = (table["phrase"].take(of[kept]).to_pylist() for of in (first, second))
    lines = zip(pairs["probability"].to_numpy()[kept].tolist(), ones, others, strict=True)
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        file.writelines(f"{probability!r}\n{phrase}\n{paraphrase}\n" for probability, phrase, paraphrase in lines)
    return len(kept)


def _hashes_within(texts: Iterable[str], longest: int) -> np.ndarray:
    """The hashes of what occurs in texts: nothing, words, and words in a row, of so many at most."""
    different = {text.lower() for text in texts}
    different |= {ENTITIES.sub(" ", text) for text in different if "&" in text}
    words, starts = _words(pa.array(sorted(different), pa.string()))
    places = np.arange(len(words))
    left = np.repeat(starts[1:], np.diff(starts)) - places  # words of the text from this one on
    found = [np.zeros(1, np.uint64)]
    for length in range(1, longest + 1):
        begins = places[left >= length]
        found.append(np.unique(_hashes(words, begins, np.full(len(begins), length))))
    return np.concatenate(found)


def _words(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The hash of each word of texts in lower case, and the place of the first of each text, with the end of all."""
    lists = pc.split_pattern_regex(texts, BETWEEN)
    encoded = lists.values.dictionary_encode()
    digests = (hashlib.blake2b(word.encode(), digest_size=8).digest() for word in encoded.dictionary.to_pylist())
    of_words = np.frombuffer(b"".join(digests), np.uint64)
    spoken = pc.not_equal(lists.values, "").to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(spoken)])[lists.offsets.to_numpy()]
    return of_words[encoded.indices.to_numpy()][spoken], starts


def _hashes(words: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """A hash of the words from each start on, of so many; 0 of none."""
    hashes = np.zeros(len(starts), np.uint64)
    for place in range(lengths.max(initial=0)):
        more = lengths > place
        hashes[more] = hashes[more] * FACTOR + words[starts[more] + place]
    return hashes
