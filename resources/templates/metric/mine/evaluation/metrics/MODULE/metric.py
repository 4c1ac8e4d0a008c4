"""Repetition: the share of the words of a caption that repeat an earlier word of the same caption."""

import pyarrow as pa

from captionlab.evaluation.summary import LOWER, Metric, caption_results, caption_values, mean
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

REPEATED = Column(pa.float64(), "share of the words that repeat an earlier word, 0 to 1")
SCORES = TableSchema("NAME", "a caption and its repetition", (*CAPTION_KEY,), **CAPTION_KEY, repeated=REPEATED)
METRICS = {"NAME": Metric("repeated", mean, PER_CENT, better=LOWER)}


def repetition(words):
    """Return the share of words that repeat an earlier word; 0 for no words."""
    return 1 - len(set(words)) / len(words) if words else 0.0


def score(inputs):
    """Yield the columns of SCORES, corpus by corpus."""
    for corpus, tokens in inputs.tokens.items():
        yield {
            "corpus": [corpus] * len(tokens),
            "image_id": [image for image, _ in tokens],
            "caption_index": [index for _, index in tokens],
            "repeated": [repetition(text.split()) for text in tokens.values()],
        }


def results(job, path, seed):
    """Yield the mean of each corpus, with resampled means."""
    return caption_results(job, read_table(path, SCORES), seed, METRICS)


def of_captions(path, factors):
    """Yield the values of single captions."""
    return caption_values(read_table(path, SCORES), {"NAME": "repeated"})
