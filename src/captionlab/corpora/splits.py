"""Check that a corpus has the images that trainings and evaluations need, before any of them starts."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from captionlab.config.needs import Need
from captionlab.corpora.inputs import CorpusError
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table


def check_splits(images: str | os.PathLike[str], needs: Iterable[Mapping[str, Any]]) -> None:
    """Raise a CorpusError with a sentence for each need that the images of a corpus do not meet.

    `needs` are the fields of `captionlab.config.needs.Need`.
    """
    numbers = Counter(read_table(images, IMAGES, ["split"])["split"].to_pylist())
    if mistakes := [*_mistakes(numbers, [Need(**need) for need in needs])]:
        raise CorpusError("; ".join(mistakes))


def _mistakes(numbers: Mapping[str, int], needs: Iterable[Need]) -> Iterator[str]:
    there = ", ".join(f"{split!r} ({number})" for split, number in sorted(numbers.items()))
    for need in needs:
        number = numbers.get(need.split, 0)
        if not number:
            change = f"set {need.split_key} to one of these" if need.split_key else "a training needs that split"
            yield (
                f"{need.block}: {need.what} needs images of the split {need.split!r}, and the splits of "
                f"corpora.{need.corpus}, with their usable images, are {there}; {change}"
            )
        elif number < need.images:
            yield (
                f"{need.block}: {need.what} needs {need.images} images, and the split {need.split!r} of "
                f"corpora.{need.corpus} has {number} usable ones; set {need.number_key} to {number} or less, or give "
                "the corpus more images"
            )
