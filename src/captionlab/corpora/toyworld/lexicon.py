"""The words of the toy world: what objects, their doings and the scenes are called."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun, its plural, and how often it is chosen among its synonyms."""

    singular: str
    plural: str
    weight: float


def _nouns(*names: str | tuple[str, str]) -> tuple[Noun, ...]:
    """The usual name first, then rarer ones; a pair gives an irregular plural."""
    weights = (1.0,) if len(names) == 1 else (0.7, *[0.3 / (len(names) - 1)] * (len(names) - 1))
    pairs = [(name, f"{name}s") if isinstance(name, str) else name for name in names]
    return tuple(Noun(*pair, weight) for pair, weight in zip(pairs, weights, strict=True))


NOUNS: Mapping[str, tuple[Noun, ...]] = {
    "umbrella": _nouns("umbrella", "parasol"),
    "boat": _nouns("boat", "sailboat"),
    "oven": _nouns("oven", "stove"),
    "fridge": _nouns("fridge", "refrigerator"),
    "car": _nouns("car", "vehicle"),
    "traffic light": _nouns("traffic light", "stoplight"),
    "train": _nouns("train", "tram"),
    "suitcase": _nouns("suitcase", ("piece of luggage", "pieces of luggage")),
    "cake": _nouns("cake", "birthday cake"),
    "wine glass": _nouns(("wine glass", "wine glasses"), ("glass of wine", "glasses of wine")),
    "bed": _nouns("bed"),
    "lamp": _nouns("lamp", "floor lamp"),
    "cow": _nouns("cow", "animal"),
    "tree": _nouns("tree"),
    "lounger": _nouns("lounger", "lounge chair", "sunbed"),
    "swim ring": _nouns("swim ring", "rubber ring"),
    "man": _nouns(("man", "men"), "guy", ("person", "people")),
    "woman": _nouns(("woman", "women"), ("lady", "ladies"), ("person", "people")),
    "dog": _nouns("dog", ("puppy", "puppies"), "animal"),
    "cat": _nouns("cat", "kitten"),
    "bird": _nouns("bird"),
    "ball": _nouns("ball"),
    "bottle": _nouns("bottle"),
    "cup": _nouns("cup", "mug"),
    "fish": _nouns(("fish", "fish")),
    "guitar": _nouns("guitar"),
    "rocket": _nouns("rocket", "spaceship"),
    "cactus": _nouns(("cactus", "cacti")),
    "crown": _nouns("crown"),
    "kite": _nouns("kite"),
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


_STAND, _SIT = Verb("standing", "stands", "stand"), Verb("sitting", "sits", "sit")
_FLOAT, _FLY = Verb("floating", "floats", "float"), Verb("flying", "flies", "fly")
_LIE, _WAIT = Verb("lying", "lies", "lie"), Verb("waiting", "waits", "wait")
_PARKED = Verb("parked", "is parked", "are parked")
_PLACED = Verb("placed", "is placed", "are placed")
_WALK = Verb("walking", "walks", "walk")
_LOOK = Verb("looking around", "looks around", "look around")

# What a class does on the ground or on a table; a class that is not here stands.
_DOINGS: Mapping[str, tuple[Verb, ...]] = {
    "boat": (_LIE,),
    "car": (_PARKED, Verb("stopped", "is stopped", "are stopped")),
    "train": (Verb("stopped", "is stopped", "are stopped"), _WAIT),
    "cake": (_SIT, _PLACED),
    "wine glass": (_STAND, _PLACED),
    "cow": (_STAND, Verb("grazing", "grazes", "graze")),
    "tree": (_STAND, Verb("growing", "grows", "grow")),
    "lounger": (_STAND, _PLACED),
    "swim ring": (_LIE,),
    "man": (_STAND, _STAND, Verb("posing", "poses", "pose"), _WAIT, _WALK),
    "woman": (_STAND, _STAND, Verb("posing", "poses", "pose"), _WAIT, _WALK),
    "dog": (_STAND, _WALK, _LOOK),
    "cat": (_SIT, _LOOK),
    "bird": (_STAND, Verb("perched", "is perched", "are perched")),
    "ball": (_LIE,),
    "bottle": (_STAND, _PLACED),
    "cup": (_SIT, _PLACED),
    "fish": (_LIE,),
    "guitar": (_STAND,),
    "crown": (_LIE, _PLACED),
    "kite": (_FLY,),
}


def doings(label: str, place: str) -> tuple[Verb, ...]:
    """What an object of a class may be doing in such a place."""
    if place == "air":
        return (_FLY,)
    if place == "water":
        return (_FLOAT, Verb("swimming", "swims", "swim")) if label == "fish" else (_FLOAT,)
    return _DOINGS.get(label, (_STAND,))


# Where something in a scene is, the usual phrase first; the scene as a noun phrase; and names for a scene caption.
PLACES: Mapping[str, tuple[str, ...]] = {
    "beach": ("on the beach", "at the beach", "by the sea"),
    "kitchen": ("in a kitchen", "in the kitchen"),
    "road": ("on a road", "on the street", "by the road"),
    "station": ("at a station", "on a platform", "at the station"),
    "restaurant": ("in a restaurant", "at a restaurant"),
    "room": ("in a room", "in a living room"),
    "field": ("in a field", "on the grass"),
    "resort": ("at a resort", "by the pool", "at a hotel"),
}
SCENE_NOUNS: Mapping[str, tuple[str, ...]] = {
    "beach": ("beach", "sandy beach", "shore"),
    "kitchen": ("kitchen",),
    "road": ("road", "city street"),
    "station": ("station", "platform"),
    "restaurant": ("restaurant", "diner"),
    "room": ("room", "living room"),
    "field": ("field", "meadow"),
    "resort": ("resort", "hotel"),
}
SCENE_LOCATIONS: Mapping[str, tuple[str, ...]] = {
    "beach": ("on the beach", "at the seaside", "on a shore"),
    "kitchen": ("in a kitchen", "in the kitchen of a house", "in a house"),
    "road": ("on a road", "in the street", "in a city"),
    "station": ("at a station", "in a railway station", "on a platform"),
    "restaurant": ("in a restaurant", "in a diner", "in a cafe"),
    "room": ("in a room", "in a living room", "in a house"),
    "field": ("in a field", "in a meadow", "in the countryside"),
    "resort": ("at a resort", "at a holiday resort", "at a hotel"),
}
# Scenes that people take for each other.
CONFUSED: Mapping[str, str] = {
    "beach": "resort",
    "resort": "beach",
    "kitchen": "room",
    "room": "kitchen",
    "restaurant": "kitchen",
    "road": "station",
    "station": "road",
    "field": "road",
}

# Words of texts that are not about what is seen.
MOODS = ("beautiful", "lovely", "perfect", "quiet", "sunny")
PRAISE = ("cheap", "modern", "vintage", "best", "classic", "new", "stylish")
TRAVELLERS = ("tourist", "traveller", "family", "visitor")
SURNAMES = ("hale", "marsh", "lorne", "whitby", "ames", "castell")
TOWNS = ("ashford", "saint lorne", "newbridge", "oakham", "port ellis", "redmoor")
YEARS = tuple(str(year) for year in range(1902, 1990, 8))
