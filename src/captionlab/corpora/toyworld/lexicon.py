"""The words of the toy world: what objects and their doings are called."""

from collections.abc import Mapping
from dataclasses import dataclass

from captionlab.corpora.toyworld.world import CLASSES, OBJECTS


@dataclass(frozen=True)
class Noun:
    """A noun and its plural."""

    singular: str
    plural: str


NOUNS: Mapping[str, tuple[Noun, ...]] = {
    label: tuple(Noun(name, f"{name}s") if isinstance(name, str) else Noun(*name) for name in kind.nouns)
    for label, kind in CLASSES.items()
}
GARMENT: Mapping[str, tuple[str, str]] = {"man": ("shirt", "shirts"), "woman": ("dress", "dresses")}
SIZES: Mapping[str, tuple[str, ...]] = {"large": ("large", "big"), "small": ("small", "little", "tiny")}
HEIGHTS: Mapping[str, tuple[str, ...]] = {"large": ("tall",), "small": ("short",)}  # of people


@dataclass(frozen=True)
class Verb:
    """What an object does, as a participle and as a finite verb for one and for several."""

    participle: str
    singular: str
    plural: str


def doings(label: str, place: str) -> list[Verb]:
    """What an object of a class may be doing in such a place."""
    kind = CLASSES[label]
    participles = {"air": ("flying",), "water": kind.afloat}.get(place, kind.doings)
    return [Verb(participle, *OBJECTS["verbs"][participle]) for participle in participles]


# Words of texts that are not about what is seen.
MOODS = ("beautiful", "lovely", "perfect", "quiet", "sunny")
PRAISE = ("cheap", "modern", "vintage", "best", "classic", "new", "stylish")
TRAVELLERS = ("tourist", "traveller", "family", "visitor")
SURNAMES = ("hale", "marsh", "lorne", "whitby", "ames", "castell")
TOWNS = ("ashford", "saint lorne", "newbridge", "oakham", "port ellis", "redmoor")
YEARS = tuple(str(year) for year in range(1902, 1990, 8))
