"""Simulated judgements of the toy world: judges who know what an image shows rate captions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.toyworld.lexicon import GARMENT, NOUNS
from captionlab.corpora.toyworld.world import COLOURS
from captionlab.judgements.readers.entries import Described, Rated
from captionlab.judgements.readers.toy_captions import NAMED, any_of, with_another_object

JUDGES = tuple(f"simulated-{number}" for number in (1, 2, 3))
LOWEST, HIGHEST = 1, 4
# Sources of the four captions of an image, in the order in which they are rated.
SOURCES = ("of the image", "of an image with an object of the same class", "of any other image", "with another object")
# Standard deviation of a judge around the expected rating: half a step, so that neighbours on the scale are confused.
NOISE = 0.5
# The classes that a noun may mean (a person is a man or a woman), and the classes that may wear a garment.
_NOUNS = {
    word: {label for label, others in NOUNS.items() for other in others if word in (other.singular, other.plural)}
    for nouns in NOUNS.values()
    for noun in nouns
    for word in (noun.singular, noun.plural)
}
_GARMENTS = {
    word: {who for who, worn in GARMENT.items() if word in worn} for words in GARMENT.values() for word in words
}
_SAID = re.compile(rf"\b(?:({any_of(COLOURS)}) )?({any_of({**_NOUNS, **_GARMENTS})})\b(?! station\b)")


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Rated]:
    """Yield four captions for each image, each rated from 1 to 4 by three judges who know what the image shows.

    The captions are a reference of the image, a reference of an image with an object of the same class, a reference of
    any other image, and the first caption with an object replaced by a class that the image lacks. A rating is 1 plus 3
    times the share of true statements in the caption (`truth`), plus the judge's noise, rounded. Raises CorpusError if
    fewer than two images of the split have a caption that names an object of the toy world.
    """
    random = Random(config["seed"])
    split = [image for image, name in corpus.splits.items() if name == config["split"]]
    named = {image: [text for text in corpus.references.get(image, ()) if NAMED.search(text)] for image in split}
    images = [image for image in split if named[image]]
    if len(images) < 2:
        raise CorpusError(
            f"only {len(images)} images of the split {config['split']!r} have a caption that names an object of the "
            "toy world, and two are needed; name another split, or a corpus whose captions say what is seen"
        )
    shown = {image: {thing["label"] for thing in corpus.objects[image]} for image in images}
    for image in random.sample(images, min(config["images"], len(images))):
        others = [other for other in images if other != image]
        alike = [other for other in others if shown[other] & shown[image]] or others
        own = random.choice(named[image])
        theirs = [random.choice(named[random.choice(pool)]) for pool in (alike, others)]
        captions = (own, *theirs, with_another_object(own, shown[image], random))
        for caption, source in zip(captions, SOURCES, strict=True):
            expected = LOWEST + (HIGHEST - LOWEST) * truth(caption, corpus.objects[image])
            rated = (round(random.gauss(expected, NOISE)) for _ in JUDGES)
            ratings = [float(min(max(rating, LOWEST), HIGHEST)) for rating in rated]
            yield Rated(image, caption, dict(zip(JUDGES, ratings, strict=True)), source)


def truth(caption: str, objects: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of statements of a caption that are true of an image with these rows of OBJECTS.

    A noun states that an object of its class exists. A colour before a noun, or before a person's garment, states that
    such an object has the colour. The share is 0 if the caption states nothing.
    """
    said = []
    for colour, word in _SAID.findall(caption):
        if word in _NOUNS:
            said.append(any(thing["label"] in _NOUNS[word] for thing in objects))
        if colour:
            meant = _GARMENTS[word] if word in _GARMENTS else _NOUNS[word]
            said.append(any(thing["label"] in meant and colour in thing["attributes"] for thing in objects))
    return sum(said) / len(said) if said else 0.0
