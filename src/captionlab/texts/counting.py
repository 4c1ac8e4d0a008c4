"""The n-grams of texts, and how often each text has them."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_array


def ngrams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    """The n-grams of a text, in order."""
    return zip(*(words[start:] for start in range(n)), strict=False)


def ngram_counts(texts: Sequence[Sequence[str]], n: int) -> csr_array:
    """How often each text has each n-gram that one of them has: (texts, different n-grams)."""
    columns: dict[tuple[str, ...], int] = {}
    found = [[columns.setdefault(gram, len(columns)) for gram in ngrams(words, n)] for words in texts]
    bounds = np.cumsum([0, *map(len, found)])
    indices = np.fromiter(chain.from_iterable(found), np.int64, bounds[-1])
    counts = csr_array((np.ones(len(indices)), indices, bounds), shape=(len(texts), len(columns)))
    counts.sum_duplicates()
    return counts


def first_of_groups(counts: csr_array, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every n-gram's first text in every group of texts that has it; groups (texts,) are numbers."""
    rows, columns = counts.nonzero()
    first = np.unique(groups[rows] * counts.shape[1] + columns, return_index=True)[1]
    return rows[first], columns[first]
