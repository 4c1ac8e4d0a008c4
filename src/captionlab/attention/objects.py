"""Objects of a scene, ranked by the attention they receive and by how often they occur (Cafagna et al. 2022, §5)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from captionlab.attention.overlap import intersection_over_union, rank_biased_overlap
from captionlab.intervals import resampled_sums, symmetric_interval

# The paper's depths.
DEPTHS = (3, 5, 7)
# The ranking where every tag of every image receives the same attention: what frequency alone gives.
UNIFORM = "uniform"


@dataclass(frozen=True)
class Overlap:
    """How alike the two rankings of the objects of a scene are down to a depth; OVERLAPS explains the fields."""

    scene: str
    depth: int
    rank_biased_overlap: float
    intersection_over_union: float
    attended: int
    counted: int


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
        value: dict[str, float] = defaultdict(float)
        tags = [tag for image in images for tag in of_image.get(image, [])]
        for label, attention in tags:
            value[label] += attention
        if mean:
            number = Counter(label for label, _ in tags)
            value = {label: total / number[label] for label, total in value.items()}
        ranked[scene] = _by_value(value)
    return ranked


def uniform_attention(received: Iterable[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """The same tags of the same images, each with the same attention.

    Attention is added up over images and tags, so an object that has more of them is ahead whatever is attended to.
    """
    return [(image, label, 1.0) for image, label, _ in received]


def frequent_objects(objects: Mapping[str, Iterable[str]], scenes: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The objects of the images of each scene, those in most of them first; equal ones by name.

    `objects` has the labels of the tags of each image, of which each counts once.
    """
    return {
        scene: _by_value(Counter(label for image in images for label in {*objects.get(image, ())}))
        for scene, images in scenes.items()
    }


def _by_value(values: Mapping[str, float]) -> list[str]:
    return sorted(values, key=lambda label: (-values[label], label))


def overlaps(
    attended: Mapping[str, Sequence[str]],
    frequent: Mapping[str, Sequence[str]],
    images: Mapping[str, tuple[int, int]],
    depths: Sequence[int] = DEPTHS,
) -> list[Overlap]:
    """The overlap of two rankings of the objects of each scene, down to each depth.

    `images` has for each scene how many images the first ranking is of, and how many the second.
    """
    return [
        Overlap(
            scene,
            depth,
            rank_biased_overlap(ranking, frequent[scene], depth),
            intersection_over_union(ranking, frequent[scene], depth),
            *images[scene],
        )
        for scene, ranking in attended.items()
        for depth in depths
    ]


def overlap_intervals(
    received: Iterable[tuple[str, str, float]],
    objects: Mapping[str, Iterable[str]],
    images: Sequence[str],
    depths: Sequence[int] = DEPTHS,
    mean: bool = False,
    seed: int = 0,
) -> dict[int, dict[str, float]]:
    """For each depth the ends of the 95 % intervals of both overlaps of a scene: symmetric bootstrap over its `images`.

    In each resample the objects are ranked anew, by attention as in `attended_objects` and by how many images have
    them. Chance makes rankings less alike, in resamples more than in all images: see `symmetric_interval`. An image may
    be in `received`, in `objects`, or in both, and counts for these. The names are those of columns of OVERLAPS.
    """
    row = {image: number for number, image in enumerate(images)}
    tags = [(row[image], label, attention) for image, label, attention in received if image in row]
    labels = sorted({label for _, label, _ in tags} | {label for image in images for label in objects.get(image, ())})
    column = {label: number for number, label in enumerate(labels)}
    # For each image and object the attention that its tags receive, how many these are, and whether there is one.
    sums = np.zeros((len(images), 3, len(labels)))
    for number, label, attention in tags:
        sums[number, :2, column[label]] += attention, 1
    for image, number in row.items():
        sums[number, 2, [column[label] for label in {*objects.get(image, ())}]] = 1
    # The first row is of the images themselves.
    flat = sums.reshape(len(images), -1)
    drawn = np.concatenate([flat.sum(0, keepdims=True), resampled_sums(flat, seed)]).reshape(-1, 3, len(labels))
    attended, counted, having = np.moveaxis(drawn, 1, 0)
    ranking = attended / np.maximum(counted, 1) if mean else attended
    ranks = _ranks(ranking, counted > 0), _ranks(having, having > 0)
    of_depths = _resampled_overlaps(*ranks, max(depths))
    found: dict[int, dict[str, float]] = {depth: {} for depth in depths}
    for depth in depths:
        for measure, values in of_depths.items():
            value, resampled = float(values[0, depth - 1]), values[1:, depth - 1]
            low, high = symmetric_interval(value, resampled, len(images), (0.0, 1.0))
            found[depth] |= {f"{measure}_ci_low": low, f"{measure}_ci_high": high}
    return found


def _ranks(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Ranks from 0 of the largest value in each row of (R, L); equal ones by column, those not `there` have L."""
    order = np.argsort(np.where(there, -values, np.inf), axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(values.shape[1])[None], axis=1)
    return np.where(there, ranks, values.shape[1])


def _resampled_overlaps(first: np.ndarray, second: np.ndarray, deepest: int) -> dict[str, np.ndarray]:
    """Both overlaps (R, deepest) at each depth, from 1, of R pairs of rankings, given as ranks (R, L)."""
    size = first.shape[1]
    depths = np.arange(1, deepest + 1)
    lengths = [(ranks < size).sum(1, keepdims=True) for ranks in (first, second)]
    shared = np.stack([((first < min(depth, size)) & (second < min(depth, size))).sum(1) for depth in depths], axis=1)
    shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
    agreement = np.cumsum(np.where(depths <= shorter, shared / depths, 0.0), axis=1)
    either = np.minimum(shorter, depths) + np.minimum(longer, depths) - shared
    # Two empty rankings are alike.
    return {
        "rank_biased_overlap": np.where(longer > 0, agreement / np.maximum(np.minimum(depths, shorter), 1), 1.0),
        "intersection_over_union": np.where(longer > 0, shared / np.maximum(either, 1), 1.0),
    }


def overlap_by_chance(objects: int, depth: int) -> float:
    """The rank-biased overlap, down to a depth, that two rankings in random order of so many objects have on average.

    It is the mean over d of d / objects, the probability that one of the first d is among the first d of the other.
    """
    return (min(depth, objects) + 1) / (2 * objects)
