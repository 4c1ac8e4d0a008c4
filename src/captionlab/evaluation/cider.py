"""CIDEr (Vedantam et al. 2015) as pycocoevalcap computes it, CIDEr-D, with the idf of each n-gram computed once."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

# N-grams of 1 to ORDERS tokens; standard deviation of the penalty for another length.
ORDERS, SIGMA = 4, 6.0

Ngram = tuple[str, ...]


class _Vector(NamedTuple):
    weights: list[dict[Ngram, float]]
    """tf-idf of n-grams, for each order"""
    norms: list[float]
    pairs: int
    """number of n-grams of two tokens, which CIDEr takes as the length of a text"""


class _Idf(dict[Ngram, float]):
    """The idf of n-grams, and of an n-gram that is in no document."""

    def __init__(self, documents: Iterable[tuple[set[Ngram], int]]):
        frequencies: defaultdict[Ngram, int] = defaultdict(int)
        total = 0
        for ngrams, times in documents:
            total += times
            for ngram in ngrams:
                frequencies[ngram] += times
        # NumPy's logarithm, as in pycocoevalcap: Python's can differ in the last digit.
        self.highest = float(np.log(float(total)))
        of_frequency = {number: self.highest - float(np.log(float(number))) for number in {*frequencies.values()}}
        super().__init__((ngram, of_frequency[number]) for ngram, number in frequencies.items())

    def __missing__(self, ngram: Ngram) -> float:
        return self.highest


def cider(
    captions: Sequence[tuple[str, str]], references: Mapping[str, Sequence[str]], documents: Mapping[str, int]
) -> list[float]:
    """Return CIDEr, 0 to 10, of captions, each with the id of its image.

    Texts are tokens joined by spaces. A document of the idf is the references of an image; `documents` says how many
    documents they are.
    """
    counted = {image: [_counts(text) for text in texts] for image, texts in references.items()}
    idf = _Idf(
        ({ngram for counts in of_image for ngram in counts}, documents[image]) for image, of_image in counted.items()
    )
    of_image: dict[str, list[int]] = defaultdict(list)
    for place, (image, _) in enumerate(captions):
        of_image[image].append(place)
    scores = [0.0] * len(captions)
    for image, places in of_image.items():
        others = [_vector(counts, idf) for counts in counted[image]]
        for place in places:
            scores[place] = _score(_vector(_counts(captions[place][1]), idf), others)
    return scores


def _counts(text: str) -> Counter[Ngram]:
    """Return the numbers of the n-grams of a text, shorter n-grams first."""
    tokens = text.split()
    return Counter(
        tuple(tokens[n : n + order]) for order in range(1, ORDERS + 1) for n in range(len(tokens) - order + 1)
    )


def _vector(counts: Mapping[Ngram, int], idf: _Idf) -> _Vector:
    weights: list[dict[Ngram, float]] = [{} for _ in range(ORDERS)]
    squares, pairs = [0.0] * ORDERS, 0
    for ngram, number in counts.items():
        order = len(ngram) - 1
        weights[order][ngram] = weight = number * idf[ngram]
        squares[order] += weight**2
        pairs += number * (order == 1)
    return _Vector(weights, [math.sqrt(square) for square in squares], pairs)


def _score(caption: _Vector, references: Sequence[_Vector]) -> float:
    """Return ten times the mean similarity of a caption and its references, over orders and references."""
    sums = [0.0] * ORDERS
    for reference in references:
        penalty = math.e ** (-((caption.pairs - reference.pairs) ** 2) / (2 * SIGMA**2))
        for order, (own, other) in enumerate(zip(caption.weights, reference.weights, strict=True)):
            product = 0.0
            for ngram, weight in own.items():
                if ngram in other:
                    product += min(weight, other[ngram]) * other[ngram]
            norm = caption.norms[order] * reference.norms[order]
            sums[order] += (product / norm if norm else product) * penalty
    return sum(sums) / ORDERS / len(references) * 10
