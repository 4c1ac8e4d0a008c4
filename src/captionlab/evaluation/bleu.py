"""BLEU (Papineni et al. 2002) as pycocoevalcap computes it, from counts of single captions that can be summed."""

from collections.abc import Iterable, Sequence

import numpy as np
from pycocoevalcap.bleu.bleu_scorer import BleuScorer

# How many counts of a caption BLEU is computed from.
BLEU_COUNTS = 10


def bleu_counts(pairs: Iterable[tuple[str, Sequence[str]]]) -> tuple[list[list[float]], list[list[int]]]:
    """Return BLEU-1 to BLEU-4 (4, captions) of captions against their references, and the counts (captions, 10).

    The counts of a caption are its tokens, the tokens of the reference closest in length, its n-grams for n = 1 to 4,
    and its n-grams that occur in a reference for n = 1 to 4. `corpus_bleu` computes BLEU from sums of the counts.
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
    """Return corpus BLEU (...), 0 to 1, up to n-grams of this order, from sums (..., 10) of counts of `bleu_counts`.

    The smoothing constants are pycocoevalcap's.
    """
    tiny, small = 1e-15, 1e-9
    length, reference = sums[..., 0] + tiny, sums[..., 1] + small
    precisions = (sums[..., 6 : 6 + order] + tiny) / (sums[..., 2 : 2 + order] + small)
    return np.prod(precisions, axis=-1) ** (1 / order) * np.exp(np.minimum(0, 1 - reference / length))
