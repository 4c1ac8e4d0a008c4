"""Objects of a scene, ranked by the attention they receive and by how often they occur (Cafagna et al. 2022, §5)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from captionlab.attention.overlap import intersection_over_union, rank_biased_overlap

# The paper's depths.
DEPTHS = (3, 5, 7)


@dataclass(frozen=True)
class Overlap:
    """How alike the two rankings of the objects of a scene are down to a depth."""

    scene: str
    depth: int
    rank_biased_overlap: float
    intersection_over_union: float
    images: int
    """images that depict the scene"""


def attended_objects(
    received: Iterable[tuple[str, str, float]], scenes: Mapping[str, Iterable[str]], mean: bool = False
) -> dict[str, list[str]]:
    """The objects of the images of each scene, those that receive most attention first; equal ones by name.

    `received` has image, object and attention, a row for each tag; `scenes` the images that depict each scene.
    Attention is added up over the images of a scene or, with `mean`, averaged over the tags of an object.
    """
    of_image: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for image, label, attention in received:
        of_image[image].append((label, attention))
    ranked = {}
    for scene, images in scenes.items():
        total: dict[str, float] = defaultdict(float)
        number: Counter[str] = Counter()
        for image in images:
            for label, attention in of_image.get(image, []):
                total[label] += attention
                number[label] += 1
        value = {label: total[label] / number[label] if mean else total[label] for label in total}
        ranked[scene] = sorted(value, key=lambda label: (-value[label], label))
    return ranked


def frequent_objects(objects: Mapping[str, Iterable[str]], scenes: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The objects of the images of each scene, those in most of them first; equal ones by name.

    `objects` has the labels of the tags of each image, of which each counts once.
    """
    ranked = {}
    for scene, images in scenes.items():
        count = Counter(label for image in images for label in {*objects.get(image, ())})
        ranked[scene] = sorted(count, key=lambda label: (-count[label], label))
    return ranked


def overlaps(
    attended: Mapping[str, Sequence[str]],
    frequent: Mapping[str, Sequence[str]],
    images: Mapping[str, int],
    depths: Sequence[int] = DEPTHS,
) -> list[Overlap]:
    """The overlap of two rankings of the objects of each scene, down to each depth; `images` are those of a scene."""
    return [
        Overlap(
            scene,
            depth,
            rank_biased_overlap(ranking, frequent[scene], depth),
            intersection_over_union(ranking, frequent[scene], depth),
            images[scene],
        )
        for scene, ranking in attended.items()
        for depth in depths
    ]


def overlap_by_chance(objects: int, depth: int) -> float:
    """The rank-biased overlap, down to a depth, that two rankings in random order of so many objects have on average.

    Each of the first d of one ranking is among the first d of the other with a probability of d / objects, so the
    expected agreement at d is that, and the overlap is its mean over d.
    """
    deepest = min(depth, objects)
    return (deepest + 1) / (2 * objects)
