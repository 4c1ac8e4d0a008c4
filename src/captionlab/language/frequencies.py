"""Frequencies of words and of n-grams of part-of-speech tags in captions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from captionlab.texts.counting import ngrams
from captionlab.texts.unknown import UNKNOWN

LONGEST = 5  # longest n-grams of tags


def frequency_rows(
    corpus: str, tokens: Iterable[Sequence[str]], tags: Sequence[Sequence[str]]
) -> Iterator[dict[str, Any]]:
    """Yield rows of NGRAMS for the captions of a captioner on a corpus: words without UNK, tags without punctuation."""
    known = [[token for token in words if token != UNKNOWN.lower()] for words in tokens]
    spoken = [[tag for tag in of_caption if tag != "PUNCT"] for of_caption in tags]
    yield from _ranked({"corpus": corpus, "unit": "word", "n": 1}, known)
    for n in range(1, LONGEST + 1):
        yield from _ranked({"corpus": corpus, "unit": "tag", "n": n}, spoken)


def _ranked(kind: dict[str, Any], texts: Iterable[Sequence[str]]) -> Iterator[dict[str, Any]]:
    counts = Counter(gram for text in texts for gram in ngrams(text, kind["n"]))
    ranked, total = sorted(counts.items(), key=lambda item: (-item[1], item[0])), counts.total()
    for rank, (gram, count) in enumerate(ranked, 1):
        yield {**kind, "ngram": " ".join(gram), "rank": rank, "count": count, "share": count / total}
