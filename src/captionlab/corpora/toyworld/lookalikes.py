"""Sets of ten images that differ in few details, with a caption per image that tells it from the other nine."""

from dataclasses import dataclass, replace
from itertools import combinations, product
from random import Random

from captionlab.corpora.toyworld.captions import describe_difference
from captionlab.corpora.toyworld.domains import Domain
from captionlab.corpora.toyworld.world import COLOURS, LOOKALIKES, SIDE, Picture, Thing, place_thing, sample_picture


@dataclass(frozen=True)
class Aspect:
    """A detail that varies in a set: index of the thing, name of the detail, and the values in the set.

    A colour is a name and a count is 1 to 3. A side is 1 if the positions of the picture's things are mirrored, else 0.
    """

    thing: int
    name: str
    values: tuple[str | int, ...]


def sample_lookalikes(domain: Domain, random: Random) -> list[tuple[Picture, str]]:
    """Return ten different pictures of one scene, each with its caption."""
    base = sample_picture(domain, random)
    while len(base.things) < 2:
        base = sample_picture(domain, random)
    # The last thing becomes a group of three, if there is room.
    *others, last = base.things
    group = place_thing(base.scene, last.label, last.colour, "small", 3, others, random)
    base = base if group is None else replace(base, things=(*others, group))
    aspects = _sample_aspects(base, random)
    chosen = random.sample(list(product(*(aspect.values for aspect in aspects))), LOOKALIKES)
    members = []
    for values in chosen:
        picture = replace(base, noise=random.getrandbits(32))
        for aspect, value in zip(aspects, values, strict=True):
            picture = _apply(picture, aspect, value)
        telling = _telling(values, chosen, random)
        caption = describe_difference(picture, [(aspects[i].thing, aspects[i].name) for i in telling], random)
        members.append((picture, caption))
    return members


def _sample_aspects(base: Picture, random: Random) -> list[Aspect]:
    """Return two or three details that together allow ten different pictures."""
    first, last = 0, len(base.things) - 1
    colours = Aspect(first, "colour", tuple(random.sample(COLOURS, 4)))
    others = [Aspect(last, "colour", tuple(random.sample(COLOURS, 3)))]
    if base.things[last].count == 3:
        others.append(Aspect(last, "count", (1, 2, 3)))
    aspects = [colours, random.choice(others)]
    if abs(base.things[first].centre[0] - SIDE / 2) > SIDE * 0.15 and random.random() < 0.5:
        aspects.append(Aspect(first, "side", (0, 1)))
    return aspects


def _apply(picture: Picture, aspect: Aspect, value: str | int) -> Picture:
    things = list(picture.things)
    if aspect.name == "side":
        things = [_swap_sides(thing) for thing in things] if value else things
    elif isinstance(value, str):
        things[aspect.thing] = replace(things[aspect.thing], colour=value)
    else:
        things[aspect.thing] = replace(things[aspect.thing], boxes=things[aspect.thing].boxes[:value])
    return replace(picture, things=tuple(things))


def _swap_sides(thing: Thing) -> Thing:
    boxes = tuple((SIDE - x2, y1, SIDE - x1, y2) for x1, y1, x2, y2 in thing.boxes)
    return replace(thing, boxes=boxes, mirrored=not thing.mirrored)


def _telling(values: tuple[str | int, ...], chosen: list[tuple[str | int, ...]], random: Random) -> tuple[int, ...]:
    """Return the indices of the fewest details whose values no other picture of the set shares."""
    for number in range(1, len(values) + 1):
        subsets = combinations(range(len(values)), number)
        enough = [of for of in subsets if sum(all(other[i] == values[i] for i in of) for other in chosen) == 1]
        if enough:
            return random.choice(enough)
    raise AssertionError("the pictures of a set are different")
