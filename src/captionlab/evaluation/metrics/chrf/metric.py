"""chrF (Popović 2015) of captions as they were written, as the library sacrebleu computes it with its defaults.

The n-grams of characters are the library's. Its numbers of a caption are not public, and intervals need their sums, so
they are counted here. Values equal `sacrebleu.corpus_chrf`.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.evaluation.inputs import MetricInputs, Row
from captionlab.evaluation.summary import Job, Metric, OfCaptions, Result, caption_results, caption_values
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

ORDER = 6  # order of the longest n-grams of characters, the library's default
BETA = 2.0  # how much recall counts against precision, the library's default
SCORES = TableSchema(
    "chrF",
    "a caption, with the counts of n-grams of characters against the reference of its image with the best chrF",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    sentence=Column(pa.float64(), "chrF of the caption alone, 0 to 100"),
    counts=Column(
        pa.list_(pa.int32(), 3 * ORDER),
        "for n = 1 to 6: n-grams of the caption, of the reference, and of both; n-grams of the caption are 0 if the "
        "reference has none",
    ),
)

logger = logging.getLogger(__name__)


def corpus_chrf(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return chrF (...) of a corpus, 0 to 100, from sums (..., 18) of `counts`.

    Precision and recall are means over the orders of which caption and reference have n-grams.
    """
    own, theirs, both = (sums[..., place::3] for place in range(3))
    there = (own > 0) & (theirs > 0)
    orders = np.maximum(there.sum(axis=-1), 1)
    precision = np.where(there, both / np.maximum(own, 1), 0).sum(axis=-1) / orders
    recall = np.where(there, both / np.maximum(theirs, 1), 0).sum(axis=-1) / orders
    weighted = BETA**2 * precision + recall
    return 100 * (1 + BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1)


METRICS = {"chrF": Metric("counts", corpus_chrf, PER_CENT, scale=1.0)}


def score(inputs: MetricInputs) -> Iterator[dict[str, Any]]:
    """Yield the columns of SCORES, corpus by corpus."""
    for corpus, rows in inputs.captions.items():
        yield score_corpus(corpus, rows, inputs.texts[corpus])


def score_corpus(corpus: str, captions: Sequence[Row], references: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
    """Return the columns of SCORES for a corpus, from rows of GENERATED and the references, as written, of each image.

    A reference without text is left out. Captions of an image without other references are not scored, which is logged.
    """
    spoken = {image: [text for text in texts if text.strip()] for image, texts in references.items()}
    scored = [row for row in captions if spoken.get(row["image_id"])]
    if left_out := len(captions) - len(scored):
        logger.warning("%s: %d captions are of images without references and have no chrF", corpus, left_out)
    ngrams = {image: [_ngrams(text) for text in spoken[image]] for image in {row["image_id"] for row in scored}}
    counts = np.array([_counts(_ngrams(row["caption"]), ngrams[row["image_id"]]) for row in scored], dtype=np.int32)
    counts = counts.reshape(len(scored), 3 * ORDER)
    return {
        **{name: [row[name] for row in scored] for name in CAPTION_KEY},
        "sentence": corpus_chrf(counts, np.ones(len(scored))).tolist(),
        "counts": counts.tolist(),
    }


def _ngrams(text: str) -> list[Counter[str]]:
    """Return the n-grams of the characters of a text but spaces, for n = 1 to 6."""
    from sacrebleu.metrics.helpers import extract_all_char_ngrams

    found: list[Counter[str]] = extract_all_char_ngrams(text, ORDER)
    return found


def _counts(caption: Sequence[Counter[str]], references: Sequence[Sequence[Counter[str]]]) -> np.ndarray:
    """Return `counts` (18,) of a caption against the reference with the best chrF, the first of equal ones."""
    every = np.array(
        [
            [
                number
                for own, theirs in zip(caption, reference, strict=True)
                for number in (own.total() if theirs else 0, theirs.total(), (own & theirs).total())
            ]
            for reference in references
        ]
    )
    best: np.ndarray = every[corpus_chrf(every, np.ones(len(every))).argmax()]
    return best


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus."""
    return caption_results(job, read_table(path, SCORES), seed, METRICS)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield chrF of each caption alone."""
    return caption_values(read_table(path, SCORES), {"chrF": "sentence"}, scale=1.0)
