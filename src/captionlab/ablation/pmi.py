"""Diagnostic objects of scenes: pointwise mutual information (Church and Hanks 1990), as in Cafagna et al. 2022, §6."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

SMOOTHINGS = ("none", "laplace", "discount")


@dataclass(frozen=True)
class Pmi:
    """An object in the images of a scene; the table PMI explains the fields."""

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
    """The information about each scene of the objects in its images, the largest first; equal ones by count and name.

    `objects` has the labels of the tags of each image, of which each counts once, and `scenes` the images that depict
    each scene. Probabilities are shares of the images of `objects`. Objects in fewer than `min_count` images of a scene
    are left out: rare ones have the largest PMI by chance. `smoothing`: none; laplace adds 1 to each of the four
    cells of scene and object; discount multiplies by n / (n + 1) * m / (m + 1), n the images with both and m the fewer
    of those with one (Pantel and Ravichandran 2004). ValueError for another one. PMI is that of Church and Hanks 1990.
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
