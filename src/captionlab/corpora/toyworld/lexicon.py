"""The vocabulary of the toy world: nouns of objects, verbs, adjectives and names."""

from collections.abc import Mapping
from dataclasses import dataclass

from captionlab.corpora.toyworld.world import CLASSES, OBJECTS


@dataclass(frozen=True)
class Noun:
    """A noun with its singular and plural."""

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
    """A verb as participle, third person singular and third person plural."""

    participle: str
    singular: str
    plural: str


def doings(label: str, place: str) -> list[Verb]:
    """Return the verbs for what an object of a class may do at a place."""
    kind = CLASSES[label]
    participles = {"air": ("flying",), "water": kind.afloat}.get(place, kind.doings)
    return [Verb(participle, *OBJECTS["verbs"][participle]) for participle in participles]


# Words of texts that are not about the image.
MOODS = ("beautiful", "lovely", "perfect", "quiet", "sunny")
PRAISE = ("cheap", "modern", "vintage", "best", "classic", "new", "stylish")
TRAVELLERS = ("tourist", "traveller", "family", "visitor")
SURNAMES = ("hale", "marsh", "lorne", "whitby", "ames", "castell")
TOWNS = ("ashford", "saint lorne", "newbridge", "oakham", "port ellis", "redmoor")
YEARS = tuple(str(year) for year in range(1902, 1990, 8))
