"""Input and output of readers of judgements: a described corpus, and judged captions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Described:
    """The images of a corpus in order, each with its split, its references and its rows of OBJECTS."""

    splits: Mapping[str, str]
    references: Mapping[str, Sequence[str]]
    objects: Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Rated:
    """A caption and its ratings, by the names of the judges. `image_id` is the image's id, or the name of its file."""

    image_id: str
    caption: str
    ratings: Mapping[str, float]

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
