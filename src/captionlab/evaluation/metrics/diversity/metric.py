"""Diversity of captions over images and within an image, and novelty: the share of captions absent from training.

Over images: distinct-n (Li et al. 2016), vocabulary, length and novelty. Among several captions of an image: mBLEU-4
(Shetty et al. 2017), self-CIDEr (Wang and Chan 2019) and distinct-n within the image.
"""

import logging
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.bleu import BLEU_COUNTS
from captionlab.evaluation.inputs import Key, MetricInputs
from captionlab.evaluation.summary import (
    CAPTIONS,
    LOWER,
    Job,
    Metric,
    OfCaptions,
    Result,
    aggregate,
    caption_results,
    caption_values,
    matrix,
    mean,
    parts,
    sums_of_images,
)
from captionlab.evaluation.within_image import mutual_bleu, mutual_bleu_counts, self_cider
from captionlab.statistics.intervals import FROM_0, PER_CENT, jackknife_resampled
from captionlab.storage.schemas import CAPTION_KEY
from captionlab.storage.tables import Column, TableSchema, read_table
from captionlab.texts.counting import first_of_groups, ngram_counts

ORDERS = np.array([1, 2])  # orders of the n-grams that distinct-n counts
_DOUBLE, _COUNTS = pa.float64(), pa.list_(pa.int32(), len(ORDERS))
_TYPES = {
    "types": Column(_COUNTS, "different n-grams that no earlier caption of the corpus has; n = 1, 2"),
    "image_types": Column(_COUNTS, "different n-grams that no earlier caption of the image has; n = 1, 2"),
    "own_types": Column(_COUNTS, "n-grams of `image_types` that captions of no other image have; n = 1, 2"),
}
SCORES = TableSchema(
    "diversity",
    "a caption, with the n-grams that it adds to the captions of its corpus and of its image",
    tuple(CAPTION_KEY),
    **CAPTION_KEY,
    length=Column(pa.int32(), "tokens"),
    novel=Column(
        pa.bool_(),
        "whether no caption in training has the same letters and digits; missing where training is unknown",
        nullable=True,
    ),
    **_TYPES,
    mbleu_counts=Column(
        pa.list_(pa.int32(), BLEU_COUNTS),
        "counts of BLEU against the other captions of its image, as `bleu_counts` of the scores against references; "
        "missing if it is the only caption",
        nullable=True,
    ),
    self_cider=Column(
        _DOUBLE,
        "diversity of the captions of its image, 0 to 1; missing for a single caption, or if references have no idf",
        nullable=True,
    ),
)
NOVELTY = Metric("novel", mean, PER_CENT, share=True)
# Metrics of several captions of an image.
METRICS = {
    "mBLEU-4": Metric("mBLEU-4", mutual_bleu, PER_CENT, better=LOWER),
    **{name: Metric(name, mean, PER_CENT) for name in ("self-CIDEr", *(f"distinct-{n} in an image" for n in ORDERS))},
}

logger = logging.getLogger(__name__)


def letters_and_digits(caption: str) -> str:
    """Return the letters and digits of a caption, in lower case.

    Training captions and generated captions may differ in punctuation: `man's`, `mans` and `man 's` give the same
    result.
    """
    return re.sub(r"[\W_]+", "", caption.lower())


def score(inputs: MetricInputs) -> Iterator[dict[str, Any]]:
    """Yield the columns of SCORES, corpus by corpus."""
    known = {letters_and_digits(caption) for caption in inputs.training}
    if not known:
        logger.warning("novelty is missing: this run does not know the captions that the captioner was trained on")
    for corpus in inputs.corpora:
        texts = {(row["image_id"], row["caption_index"]): row["caption"] for row in inputs.captions[corpus]}
        yield score_corpus(corpus, texts, inputs.tokens[corpus], inputs.references[corpus], known)


def score_corpus(
    corpus: str,
    captions: Mapping[Key, str],
    tokens: Mapping[Key, str],
    references: Mapping[str, Sequence[str]],
    known: Collection[str],
) -> dict[str, Any]:
    """Return the columns of SCORES for a corpus, sorted by image and index.

    captions: as written; tokens: captions as tokens joined by spaces; references: by image, as tokens joined by spaces;
    known: `letters_and_digits` of every training caption, empty if the training is unknown. A caption without letters
    or digits is not novel.
    """
    keys = sorted(captions)
    words_of = [tokens[key].split() for key in keys]
    letters = [letters_and_digits(captions[key]) for key in keys]
    by_order = [_types(words_of, [image for image, _ in keys], int(n)) for n in ORDERS]
    return {
        "corpus": [corpus] * len(keys),
        "image_id": [image for image, _ in keys],
        "caption_index": [index for _, index in keys],
        "length": list(map(len, words_of)),
        "novel": [bool(one) and one not in known if known else None for one in letters],
        **{name: np.stack(counts, axis=1).tolist() for name, *counts in zip(_TYPES, *by_order, strict=True)},
        **_among_themselves(corpus, keys, tokens, references),
    }


def results(job: Job, path: str, seed: int) -> Iterator[Result]:
    """Yield the results by corpus.

    These are the metrics over images, novelty if it is known, and the metrics of images with several captions.
    """
    for (corpus,), part in parts(read_table(path, SCORES), "corpus"):
        of_corpus = partial(Result, job, corpus, None, None)
        yield from _over_images(of_corpus, part, seed)
        yield from caption_results(job, part.filter(pc.is_valid(part["novel"])), seed, {"novelty": NOVELTY})
        yield from _within_images(of_corpus, part.filter(pc.is_valid(part["mbleu_counts"])), seed)


def of_captions(path: str, factors: Mapping[str, float]) -> Iterator[OfCaptions]:
    """Yield length and novelty of single captions. The other metrics need many captions."""
    scores = read_table(path, SCORES)
    yield from caption_values(scores, {"length": "length"}, scale=1.0)
    yield from caption_values(scores, {"novelty": "novel"})


def _types(texts: Sequence[Sequence[str]], images: Sequence[str], n: int) -> list[np.ndarray]:
    """Return the columns _TYPES (captions,) for n-grams of order n, from the words and the image of each caption."""
    counts, group = ngram_counts(texts, n), np.unique(images, return_inverse=True)[1]
    everywhere, _ = first_of_groups(counts, np.zeros_like(group))
    rows, grams = first_of_groups(counts, group)
    images_with = np.bincount(grams, minlength=counts.shape[1])
    of_rows = (everywhere, rows, rows[images_with[grams] == 1])
    return [np.bincount(found, minlength=len(texts)) for found in of_rows]


def _among_themselves(
    corpus: str, keys: Sequence[Key], tokens: Mapping[Key, str], references: Mapping[str, Sequence[str]]
) -> dict[str, list[Any]]:
    """Return the columns mbleu_counts and self_cider of captions, whose keys are sorted by image."""
    several = [found for _, of_image in groupby(keys, itemgetter(0)) if len(found := list(of_image)) > 1]
    images = [[tokens[key] for key in found] for found in several]
    places = [key for found in several for key in found]
    bleu, cider = dict(zip(places, mutual_bleu_counts(images), strict=True)), {}
    if images and len(references) > 1:
        of_images = zip(several, self_cider(images, references), strict=True)
        cider = {key: value for found, value in of_images for key in found}
    elif images:
        logger.warning("%s: self-CIDEr is missing, because the idf of every n-gram is 0 with one image", corpus)
    return {"mbleu_counts": [bleu.get(key) for key in keys], "self_cider": [cider.get(key) for key in keys]}


def _over_images(of_corpus: Callable[..., Result], part: pa.Table, seed: int) -> Iterator[Result]:
    """Yield distinct-n, vocabulary and length.

    distinct-n and vocabulary are not sums over images. They are resampled by the jackknife, from their values without
    each image.
    """
    images, sums = sums_of_images(part, _columns(part, "types", "own_types"))
    types, ngrams = sums["types"].sum(axis=0), sums["ngrams"].sum(axis=0)
    others = types - sums["own_types"]
    values = np.append(100 * _share(types, ngrams), types[0])
    without = np.column_stack([100 * _share(others, ngrams - sums["ngrams"]), others[:, 0]])
    resampled = np.clip(jackknife_resampled(values, without, seed), 0, [100] * len(ORDERS) + [np.inf])
    for column, name in enumerate((*(f"distinct-{n}" for n in ORDERS), "vocabulary")):
        bounds = FROM_0 if name == "vocabulary" else PER_CENT
        yield of_corpus(name, float(values[column]), resampled[:, column], images, len(part), bounds)
    for name, value, resampled in aggregate(sums, {"length": Metric("length", mean, FROM_0, scale=1.0)}, seed):
        yield of_corpus(name, value, resampled, images, len(part), FROM_0)


def _within_images(of_corpus: Callable[..., Result], part: pa.Table, seed: int) -> Iterator[Result]:
    """Yield mBLEU-4 of the corpus, and the means over images of self-CIDEr and distinct-n within an image."""
    if len(part):
        cider = [] if part["self_cider"].null_count else ["self_cider"]
        images, sums = sums_of_images(part, _columns(part, "image_types", *cider))
        of_image = {"mBLEU-4": _counts_by_rank(part)}
        if cider:
            of_image["self-CIDEr"] = sums["self_cider"] / sums[CAPTIONS]
        distinct = _share(sums["image_types"], sums["ngrams"])
        of_image |= {f"distinct-{n} in an image": distinct[:, n - 1 : n] for n in ORDERS}
        of_image[CAPTIONS] = np.ones((len(images), 1))
        metrics = {name: METRICS[name] for name in of_image if name != CAPTIONS}
        for name, value, resampled in aggregate(of_image, metrics, seed):
            yield of_corpus(name, value, resampled, images, len(part), PER_CENT)


def _counts_by_rank(part: pa.Table) -> np.ndarray:
    """Return the numbers that `mutual_bleu` adds up, (images, 11 K), for each image and each rank of caption.

    The rows of an image must be adjacent and sorted by caption index.
    """
    _, first, image = np.unique(part["image_id"].to_numpy(), return_index=True, return_inverse=True)
    rank = np.arange(len(part)) - first[image]
    found = np.zeros((len(first), rank.max() + 1, BLEU_COUNTS + 1))
    found[image, rank] = np.column_stack([matrix(part["mbleu_counts"]), np.ones(len(part))])
    return found.reshape(len(first), -1)


def _columns(part: pa.Table, *names: str) -> dict[str, np.ndarray]:
    """Return length, the named columns of SCORES and the number of n-grams (n = 1, 2), each (captions, width)."""
    found = {name: matrix(part[name]) for name in ("length", *names)}
    return {"ngrams": np.maximum(found["length"] + 1 - ORDERS, 0), **found}


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return part divided by whole, or 0 if the whole is 0."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
