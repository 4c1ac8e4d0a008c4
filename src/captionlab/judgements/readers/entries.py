"""What readers of judgements share: what they are given of a corpus, and the entries that they give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Described:
    """The images of a corpus in their order, each with its split, its references and its rows of OBJECTS."""

    splits: Mapping[str, str]
    references: Mapping[str, Sequence[str]]
    objects: Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Rated:
    """A caption and what judges gave it, by their names."""

    image_id: str
    caption: str
    ratings: Mapping[str, float]

    @property
    def captions(self) -> tuple[str, ...]:
        """The captions that were judged."""
        return (self.caption,)


@dataclass(frozen=True, slots=True)
class Preferred:
    """Two captions of an image, and how many people preferred each."""

    image_id: str
    captions: tuple[str, str]
    votes: tuple[int, int]
    category: str | None = None
