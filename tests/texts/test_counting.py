import random
from collections import Counter

import numpy as np
import pytest

from captionlab.texts.counting import first_of_groups, ngram_counts, ngrams


def test_ngrams():
    assert list(ngrams(["a", "b", "c"], 2)) == [("a", "b"), ("b", "c")]
    assert list(ngrams(["a"], 2)) == []


@pytest.fixture(scope="module")
def texts():
    generator = random.Random(0)
    return [generator.choices("abcdef", k=generator.randint(0, 9)) for _ in range(40)]


@pytest.mark.parametrize("n", [1, 2, 4])
def test_counts_equal_a_loop(texts, n):
    found = [Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1)) for words in texts]
    columns = list(dict.fromkeys(gram for of_text in found for gram in of_text))
    expected = [[of_text[gram] for gram in columns] for of_text in found]
    np.testing.assert_array_equal(ngram_counts(texts, n).toarray(), expected)


@pytest.mark.parametrize("texts", [[], [[], ["a"], []]])
def test_texts_without_ngrams_have_no_column(texts):
    counts = ngram_counts(texts, 2)
    assert counts.shape == (len(texts), 0)
    assert [len(found) for found in first_of_groups(counts, np.arange(len(texts)))] == [0, 0]


def test_the_first_text_of_each_group_that_has_an_ngram(texts):
    counts, groups = ngram_counts(texts, 2), np.array([3, 0, 5, 0] * 10)
    expected = set()
    for group in (0, 3, 5):
        for column in range(counts.shape[1]):
            having = [row for row in range(40) if groups[row] == group and counts.toarray()[row, column]]
            expected |= {(having[0], column)} if having else set()
    rows, columns = first_of_groups(counts, groups)
    assert set(zip(rows.tolist(), columns.tolist(), strict=True)) == expected
    assert len(rows) == len(expected)
