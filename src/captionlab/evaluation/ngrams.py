"""BLEU, ROUGE-L and CIDEr of many captions at once, to the last bit as pycocoevalcap computes them one by one.

A sum of floating-point numbers depends on its order. So n-grams are added up in the order of the dictionaries of
pycocoevalcap, that of their first places in a text, and what its scalars raise to a power is raised as a scalar here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

ORDERS = 4
# BLEU: what keeps divisions by 0 away.
TINY, SMALL = 1e-15, 1e-9
# CIDEr: of the penalty for another length.
SIGMA = 6.0
# ROUGE-L: how much more recall counts than precision.
BETA = 1.2


@dataclass(frozen=True)
class Entries:
    """How often n-grams of one order are in texts: a row for each text and n-gram, by text and then by first place."""

    text: np.ndarray
    ngram: np.ndarray  # its number among those of its order
    count: np.ndarray


class Corpus:
    """Captions, each with the group of references that it is compared with, and the n-grams of all.

    captions: tokens joined by spaces; groups: of references, the same for each; group: of each caption, by its number.
    """

    def __init__(self, captions: Sequence[str], groups: Sequence[Sequence[str]], group: Sequence[int]):
        self.texts = [*captions, *(text for of_group in groups for text in of_group)]
        self.captions, self.groups, self.group = len(captions), len(groups), np.asarray(group, int)
        self.sizes = np.array([len(of_group) for of_group in groups])
        # Of each text its group, captions after the last; of each group its first reference, among all texts.
        self.group_of = np.concatenate(
            [np.full(self.captions, self.groups), np.repeat(np.arange(self.groups), self.sizes)]
        )
        self.first = self.captions + np.cumsum(self.sizes) - self.sizes
        words = [text.split() for text in self.texts]
        self.lengths = np.array([len(of_text) for of_text in words])
        numbers: dict[str, int] = {}
        self._words = np.array([numbers.setdefault(word, len(numbers)) for of in words for word in of], np.int64)

    @cached_property
    def entries(self) -> list[Entries]:
        """Of n-grams of one to four words."""
        text, left = np.repeat(np.arange(len(self.texts)), self.lengths), _left(self.lengths)
        found, numbers = [], np.zeros(len(text), np.int64)  # of the n-gram that begins at each word
        for order in range(1, ORDERS + 1):
            begins = np.flatnonzero(left >= order)
            last = self._words[begins + order - 1]
            _, inverse = np.unique(numbers[begins] * (self._words.max(initial=0) + 1) + last, return_inverse=True)
            numbers[begins] = inverse
            _, first, count = np.unique(
                text[begins] * (inverse.max(initial=0) + 1) + inverse, return_index=True, return_counts=True
            )
            by_place = np.argsort(first)
            places = first[by_place]
            found.append(Entries(text[begins][places], inverse[places], count[by_place]))
        return found

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Each caption with each of its references: the number of the caption, and that of the reference as a text."""
        sizes = self.sizes[self.group]
        caption = np.repeat(np.arange(self.captions), sizes)
        return caption, np.repeat(self.first[self.group] + sizes, sizes) - _left(sizes)


def bleu_counts(corpus: Corpus) -> np.ndarray:
    """Of each caption (captions, 10): its length, that of the reference closest to it, the shorter one of two, its
    n-grams by order, and those of them that are in a reference, each at most as often as there.
    """
    caption, reference = corpus.pairs
    of_caption, of_reference = corpus.lengths[caption], corpus.lengths[reference]
    nearest = np.lexsort((of_reference, np.abs(of_reference - of_caption), caption))
    closest = of_reference[nearest[np.searchsorted(caption, np.arange(corpus.captions))]]
    length = corpus.lengths[: corpus.captions]
    columns = [length, closest, *(np.maximum(0, length - order + 1) for order in range(1, ORDERS + 1))]
    for entries in corpus.entries:
        theirs, width = entries.text >= corpus.captions, entries.ngram.max(initial=0) + 1
        keys = corpus.group_of[entries.text[theirs]] * width + entries.ngram[theirs]
        known, place = np.unique(keys, return_inverse=True)
        most = np.zeros(len(known), np.int64)
        np.maximum.at(most, place, entries.count[theirs])
        own = Entries(entries.text[~theirs], entries.ngram[~theirs], entries.count[~theirs])
        where, found = _find(known, corpus.group[own.text] * width + own.ngram)
        matched = np.minimum(most[where], own.count[found])
        columns.append(np.bincount(own.text[found], matched, corpus.captions).astype(np.int64))
    return np.column_stack(columns)


def bleu(counts: np.ndarray) -> list[list[float]]:
    """BLEU of one to four words of each caption alone, by order, from its counts (captions, 10) of `bleu_counts`."""
    scores: list[list[float]] = [[] for _ in range(ORDERS)]
    for length, closest, *both in counts.tolist():
        ratio = (length + TINY) / (closest + SMALL)
        brevity = math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
        product = 1.0
        for order, (given, matched) in enumerate(zip(both[:ORDERS], both[ORDERS:], strict=True)):
            product *= (matched + TINY) / (given + SMALL)
            scores[order].append(product ** (1.0 / (order + 1)) * brevity)
    return scores


def cider(corpus: Corpus) -> list[float]:
    """CIDEr-D of each caption, with document frequencies of the groups of references."""
    caption, reference = corpus.pairs
    bigrams = np.maximum(0, corpus.lengths - 1)
    apart, which = np.unique(bigrams[caption] - bigrams[reference], return_inverse=True)
    penalty = np.array([np.e ** (-(delta**2) / (2 * SIGMA**2)) for delta in map(float, apart)])[which]
    sums = np.empty((corpus.captions, ORDERS))
    for order, entries in enumerate(corpus.entries):
        weights = _weights(corpus, entries)
        different, place = np.unique(weights, return_inverse=True)
        squares = np.array([pow(weight, 2) for weight in different])[place]
        norms = np.sqrt(np.bincount(entries.text, squares, len(corpus.texts)))
        similar = _products(corpus, entries, weights)
        both = norms[caption] * norms[reference]
        similar = np.divide(similar, both, out=similar, where=both != 0) * penalty
        sums[:, order] = np.bincount(caption, similar, corpus.captions)
    counts = corpus.sizes[corpus.group]
    return [float(np.mean(row) / count * 10.0) for row, count in zip(sums, counts, strict=True)]


def rouge_l(caption: str, references: Sequence[str]) -> float:
    """ROUGE-L of a caption by the best precision and the best recall of its references."""
    tokens, places = caption.split(" "), dict[str, int]()
    for place, token in enumerate(tokens):
        places[token] = places.get(token, 0) | 1 << place
    every = (1 << len(tokens)) - 1
    precision = recall = 0.0
    for reference in references:
        others, ends = reference.split(" "), every
        for token in others:  # Hyyrö 2004: a bit that is 0 is where the longest common subsequence gets longer
            here = ends & places.get(token, 0)
            ends = (ends + here | ends - here) & every
        common = len(tokens) - ends.bit_count()
        precision, recall = max(precision, common / len(tokens)), max(recall, common / len(others))
    if not precision or not recall:
        return 0.0
    return ((1 + BETA**2) * precision * recall) / (recall + BETA**2 * precision)


def _weights(corpus: Corpus, entries: Entries) -> np.ndarray:
    """Of each entry, its count times the inverse document frequency of its n-gram."""
    theirs = entries.text >= corpus.captions
    groups, width = corpus.group_of[entries.text[theirs]], entries.ngram.max(initial=0) + 1
    documents = np.bincount(np.unique(groups * width + entries.ngram[theirs]) % width, minlength=width)
    frequencies, place = np.unique(np.maximum(1, documents), return_inverse=True)
    inverse = np.array([np.log(float(corpus.groups)) - np.log(float(frequency)) for frequency in frequencies])
    return entries.count * inverse[place][entries.ngram]


def _products(corpus: Corpus, entries: Entries, weights: np.ndarray) -> np.ndarray:
    """Of each pair, the product of the weights of its n-grams, those of the caption at most as large as the others."""
    caption, reference = corpus.pairs
    width = entries.ngram.max(initial=0) + 1
    keys = entries.text * width + entries.ngram
    by_key = np.argsort(keys)
    begins, ends = (np.searchsorted(entries.text, caption, side) for side in ("left", "right"))
    sizes = ends - begins
    pair = np.repeat(np.arange(len(caption)), sizes)
    own = np.repeat(ends, sizes) - _left(sizes)
    where, found = _find(keys[by_key], reference[pair] * width + entries.ngram[own])
    theirs, ours = weights[by_key[where]], weights[own[found]]
    return np.bincount(pair[found], np.minimum(ours, theirs) * theirs, len(caption)).astype(float)  # of none, integers


def _find(known: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of wanted numbers among known ones, which are sorted, and which of the wanted were found."""
    places = np.searchsorted(known, wanted)
    found = np.flatnonzero(places < len(known))
    found = found[known[places[found]] == wanted[found]]
    return places[found], found


def _left(sizes: np.ndarray) -> np.ndarray:
    """For rows of these sizes one after the other: how many of its row are left at each place, itself included."""
    return np.repeat(np.cumsum(sizes), sizes) - np.arange(sizes.sum())
