"""What section 4.3 and appendix A of Ma et al. 2022 say of the words of captions, without counting anything.

Neighbours are a noun phrase and the next one of its caption, as patterns have them: nouns in a row are one phrase,
"table table" too. They are packed together when nothing is between them, and connected when a preposition or a verb is.
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.summary import PER_CENT, Job, Metric, Result, caption_results
from captionlab.language.mining import pieces_of
from captionlab.language.patterns import Tagged, tagged
from captionlab.language.statistics import mostly_tagged
from captionlab.texts.tagging import NOUNS
from captionlab.texts.unknown import UNKNOWN

CONNECTED, BY_AND = "connected noun phrases", "noun phrases connected by and"
# What a share that few neighbours have is held against.
HALF_OF_NEIGHBOURS = "half of the neighbouring noun phrases"
# How many of the most frequent words are of a kind.
TOP_WORDS = {"nouns of the top words": NOUNS, "verbs of the top words": frozenset({"VERB"})}
TOP = 10
# Words that are counted, the most frequent first: a later one is not among the first ten of a resample either.
COUNTED = 100


def connection_results(job: Job, captions: pa.Table, seed: int) -> Iterator[Result]:
    """CONNECTED and BY_AND, in per cent of all neighbours, by corpus, of a table of TAGGED; nothing where none are."""
    rows = captions.to_pylist()
    counts = [connections(tagged(row["words"], row["tags"])) for row in rows]
    counted = _counted(
        [row["corpus"] for row in rows], [row["image_id"] for row in rows], np.array(counts).reshape(-1, 3)
    )
    shares = ((1, CONNECTED), (2, BY_AND))
    metrics = {name: Metric("counts", partial(_share, part=part), ends=PER_CENT) for part, name in shares}
    spoken = {row["corpus"] for row, (neighbours, *_) in zip(rows, counts, strict=True) if neighbours}
    yield from (result for result in caption_results(job, counted, seed, metrics) if result.corpus in spoken)


def connections(caption: Tagged) -> tuple[int, int, int]:
    """Neighbours of a caption, those that a preposition or a verb connects, and those with the word `and` between."""
    pieces = pieces_of(caption)
    phrases = [place for place, piece in enumerate(pieces) if piece.kind == "NOUN.P"]
    between = [pieces[phrase + 1 : other] for phrase, other in pairwise(phrases)]
    connected = sum(any(piece.kind == "REL" for piece in found) for found in between)
    return len(between), connected, sum(any("and" in piece.words for piece in found) for found in between)


def top_word_results(job: Job, captions: pa.Table, seed: int) -> Iterator[Result]:
    """TOP_WORDS by corpus, of a table of TAGGED; each resample of the images has its own most frequent words.

    UNK is not among them.
    """
    rows: dict[str, dict[str, list[Tagged]]] = {}
    for row in captions.to_pylist():
        known = [(word, tag) for word, tag in tagged(row["words"], row["tags"]) if word != UNKNOWN.lower()]
        rows.setdefault(row["corpus"], {}).setdefault(row["image_id"], []).append(known)
    for corpus, of_images in rows.items():
        every = [caption for of_image in of_images.values() for caption in of_image]
        counts = Counter(word for caption in every for word, _ in caption)
        # In the order of their names, which decides between equal ones, as in the table of unigrams.
        words = sorted(sorted(counts, key=lambda word: (-counts[word], word))[:COUNTED])
        place = {word: index for index, word in enumerate(words)}
        matrix = np.zeros((len(of_images), COUNTED))
        for number, of_image in enumerate(of_images.values()):
            for word in (word for caption in of_image for word, _ in caption if word in place):
                matrix[number, place[word]] += 1
        metrics = {}
        for measure, tags in TOP_WORDS.items():
            wanted = mostly_tagged(every, tags)
            is_wanted = np.array([word in wanted for word in words] + [False] * (COUNTED - len(words)))
            metrics[measure] = Metric("counts", partial(wanted_on_top, is_wanted=is_wanted), scale=1.0)
        yield from caption_results(job, _counted([corpus] * len(of_images), [*of_images], matrix), seed, metrics)


def wanted_on_top(sums: np.ndarray, captions: np.ndarray, is_wanted: np.ndarray) -> np.ndarray:
    """Wanted words (...) among the TOP with the largest counts (..., words); words that do not occur are none."""
    top = np.argsort(-sums, axis=-1, kind="stable")[..., :TOP]
    return (is_wanted[top] & (np.take_along_axis(sums, top, axis=-1) > 0)).sum(axis=-1).astype(np.float64)


def _share(sums: np.ndarray, captions: np.ndarray, part: int) -> np.ndarray:
    return sums[..., part] / np.maximum(sums[..., 0], 1.0)


def _counted(corpora: Any, images: Any, counts: np.ndarray) -> pa.Table:
    """A table with counts (n, m) of captions or of images."""
    flat = pa.array(counts.astype(np.float64).ravel())
    columns = {"corpus": corpora, "image_id": images}
    return pa.table({**columns, "counts": pa.FixedSizeListArray.from_arrays(flat, counts.shape[1])})
