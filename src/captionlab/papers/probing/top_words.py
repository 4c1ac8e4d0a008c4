"""How many of the most frequent words of captions are nouns, or verbs (Ma et al. 2022, section 4.3 and appendix A)."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from captionlab.evaluation.summary import Job, Metric, Result, caption_results
from captionlab.language.patterns import Tagged, tagged
from captionlab.language.statistics import mostly_tagged
from captionlab.texts.tagging import NOUNS
from captionlab.texts.unknown import UNKNOWN

MEASURES = {"nouns of the top words": NOUNS, "verbs of the top words": frozenset({"VERB"})}
TOP = 10
# Words that are counted, the most frequent first: a later one is not among the first ten of a resample either.
COUNTED = 100


def top_word_results(job: Job, captions: pa.Table, seed: int) -> Iterator[Result]:
    """MEASURES by corpus, of a table of TAGGED; each resample of the images has its own most frequent words.

    UNK is not among them.
    """
    rows: dict[str, dict[str, list[Tagged]]] = {}
    for row in captions.to_pylist():
        of_corpus = rows.setdefault(row["corpus"], {})
        known = [(word, tag) for word, tag in tagged(row["words"], row["tags"]) if word != UNKNOWN.lower()]
        of_corpus.setdefault(row["image_id"], []).append(known)
    for corpus, of_images in rows.items():
        every = [caption for of_image in of_images.values() for caption in of_image]
        counts = Counter(word for caption in every for word, _ in caption)
        # In the order of their names, which decides between equal ones, as in the table of unigrams.
        words = sorted(sorted(counts, key=lambda word: (-counts[word], word))[:COUNTED])
        place = {word: index for index, word in enumerate(words)}
        matrix = np.zeros((len(of_images), COUNTED))
        for row, of_image in enumerate(of_images.values()):
            for word in (word for caption in of_image for word, _ in caption if word in place):
                matrix[row, place[word]] += 1
        counted = pa.table(
            {
                "corpus": [corpus] * len(of_images),
                "image_id": list(of_images),
                "counts": pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), COUNTED),
            }
        )
        metrics = {}
        for measure, tags in MEASURES.items():
            wanted = mostly_tagged(every, tags)
            is_wanted = np.array([word in wanted for word in words] + [False] * (COUNTED - len(words)))
            metrics[measure] = Metric("counts", partial(wanted_on_top, is_wanted=is_wanted), scale=1.0)
        yield from caption_results(job, counted, seed, metrics)


def wanted_on_top(sums: np.ndarray, captions: np.ndarray, is_wanted: np.ndarray) -> np.ndarray:
    """Wanted words (...) among the TOP with the largest counts (..., words); words that do not occur are none."""
    top = np.argsort(-sums, axis=-1, kind="stable")[..., :TOP]
    return (is_wanted[top] & (np.take_along_axis(sums, top, axis=-1) > 0)).sum(axis=-1).astype(np.float64)
