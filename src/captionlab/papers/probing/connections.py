"""What stands between the noun phrases of captions (Ma et al. 2022, section 4.3, which counts nothing).

Neighbours are a noun phrase and the next one of its caption, as patterns have them: nouns in a row are one phrase,
"table table" too. They are packed together when nothing is between them, and connected when a preposition or a verb is.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from captionlab.evaluation.summary import PER_CENT, Job, Metric, Result, caption_results
from captionlab.language.mining import pieces_of
from captionlab.language.patterns import Tagged, tagged

CONNECTED, BY_AND = "connected noun phrases", "noun phrases connected by and"
# What a share that few neighbours have is held against.
HALF_OF_NEIGHBOURS = "half of the neighbouring noun phrases"


def connection_results(job: Job, captions: pa.Table, seed: int) -> Iterator[Result]:
    """CONNECTED and BY_AND, in per cent of all neighbours, by corpus, of a table of TAGGED; nothing where none are."""
    rows = captions.to_pylist()
    counts = [connections(tagged(row["words"], row["tags"])) for row in rows]
    counted = pa.table(
        {
            "corpus": captions["corpus"],
            "image_id": captions["image_id"],
            "neighbours": pa.FixedSizeListArray.from_arrays(pa.array(np.array(counts, np.float64).ravel()), 3),
        }
    )
    metrics = {
        CONNECTED: Metric("neighbours", _share_connected, ends=PER_CENT),
        BY_AND: Metric("neighbours", _share_by_and, ends=PER_CENT),
    }
    spoken = {row["corpus"] for row, (neighbours, *_) in zip(rows, counts, strict=True) if neighbours}
    yield from (result for result in caption_results(job, counted, seed, metrics) if result.corpus in spoken)


def connections(caption: Tagged) -> tuple[int, int, int]:
    """Neighbours of a caption, those that a preposition or a verb connects, and those with the word `and` between."""
    pieces = pieces_of(caption)
    phrases = [place for place, piece in enumerate(pieces) if piece.kind == "NOUN.P"]
    between = [pieces[phrase + 1 : other] for phrase, other in pairwise(phrases)]
    connected = sum(any(piece.kind == "REL" for piece in found) for found in between)
    return len(between), connected, sum(any("and" in piece.words for piece in found) for found in between)


def _share_connected(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    return sums[..., 1] / np.maximum(sums[..., 0], 1.0)


def _share_by_and(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    return sums[..., 2] / np.maximum(sums[..., 0], 1.0)
