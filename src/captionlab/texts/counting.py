"""N-grams of texts and their counts."""

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from scipy.sparse import csr_array


def ngrams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    """Return the n-grams of a text, in order."""
    return zip(*(words[start:] for start in range(n)), strict=False)


def ngram_counts(texts: Sequence[Sequence[str]], n: int) -> csr_array:
    """Return the count of each n-gram in each text, as a sparse array (texts, different n-grams)."""
    columns: dict[tuple[str, ...], int] = {}
    found = [[columns.setdefault(gram, len(columns)) for gram in ngrams(words, n)] for words in texts]
    bounds = np.cumsum([0, *map(len, found)])
    indices = np.fromiter(chain.from_iterable(found), np.int64, bounds[-1])
    counts = csr_array((np.ones(len(indices)), indices, bounds), shape=(len(texts), len(columns)))
    counts.sum_duplicates()
    return counts


def first_of_groups(counts: csr_array, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and columns of the first occurrence of each n-gram in each group of texts.

    `counts` is (texts, n-grams), and `groups` (texts,) has the group number of each text.
    """
    rows, columns = counts.nonzero()
    first = np.unique(groups[rows] * counts.shape[1] + columns, return_index=True)[1]
    return rows[first], columns[first]
