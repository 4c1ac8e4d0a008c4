"""Questions that the toy world writes about its own images, from the annotated objects and scenes.

About each class of objects in an image there are three questions: which of four classes is in the picture, what colour
it has, and how many there are. A fourth kind of question asks where the picture is, among four scenes.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from captionlab.questions.entries import Described, Entry, Question
from captionlab.questions.toyworld import (
    COLOUR,
    COLOUR_OF,
    COUNT,
    COUNT_OF,
    COUNTS,
    OBJECT,
    OBJECT_ANSWERS,
    OPTIONS,
    SCENE,
    SCENE_ANSWERS,
    WHERE,
    WHICH,
    all_answers,
)


def read(config: Mapping[str, Any], root: Path, corpus: Described) -> Iterator[Entry]:
    """Yield the questions about all images of a corpus of the toy world.

    Wrong options and the order of options depend on the seed, the image and the rank of the question. A wrong option of
    a question about objects is a class that the image does not show.
    """
    for image in corpus.images:
        shown = _shown(corpus.objects[image])
        asked = []
        for label, (colour, count) in shown.items():
            asked.append((OBJECT, WHICH, OBJECT_ANSWERS[label]))
            asked.append((COLOUR, COLOUR_OF[label], colour))
            asked.append((COUNT, COUNT_OF[label], COUNTS[count - 1]))
        asked.append((SCENE, WHERE, SCENE_ANSWERS[corpus.scenes[image]]))
        present = {OBJECT_ANSWERS[label] for label in shown}
        for rank, (kind, text, answer) in enumerate(asked):
            random = Random(f"{config['seed']}/{image}/{rank}")
            wrong = [
                other for other in all_answers(kind) if other != answer and (kind != OBJECT or other not in present)
            ]
            options = [answer, *random.sample(wrong, min(OPTIONS - 1, len(wrong)))]
            random.shuffle(options)
            yield Entry(image, Question(kind, text, tuple(options)), answer)


def _shown(objects: Any) -> dict[str, tuple[str, int]]:
    """Return the colour and the number of the objects of each class, from rows of OBJECTS of an image."""
    labels = [row["label"] for row in objects]
    return {row["label"]: (row["attributes"][0], labels.count(row["label"])) for row in objects}
