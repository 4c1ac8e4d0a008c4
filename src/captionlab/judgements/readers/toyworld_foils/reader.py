"""Foils of the toy world: captions that say something wrong about an image whose objects are known.

The pieces are those of VALSE (Parcalabescu et al. 2022) that follow from the objects of an image: what is there, how
many, and where. What objects do and what a pronoun means are not annotated, so actions and coreference are left out.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.toyworld.lexicon import NOUNS
from captionlab.judgements.readers.entries import Described, Preferred
from captionlab.judgements.readers.toy_captions import NAMED, one, with_another_object

Row = Mapping[str, Any]
NUMBERS = {2: "two", 3: "three"}
# An object is beside another if it ends before the other begins, give or take OVERLAP pixels, and their centres are
# more than APART pixels apart: as in captions of the toy world (captionlab.corpora.toyworld.captions).
OVERLAP, APART = 2, 8


class Seen:
    """What an image shows: its objects by class, in the order of the table, and its references that name an object."""

    def __init__(self, objects: Sequence[Row], references: Sequence[str]):
        self.objects: dict[str, list[Row]] = defaultdict(list)
        for row in objects:
            self.objects[row["label"]].append(row)
        self.named = [text for text in references if NAMED.search(text)]

    def counted(self, *numbers: int) -> list[str]:
        """Return the classes of which the image shows one of these numbers of objects."""
        return [label for label, rows in self.objects.items() if len(rows) in numbers]


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Preferred]:
    """Yield a pair for each image and each piece that the objects of the image allow.

    The true caption gets the only vote, because nobody was asked. Raises CorpusError if no image of the split has
    annotated objects of the toy world.
    """
    random = Random(config["seed"])
    split = [image for image, name in corpus.splits.items() if name == config["split"]]
    known = [image for image in split if {row["label"] for row in corpus.objects[image]} & {*NOUNS}]
    if not known:
        raise CorpusError(
            f"no image of the split {config['split']!r} has annotated objects of the toy world, which foils are about; "
            "name another split, or a corpus of the toy world"
        )
    for image in random.sample(known, min(config["images"], len(known))):
        seen = Seen(corpus.objects[image], corpus.references.get(image, ()))
        for piece, write in PIECES.items():
            if captions := write(seen, random):
                yield Preferred(image, captions, (1, 0), piece)


def _existence(seen: Seen, random: Random) -> tuple[str, str] | None:
    """Return that there is an object or that there is none, half of the time each, and the opposite.

    Returns None if the image shows no single object of a class.
    """
    single = seen.counted(1)
    if not single:
        return None
    is_there = random.random() < 0.5
    label = random.choice(single if is_there else [label for label in NOUNS if label not in seen.objects])
    noun = NOUNS[label][0]
    some, none = _there("is", one(noun)), _there("is", f"no {noun.singular}")
    return (some, none) if is_there else (none, some)


def _plurality(seen: Seen, random: Random) -> tuple[str, str] | None:
    """Return that there is one object or that there are several, as the image shows, and the opposite.

    "a dog" states one dog, as in all captions of the toy world.
    """
    labels = seen.counted(1, *NUMBERS)
    if not labels:
        return None
    label = random.choice(labels)
    number = len(seen.objects[label])
    singular = _there("is", one(NOUNS[label][0]))
    several = _several(label, number if number > 1 else random.choice([*NUMBERS]))
    return (singular, several) if number == 1 else (several, singular)


def _counting(seen: Seen, random: Random) -> tuple[str, str] | None:
    """Return the number of objects of a class, two or three, and the other number."""
    labels = seen.counted(*NUMBERS)
    if not labels:
        return None
    label = random.choice(labels)
    number = len(seen.objects[label])
    [other] = NUMBERS.keys() - {number}
    return _several(label, number), _several(label, other)


def _relations(seen: Seen, random: Random) -> tuple[str, str] | None:
    """Return on which side of a single object another one is, and the other side."""
    single = seen.counted(1)
    beside = [(left, right) for left in single for right in single if _is_left(seen, left, right)]
    if not beside:
        return None
    pair = random.choice(beside)
    first, second = random.sample(pair, 2)
    side, other = ("left", "right") if first == pair[0] else ("right", "left")
    said, of = one(NOUNS[first][0]), one(NOUNS[second][0])
    return f"{said} to the {side} of {of}.", f"{said} to the {other} of {of}."


def _is_left(seen: Seen, left: str, right: str) -> bool:
    """Return whether the only object of one class is to the left of the only object of another class."""
    (first,), (second,) = seen.objects[left], seen.objects[right]
    apart = (second["x1"] + second["x2"] - first["x1"] - first["x2"]) / 2
    return bool(first["x2"] <= second["x1"] + OVERLAP and apart > APART)


def _noun_phrases(seen: Seen, random: Random) -> tuple[str, str] | None:
    """Return a reference, and the reference with an object replaced by a class that the image does not show."""
    if not seen.named:
        return None
    caption = random.choice(seen.named)
    return caption, with_another_object(caption, {*seen.objects}, random)


def _there(verb: str, what: str) -> str:
    return f"there {verb} {what} in this picture."


def _several(label: str, number: int) -> str:
    return _there("are", f"{NUMBERS[number]} {NOUNS[label][0].plural}")


# Piece, by the name that the reader of VALSE gives it -> function that writes a caption and its foil.
PIECES: Mapping[str, Callable[[Seen, Random], tuple[str, str] | None]] = {
    "existence": _existence,
    "plurality": _plurality,
    "counting, small numbers": _counting,
    "relations": _relations,
    "noun phrases": _noun_phrases,
}
