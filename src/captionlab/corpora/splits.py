"""Check that a corpus has the images that trainings and evaluations need, before any of them starts."""

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from captionlab.config.needs import Need
from captionlab.corpora.inputs import CorpusError
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table


def check_splits(images: str | os.PathLike[str], needs: Iterable[Mapping[str, Any]]) -> None:
    """Raise a CorpusError with a sentence for each need that the images of a corpus do not meet.

    `needs` are the fields of `captionlab.config.needs.Need`.
    """
    rows = read_table(images, IMAGES, ["split", "image_set"]).to_pylist()
    numbers = Counter(row["split"] for row in rows)
    of_sets = {row["split"] for row in rows if row["image_set"] is not None}
    if mistakes := [*_mistakes(numbers, of_sets, [Need(**need) for need in needs])]:
        raise CorpusError("; ".join(mistakes))


def _mistakes(numbers: Mapping[str, int], of_sets: Container[str], needs: Iterable[Need]) -> Iterator[str]:
    """Yield a sentence for each need that is not met by the numbers of images of the splits.

    `of_sets` are the splits of look-alike sets.
    """
    there = ", ".join(f"{split!r} ({number})" for split, number in sorted(numbers.items()))
    for need in needs:
        number = numbers.get(need.split, 0)
        if not number:
            change = f"set {need.split_key} to one of these" if need.split_key else "a training needs that split"
            yield (
                f"{need.block}: {need.what} needs images of the split {need.split!r}, and the splits of "
                f"corpora.{need.corpus}, with their usable images, are {there}; {change}"
            )
        elif number < need.images and not (need.or_sets and need.split in of_sets):
            yield (
                f"{need.block}: {need.what} needs {need.images} images, and the split {need.split!r} of "
                f"corpora.{need.corpus} has {number} usable ones; set {need.number_key} to {number} or less, or give "
                "the corpus more images"
            )
