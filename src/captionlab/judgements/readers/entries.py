"""Input and output of readers of judgements: a described corpus, and judged captions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from captionlab.corpora.inputs import CorpusError


@dataclass(frozen=True)
class Described:
    """The images of a corpus in order, each with its split, its references and its rows of OBJECTS."""

    splits: Mapping[str, str]
    references: Mapping[str, Sequence[str]]
    objects: Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Rated:
    """A caption and its ratings, by the names of the judges. `image_id` is the image's id, or the name of its file.

    `source` says in words who wrote the caption, or about what. It is None if the published file does not tell.
    """

    image_id: str
    caption: str
    ratings: Mapping[str, float]
    source: str | None = None

    @property
    def captions(self) -> tuple[str, ...]:
        """Return the captions that were judged."""
        return (self.caption,)


@dataclass(frozen=True, slots=True)
class Preferred:
    """Two captions of an image, and how many people preferred each.

    `image_id` is the image's id, or the name of its file. `tie` names two pairs with the same captions about two
    images: the caption of one pair is the foil of the other.
    """

    image_id: str
    captions: tuple[str, str]
    votes: tuple[int, int]
    category: str | None = None
    tie: str | None = None


def rating_of(value: object, where: str) -> float:
    """Return the rating in a field. Raises CorpusError, which begins with `where`, if it is no finite number."""
    try:
        rating = float(str(value))
    except ValueError:
        rating = math.nan
    if not math.isfinite(rating):
        raise CorpusError(f"{where} is {str(value)[:40]!r}; a rating is a number")
    return rating
