"""Diagnostic objects of scenes, by pointwise mutual information.

Church and Hanks 1990, as in Cafagna et al. 2022, §6.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SMOOTHINGS = ("none", "laplace", "discount")


@dataclass(frozen=True)
class Pmi:
    """Information of an object about a scene. The table PMI explains the fields."""

    scene: str
    label: str
    together: int
    with_object: int
    with_scene: int
    pmi: float


def pointwise_mutual_information(
    objects: Mapping[str, Iterable[str]],
    scenes: Mapping[str, Iterable[str]],
    min_count: int = 1,
    smoothing: str = "none",
) -> list[Pmi]:
    """Return the pointwise mutual information (PMI) of each scene and each object in its images.

    The rows of a scene are sorted by falling PMI, then by falling count, then by name. `objects` has the labels of the
    tags of each image; each label counts once per image. `scenes` has the images that depict each scene. Probabilities
    are shares of the images of `objects`. Objects in fewer than `min_count` images of a scene are left out, because
    rare objects have the largest PMI by chance. PMI is defined as in Church and Hanks 1990, in nats.

    `smoothing` is none, laplace or discount. laplace adds 1 to each of the four cells of scene and object. discount
    multiplies the PMI by n / (n + 1) * m / (m + 1), where n is the number of images with both, and m is the smaller of
    the numbers of images with the object and with the scene (Pantel and Ravichandran 2004). Raises ValueError for
    another smoothing.
    """
    if smoothing not in SMOOTHINGS:
        raise ValueError(f"smoothing is {smoothing!r}; it must be {', '.join(SMOOTHINGS)}")
    labels = {image: {*found} for image, found in objects.items()}
    with_object = Counter(label for found in labels.values() for label in found)
    rows = []
    for scene, depicting in scenes.items():
        images = {*depicting} & labels.keys()
        together = Counter(label for image in images for label in labels[image])
        counts = {label: (n, with_object[label], len(images)) for label, n in together.items() if n >= min_count}
        of_scene = [Pmi(scene, label, *n, _pmi(*n, len(labels), smoothing)) for label, n in counts.items()]
        rows += sorted(of_scene, key=lambda row: (-row.pmi, -row.together, row.label))
    return rows


def _pmi(together: int, with_object: int, with_scene: int, images: int, smoothing: str) -> float:
    if smoothing == "laplace":
        together, with_object, with_scene, images = together + 1, with_object + 2, with_scene + 2, images + 4
    value = math.log(together * images / (with_object * with_scene))
    if smoothing == "discount":
        fewer = min(with_object, with_scene)
        value *= together / (together + 1) * fewer / (fewer + 1)
    return value
