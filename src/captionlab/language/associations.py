"""Which lemmas go with which type of captions: local mutual information (Evert 2005), by the formula of Dessì et al."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

TAGS = ("ADJ", "NOUN")


@dataclass(frozen=True)
class Association:
    """A lemma of a part of speech in the captions of a type: how often it occurs there, and its association, nats."""

    caption_type: str
    tag: str
    lemma: str
    count: int
    association: float


def associate(captions: Mapping[str, Iterable[tuple[Sequence[str], Sequence[str]]]]) -> list[Association]:
    """Local mutual information of each adjective and noun, by its lemma, with each type of captions.

    captions: for each type its captions, each as lemmas and tags (punctuation included, as the authors count it).
    The association is c * ln(c * N / (C * n)), where c counts the lemma with this part of speech in this type, C in all
    types, n all tokens of the type and N all tokens: the authors' formula for two types (repository emecomm_context),
    for any number. A lemma that a type does not contain has association 0 with it and is left out. Sorted by type in
    the order given, tag, and descending association; equal ones by lemma.
    """
    pairs = {
        caption_type: [pair for lemmas, tags in of_type for pair in zip(tags, lemmas, strict=True)]
        for caption_type, of_type in captions.items()
    }
    everywhere = Counter(pair for of_type in pairs.values() for pair in of_type)
    total, found = everywhere.total(), []
    for caption_type, of_type in pairs.items():
        counts = Counter(pair for pair in of_type if pair[0] in TAGS)
        associations = [
            Association(caption_type, *pair, n, n * math.log(n * total / (everywhere[pair] * len(of_type))))
            for pair, n in counts.items()
        ]
        found += sorted(associations, key=lambda a: (a.tag, -a.association, a.lemma))
    return found
