"""ROUGE-L (Lin 2004) as pycocoevalcap computes it, with longest common subsequences from bits of whole numbers."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

# Weight of recall over precision.
BETA = 1.2


def rouge_l(caption: str, references: Sequence[str]) -> float:
    """Return ROUGE-L, 0 to 1, of a caption. All are tokens joined by spaces."""
    tokens = caption.split(" ")
    places: defaultdict[str, int] = defaultdict(int)
    for place, token in enumerate(tokens):
        places[token] |= 1 << place
    split = [reference.split(" ") for reference in references]
    common = [_common_length(places, len(tokens), reference) for reference in split]
    precision = max(common) / len(tokens)
    recall = max(length / len(reference) for length, reference in zip(common, split, strict=True))
    if not precision:
        return 0.0
    return ((1 + BETA**2) * precision * recall) / (recall + BETA**2 * precision)


def _common_length(places: Mapping[str, int], length: int, tokens: Sequence[str]) -> int:
    """Return the length of the longest common subsequence of a text and tokens (Hyyrö 2004).

    `places` has a bit for each place of a token in the text, `length` is the number of tokens of the text. A bit that
    is 0 in the state says that the longest common subsequence grows at this place of the text.
    """
    every = state = (1 << length) - 1
    for token in tokens:
        matches = state & places.get(token, 0)
        state = ((state + matches) | (state - matches)) & every
    return length - state.bit_count()
