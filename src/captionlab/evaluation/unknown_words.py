"""Captions with UNK, or with words that occur in no caption of any corpus."""

import re
from collections.abc import Iterable, Sequence, Set

import numpy as np

from captionlab.evaluation.naming import words
from captionlab.networks.words import UNKNOWN
from captionlab.statistics.intervals import Ends, resampled_sums, share_interval

_UNKNOWN = re.compile(rf"\b{UNKNOWN}\b")


def known_words(captions: Iterable[str]) -> set[str]:
    """Return all words of captions, with and without their punctuation.

    Some captioners are trained on captions without punctuation.
    """
    known: set[str] = set()
    for caption in captions:
        known.update(words(caption), words(re.sub(r"[^\w\s]|_", "", caption)))
    return known


def has_unknown(caption: str) -> bool:
    """Return whether a caption contains the word UNK, in capitals."""
    return _UNKNOWN.search(caption) is not None


def non_words(caption: str, known: Set[str]) -> list[str]:
    """Return the words of a caption that are not known, in order. UNK is left out."""
    return [word for word in words(_UNKNOWN.sub(" ", caption)) if word not in known]


def share_of(flags: Sequence[bool], images: Sequence[str], seed: int) -> tuple[float, Ends]:
    """Return the share of captions (n,) with a flag, 0 to 1, and its 95 % interval over their images (n,)."""
    counts: dict[str, np.ndarray] = {}
    for image, flag in zip(images, flags, strict=True):
        counts.setdefault(image, np.zeros(2))[:] += flag, 1
    values = np.array(list(counts.values()))
    flagged, captions = resampled_sums(values, seed).T
    share = float(np.mean(flags))
    return share, share_interval(share, float(np.var(flagged / captions)), len(values), len(flags))
