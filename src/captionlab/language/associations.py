"""Which lemmas go with which type of captions: local mutual information (Evert 2005), by the formula of Dessì et al."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Association:
    """A lemma of a part of speech in the captions of a type: how often it occurs there, and its association, nats."""

    caption_type: str
    tag: str
    lemma: str
    count: int
    association: float


def associate(
    captions: Mapping[str, Iterable[tuple[Sequence[str], Sequence[str]]]], tags: Sequence[str] = ("ADJ", "NOUN")
) -> list[Association]:
    """Local mutual information of each lemma of these parts of speech with each type of captions.

    captions: for each type its captions, each as lemmas and tags (punctuation included, as the authors count it).
    The association is c * ln(c * N / (C * n)), where c counts the lemma with this part of speech in this type, C in all
    types, n all tokens of the type and N all tokens: the authors' formula for two types (repository emecomm_context),
    for any number. A lemma that a type does not contain has association 0 with it and is left out. Sorted by type in
    the order given, tag, and descending association; equal ones by lemma.
    """
    everywhere: Counter[tuple[str, str]] = Counter()
    counts: dict[str, Counter[tuple[str, str]]] = {}
    tokens: dict[str, int] = {}
    for caption_type, of_type in captions.items():
        pairs = [pair for lemmas, of_caption in of_type for pair in zip(of_caption, lemmas, strict=True)]
        counts[caption_type] = Counter((tag, lemma) for tag, lemma in pairs if tag in tags)
        everywhere.update(counts[caption_type])
        tokens[caption_type] = len(pairs)
    total = sum(tokens.values())
    found = [
        Association(
            caption_type, tag, lemma, count,
            count * math.log(count * total / (everywhere[tag, lemma] * tokens[caption_type])),
        )
        for caption_type, of_type in counts.items()
        for (tag, lemma), count in of_type.items()
    ]  # fmt: skip
    types = list(captions)
    return sorted(found, key=lambda a: (types.index(a.caption_type), tags.index(a.tag), -a.association, a.lemma))
