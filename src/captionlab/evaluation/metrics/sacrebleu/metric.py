"""SacreBLEU (Post 2018): BLEU of captions as they were written, by the library sacrebleu with its default settings.

Its tokenizer is 13a for English, and the tokeniser of the language for other corpora. Case and punctuation are kept.
BLEU@4 of captionlab.evaluation.metrics.nlg.metric uses tokens that are lower-cased and without punctuation. The library
counts n-grams of each caption, and sums of the counts over captions give exactly sacrebleu.corpus_bleu.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from captionlab.config.languages import PTB, written_tokenizer
from captionlab.evaluation.inputs import MetricInputs, Row
from captionlab.evaluation.summary import (
    Job,
    Metric,
    OfCaptions,
    Result,
    caption_results,
    caption_values,
)
from captionlab.evaluation.tokenizers import bleu_by
from captionlab.statistics.intervals import PER_CENT
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table

ORDER = 4  # order of the longest n-grams, the library's default
SCORES = TableSchema(
    "SacreBLEU",
    "a caption, with what the library counts against the references of its image",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    sentence=Column(
        pa.float64(), "SacreBLEU of the caption alone, 0 to 100: orders for which it is too short are left out"
    ),
    counts=Column(
        pa.list_(pa.int32(), 2 + 2 * ORDER),
        "tokens of the caption, of the reference closest in length; n-grams found in a reference, n = 1 to 4; n-grams "
        "of the caption, n = 1 to 4",
    ),
)

logger = logging.getLogger(__name__)


def corpus_sacrebleu(sums: np.ndarray, captions: np.ndarray) -> np.ndarray:
    """Return SacreBLEU (...) of a corpus, 0 to 100, from sums (..., 10) of `counts`."""
    from sacrebleu.metrics import BLEU

    found = [
        BLEU.compute_bleu(counts[:ORDER], counts[ORDER:], length, closest, smooth_method="exp").score
        for length, closest, *counts in sums.reshape(-1, sums.shape[-1]).astype(int).tolist()
    ]
    return np.reshape(found, sums.shape[:-1])


METRICS = {"SacreBLEU": Metric("counts", corpus_sacrebleu, PER_CENT, scale=1.0)}


def score(inputs: MetricInputs) -> Iterator[dict[str, Any]]:
    """Yield the columns of SCORES, corpus by corpus."""
    for corpus, rows in inputs.captions.items():
        tokenizer = written_tokenizer(inputs.tokenizers.get(corpus, PTB))
        yield score_corpus(corpus, rows, inputs.texts[corpus], tokenizer)


def score_corpus(
    corpus: str, captions: Sequence[Row], references: Mapping[str, Sequence[str]], tokenizer: str = "13a"
) -> dict[str, list[Any]]:
    """Return the columns of SCORES for a corpus, from rows of GENERATED and the references, as written, of each image.

    `tokenizer` is a name of sacrebleu. A reference without text is left out. Captions of an image without other
    references are not scored, which is logged.
    """
    bleu = bleu_by(tokenizer)
    spoken = {image: [text for text in texts if text.strip()] for image, texts in references.items()}
    scored = [row for row in captions if spoken.get(row["image_id"])]
    if left_out := len(captions) - len(scored):
        logger.warning("%s: %d captions are of images without references and have no SacreBLEU", corpus, left_out)
    found = [bleu.sentence_score(row["caption"], spoken[row["image_id"]]) for row in scored]
    return {
        **{name: [row[name] for row in scored] for name in CAPTION_KEY},
        "sentence": [one.score for one in found],
        "counts": [[one.sys_len, one.ref_len, *one.counts, *one.totals] for one in found],
    }


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus."""
    return caption_results(job, read_table(path, SCORES), seed, METRICS)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield SacreBLEU of each caption alone."""
    return caption_values(read_table(path, SCORES), {"SacreBLEU": "sentence"}, scale=1.0)
