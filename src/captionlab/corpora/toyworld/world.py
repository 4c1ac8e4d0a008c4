"""The composition of toy pictures: which objects they contain, how many, and where.

All coordinates are pixels of an image of SIDE x SIDE; y grows downwards. An object stands on its `foot`, the lower edge
of its box. The scene decides where feet may be: on the ground (behind or in front), on a table top, on rails, in water
or in the air.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import yaml

from captionlab.corpora.toyworld.domains import EVEN, Domain
from captionlab.storage.paths import RESOURCES

SIDE = 64
LOOKALIKES = 10
BACKDROPS = 12  # number of different backdrops of a scene


@dataclass(frozen=True)
class ObjectClass:
    """A class of objects; resources/toyworld/objects.yaml documents the fields."""

    size: tuple[int, int]
    colours: Sequence[str]
    nouns: Sequence[str | tuple[str, str]]
    shapes: Sequence[Mapping[str, Any]]
    places: Sequence[str] = ("ground",)
    doings: Sequence[str] = ("standing",)
    afloat: Sequence[str] = ("floating",)


@dataclass(frozen=True)
class Scene:
    """A scene; resources/toyworld/scenes.yaml documents the fields."""

    indoors: bool
    diagnostic: Sequence[str]
    feet: Mapping[str, Sequence[tuple[int, int]]]
    phrases: Sequence[str]
    names: Sequence[str]
    answers: Sequence[str]
    confused: str
    backdrop: Sequence[Mapping[str, Any]]


def _read(file: str) -> Mapping[str, Any]:
    path = RESOURCES / "toyworld" / file
    return dict(yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader))


OBJECTS, SCENERY = _read("objects.yaml"), _read("scenes.yaml")
COLOURS, COMMON, NOVEL = tuple(OBJECTS["colours"]), tuple(OBJECTS["common"]), tuple(OBJECTS["novel"])
CLASSES: Mapping[str, ObjectClass] = {
    label: ObjectClass(**entry)
    for group in ("diagnostic", "common", "novel")
    for label, entry in OBJECTS[group].items()
}
SCENES: Mapping[str, Scene] = {name: Scene(**entry) for name, entry in SCENERY["scenes"].items()}
DIAGNOSTIC = tuple(label for scene in SCENES.values() for label in scene.diagnostic)
PEOPLE = ("man", "woman")

SMALL = 0.6  # size of a small object as a share of the large size
MARGIN = 6  # largest number of pixels around a thing in a close-up
OVERLAP = 0.15  # largest share of an object that another group may cover


@dataclass(frozen=True)
class Thing:
    """One to three objects of a class that stand together, with one colour and one size.

    Each object has a box (x1, y1, x2, y2) in pixels.
    """

    label: str
    colour: str
    size: str
    place: str
    boxes: tuple[tuple[int, int, int, int], ...]
    mirrored: bool = False
    variant: int = 0

    @property
    def count(self) -> int:
        """Return the number of objects."""
        return len(self.boxes)

    @property
    def extent(self) -> tuple[int, int, int, int]:
        """Return the box (x1, y1, x2, y2) around all objects."""
        x1, y1, x2, y2 = zip(*self.boxes, strict=True)
        return min(x1), min(y1), max(x2), max(y2)

    @property
    def centre(self) -> tuple[float, float]:
        """Return the centre (x, y) of `extent`."""
        x1, y1, x2, y2 = self.extent
        return (x1 + x2) / 2, (y1 + y2) / 2


@dataclass(frozen=True)
class Picture:
    """Everything that determines an image: scene, backdrop, things from back to front, look and noise seed.

    `frame` (x1, y1, x2, y2) is the part of the scene that fills the image. If it is None, the image shows the whole
    scene.
    """

    scene: str
    backdrop: int
    things: tuple[Thing, ...]
    look: str
    noise: int
    frame: tuple[int, int, int, int] | None = None


def sprite_size(label: str, size: str) -> tuple[int, int]:
    """Return the width and height of an object in pixels."""
    scale = SMALL if size == "small" else 1.0
    width, height = CLASSES[label].size
    return math.ceil(width * scale), math.ceil(height * scale)


def sample_picture(domain: Domain, random: Random) -> Picture:
    """Compose a random picture of a domain.

    A picture has one to four things, fewer if there is no room for all. A close-up has one thing.
    """
    weights = domain.scenes or EVEN
    scene = random.choices(list(weights), list(weights.values()))[0]
    near = domain.close_ups > 0 and random.random() < domain.close_ups
    wanted = 1 if near else random.choices((1, 2, 3, 4), (0.05, 0.3, 0.4, 0.25))[0]
    things: list[Thing] = []
    used: set[str] = set()
    for rank in range(wanted):
        label = _sample_label(domain, scene, rank, used, random)
        used.add(label)
        colour = random.choice(CLASSES[label].colours) if random.random() < 0.4 else random.choice(COLOURS)
        size = random.choices(("large", "small"), (0.8, 0.2))[0]
        count = random.choices((1, 2, 3), (0.7, 0.2, 0.1))[0]
        thing = place_thing(scene, label, colour, size, count, things, random)
        if thing is not None:
            things.append(thing)
    # Things further in front are drawn later.
    things.sort(key=lambda thing: thing.extent[3])
    backdrop, look, noise = random.randrange(BACKDROPS), random.choice(domain.looks), random.getrandbits(32)
    return Picture(scene, backdrop, tuple(things), look, noise, _sample_frame(things[0], random) if near else None)


def _sample_frame(thing: Thing, random: Random) -> tuple[int, int, int, int]:
    """Sample the frame of a close-up: the whole thing and up to MARGIN pixels on each side."""
    x1, y1, x2, y2 = thing.extent
    left, top, right, bottom = (random.randint(0, MARGIN) for _ in range(4))
    return max(0, x1 - left), max(0, y1 - top), min(SIDE, x2 + right), min(SIDE, y2 + bottom)


def place_thing(
    scene: str, label: str, colour: str, size: str, count: int, others: list[Thing], random: Random
) -> Thing | None:
    """Return a thing at a free place where it hides no other thing, or None if there is no room.

    If there is no room for the thing at the requested `size` and `count`, smaller and then fewer objects are tried.
    """
    mirrored, variant = random.random() < 0.5, random.randrange(3)
    attempts = [(size, count)] * 24 + [("small", count)] * 16 + [("small", 1)] * 16
    for wanted_size, wanted_count in attempts:
        place = _sample_place(scene, label, random)
        boxes = _sample_boxes(scene, label, wanted_size, wanted_count, place, random)
        if boxes is None:
            continue
        thing = Thing(label, colour, wanted_size, place, boxes, mirrored, variant)
        if all(_overlap(thing, other) <= OVERLAP for other in others):
            return thing
    return None


def _sample_label(domain: Domain, scene: str, rank: int, used: set[str], random: Random) -> str:
    novel = random.random() < (domain.novel_first if rank == 0 else domain.novel_other)
    diagnostic, anything = random.random() < 0.55, random.random() < 0.1
    free = [label for label in NOVEL if label not in used] if novel else []
    if not free and diagnostic:
        free = [label for label in SCENES[scene].diagnostic if label not in used]
    if not free and not anything:
        # Photographs are full of people.
        free = [label for label in (*COMMON, *PEOPLE) if label not in used]
    return random.choice(free or [label for label in (*DIAGNOSTIC, *COMMON) if label not in used])


def _sample_place(scene: str, label: str, random: Random) -> str:
    there = [place for place in CLASSES[label].places if place in SCENES[scene].feet]
    # The first place is the usual place of the class: water for a boat, if the scene has water.
    return there[0] if random.random() < 0.75 else random.choice(there)


def _sample_boxes(
    scene: str, label: str, size: str, count: int, place: str, random: Random
) -> tuple[tuple[int, int, int, int], ...] | None:
    width, height = sprite_size(label, size)
    low, high = random.choice(SCENES[scene].feet[place])
    foot = random.randint(low, high)
    step = width + random.randint(0, 3) if width * count > 24 else round(width * random.uniform(1.0, 1.25))
    span = step * (count - 1) + width
    if span > SIDE - 2:
        return None
    left = random.randint(1, SIDE - 1 - span)
    lifts = [random.randint(0, 2) for _ in range(count)] if place in ("ground", "air") else [0] * count
    boxes = []
    for index, lift in enumerate(lifts):
        x1, y2 = left + step * index, min(max(foot - lift, height + 1), SIDE - 1)
        boxes.append((x1, y2 - height, x1 + width, y2))
    return tuple(boxes)


def _overlap(first: Thing, second: Thing) -> float:
    """Return the largest share of a single object of either thing that an object of the other thing covers."""
    return max(
        max(0, min(a[2], b[2]) - max(a[0], b[0])) * max(0, min(a[3], b[3]) - max(a[1], b[1])) / min(_area(a), _area(b))
        for a in first.boxes
        for b in second.boxes
    )


def _area(box: tuple[int, int, int, int]) -> int:
    return (box[2] - box[0]) * (box[3] - box[1])
