"""BLEU (Papineni et al. 2002) from counts of single captions, which can be summed, as pycocoevalcap computes it."""

from collections.abc import Iterable, Sequence

import numpy as np
from pycocoevalcap.bleu.bleu_scorer import BleuScorer

# The numbers that BLEU is computed from.
BLEU_COUNTS = 10


def bleu_counts(pairs: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[list[float]], list[list[int]]]:
    """Return BLEU-1 to BLEU-4 (4, captions) of captions with their references, and the counts (captions, 10) of each.

    The counts are the tokens of the caption and of the reference closest in length, the n-grams of the caption and
    those of them that a reference has; n = 1 to 4. `corpus_bleu` computes BLEU from their sums.
    """
    scorer = BleuScorer(n=4)
    for pair in pairs:
        scorer += pair
    _, scores = scorer.compute_score(option="closest")
    counts = []
    for found in scorer.ctest:
        length = found["testlen"]
        closest = min((abs(other - length), other) for other in found["reflen"])[1]
        counts.append([length, closest, *found["guess"], *found["correct"]])
    return scores, counts


def corpus_bleu(sums: np.ndarray, captions: np.ndarray, order: int) -> np.ndarray:
    """Corpus BLEU (...) up to n-grams of this order from sums (..., 10) of `bleu_counts`, smoothed as pycocoevalcap."""
    tiny, small = 1e-15, 1e-9
    length, reference = sums[..., 0] + tiny, sums[..., 1] + small
    precisions = (sums[..., 6 : 6 + order] + tiny) / (sums[..., 2 : 2 + order] + small)
    return np.prod(precisions, axis=-1) ** (1 / order) * np.exp(np.minimum(0, 1 - reference / length))
