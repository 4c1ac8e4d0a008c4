"""CIDEr-D (Vedantam et al. 2015) of many captions against references whose n-grams are counted once.

The values equal the values of pycocoevalcap's Cider. pycocoevalcap counts the references anew in each call and keeps
the counts in dictionaries, which is too slow and too large for training and for many captions. Here the n-grams of each
order are rows of a sorted table, and all captions of a batch are compared in a few array operations.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from captionlab.texts.ngram import find

ORDERS = 4
SIGMA = 6.0  # standard deviation of the Gaussian length penalty

Indices = NDArray[np.int64]
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class _Order:
    """The n-grams of one order in all references."""

    keys: Indices
    """sorted: rank of the first n-1 words in the table below * number of words + last word; for n = 1 the word"""
    idf: Numbers
    """logarithm of documents / documents that have the n-gram"""
    grams: NDArray[np.int32]
    """n-grams of each reference, one reference after the other"""
    counts: NDArray[np.int32]
    """how often they occur there"""
    bounds: Indices
    """where each reference begins in `grams`; one more entry at the end"""
    norms: Numbers
    """length of the vector of each reference"""


class CiderD:
    """Scorer of captions by CIDEr-D, with the document frequencies of the references that it is built from."""

    def __init__(self, references: Sequence[Sequence[Sequence[str]]], documents: Sequence[int] | Indices | None = None):
        """Count the references, lists of words, of each image. Captions of an image without references score 0.

        `documents` says how many documents of the idf the references of each image are, by default one.
        """
        self.documents: Indices = np.ones(len(references), np.int64) if documents is None else np.asarray(documents)
        flat = [words for of_image in references for words in of_image]
        number = np.array([len(of_image) for of_image in references], np.int64)
        self.first: Indices = np.concatenate(([0], number.cumsum()))
        self.words = {word: rank for rank, word in enumerate(sorted(set().union(*flat)))}
        self.unseen = float(np.log(self.documents.sum()))
        self.lengths = np.array([max(0, len(words) - 1) for words in flat], np.int64)
        stream = np.fromiter((self.words[word] for words in flat for word in words), np.int64)
        text, offsets = _places(flat)
        image = np.repeat(np.arange(len(references)), number)
        self.orders: list[_Order] = []
        index = stream
        for n in range(1, ORDERS + 1):
            inside = np.flatnonzero(offsets >= n - 1)
            if n == 1:
                keys = np.arange(len(self.words))
            else:
                keys, ranks = np.unique(index[inside - 1] * len(self.words) + stream[inside], return_inverse=True)
                index = np.full(len(stream), -1)
                index[inside] = ranks
            self.orders.append(self._order(keys, index[inside], text[inside], image, len(flat)))

    def score(self, images: Sequence[int] | Indices, captions: Sequence[Sequence[str]]) -> Numbers:
        """Return CIDEr-D (B,), 0 to 10, of captions as lists of words; `images` (B,) are the ranks of their images."""
        ranks = np.asarray(images, np.int64)
        new: dict[str, int] = {}
        known = self.words
        words = chain(*captions)
        ids = (known[word] if word in known else len(known) + new.setdefault(word, len(new)) for word in words)
        stream = np.fromiter(ids, np.int64)
        text, offsets = _places(captions)
        lengths = np.array([max(0, len(words) - 1) for words in captions], np.int64)
        number = self.first[ranks + 1] - self.first[ranks]
        pairs = _ranges(self.first[ranks], number)  # the reference of each caption-reference pair
        caption = np.repeat(np.arange(len(captions)), number)
        similarity = np.zeros(len(pairs))
        vocabulary = len(known) + len(new)
        local, found = stream, np.where(stream < len(known), stream, -1)
        for n, order in enumerate(self.orders, start=1):
            inside = np.flatnonzero(offsets >= n - 1)
            if n > 1:
                # Each n-gram has two ids: in these captions, and in the references, where -1 means that it is absent.
                last, before = stream[inside], found[inside - 1]
                _, ranks_here = np.unique(local[inside - 1] * vocabulary + last, return_inverse=True)
                there = np.full(len(inside), -1)
                both = np.flatnonzero((before >= 0) & (last < len(known)))
                there[both] = find(order.keys, before[both] * len(known) + last[both])
                local, found = np.full(len(stream), -1), np.full(len(stream), -1)
                local[inside], found[inside] = ranks_here, there
            similarity += self._similarity(order, text[inside], local[inside], found[inside], pairs, caption)
        penalty = np.exp(-((lengths[caption] - self.lengths[pairs]) ** 2) / (2 * SIGMA**2))
        total = np.bincount(caption, similarity * penalty, len(captions))
        return np.asarray(10 / ORDERS * total / np.maximum(1, number), np.float64)

    def _order(self, keys: Indices, grams: Indices, text: Indices, image: Indices, texts: int) -> _Order:
        """Return the table of an order from the rank of each n-gram and the index of its reference."""
        size = max(1, len(keys))
        distinct, counts = np.unique(text * size + grams, return_counts=True)
        of_text, gram = distinct // size, distinct % size
        holder, held = np.divmod(np.unique(image[of_text] * size + gram), size)
        idf = self.unseen - np.log(np.maximum(1.0, np.bincount(held, self.documents[holder], size)))
        return _Order(
            keys,
            idf,
            gram.astype(np.int32),
            counts.astype(np.int32),
            np.searchsorted(of_text, np.arange(texts + 1)),
            np.sqrt(np.bincount(of_text, (counts * idf[gram]) ** 2, texts)),
        )

    def _similarity(
        self, order: _Order, text: Indices, local: Indices, found: Indices, pairs: Indices, caption: Indices
    ) -> Numbers:
        """Return the similarity in one order of each caption-reference pair, without the length penalty."""
        size, here = max(1, len(order.keys)), int(local.max(initial=0)) + 1
        distinct, where, counts = np.unique(text * here + local, return_index=True, return_counts=True)
        of_caption, gram = distinct // here, found[where]
        weights = counts * np.where(gram >= 0, order.idf[gram], self.unseen)
        norms = np.sqrt(np.bincount(of_caption, weights**2, int(caption.max(initial=-1)) + 1))
        seen = gram >= 0
        keys, weights = of_caption[seen] * size + gram[seen], weights[seen]
        sorting = keys.argsort()
        entries = order.bounds[pairs + 1] - order.bounds[pairs]
        rows = _ranges(order.bounds[pairs], entries)
        pair = np.repeat(np.arange(len(pairs)), entries)
        place = find(keys[sorting], caption[pair] * size + order.grams[rows])
        common = np.flatnonzero(place >= 0)
        ours, rows = weights[sorting][place[common]], rows[common]
        theirs = order.counts[rows] * order.idf[order.grams[rows]]
        products = np.bincount(pair[common], np.minimum(ours, theirs) * theirs, len(pairs))
        scale = norms[caption] * order.norms[pairs]
        return np.divide(products, scale, out=np.zeros(len(pairs)), where=scale > 0)


def _places(texts: Sequence[Sequence[str]]) -> tuple[Indices, Indices]:
    """Return for each word of the concatenated texts the rank of its text, and its position in that text."""
    lengths = np.array([len(words) for words in texts], np.int64)
    ranks = np.repeat(np.arange(len(texts)), lengths)
    return ranks, np.arange(len(ranks)) - np.repeat(lengths.cumsum() - lengths, lengths)


def _ranges(starts: Indices, counts: Indices) -> Indices:
    """Return the concatenated ranges of integers that begin at `starts` and have `counts` elements."""
    return np.arange(counts.sum()) + np.repeat(starts - (counts.cumsum() - counts), counts)
