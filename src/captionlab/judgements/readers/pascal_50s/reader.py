"""Pascal-50S (Vedantam et al. 2015): pairs of captions, in which 48 people each chose the better caption."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from captionlab.corpora.readers.pascal_50s.reader import pascal_pairs
from captionlab.judgements.readers.entries import Described, Preferred


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Preferred]:
    """Yield the pairs in the order of the files, with their votes and their category.

    The category of a pair follows from who wrote its captions.
    """
    for pair in pascal_pairs(root / config["annotations"], root / config["pairs"]):
        yield Preferred(pair.image_id, pair.captions, pair.votes, pair.category)
