"""Objects of a scene, ranked by the attention they receive and by how often they occur (Cafagna et al. 2022, §5)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from captionlab.intervals import resampled_sums, symmetric_interval

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
        tags = [tag for image in images for tag in of_image.get(image, [])]
        total: dict[str, float] = defaultdict(float)
        for label, attention in tags:
            total[label] += attention
        number = Counter(label for label, _ in tags) if mean else dict.fromkeys(total, 1)
        ranked[scene] = _by_value({label: value / number[label] for label, value in total.items()})
    return ranked


def uniform_attention(received: Iterable[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """The same tags with the same attention: the sum is then larger for what has more tags, whatever is attended to."""
    return [(image, label, 1.0) for image, label, _ in received]


def frequent_objects(objects: Mapping[str, Iterable[str]], scenes: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The objects of the images of each scene, those in most of them first, each counting once; equal ones by name."""
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
    depths: Sequence[int],
) -> list[Overlap]:
    """The overlap of two rankings of the objects of each scene, down to each depth; `images`: how many each is of."""
    pairs = {scene: (ranking, frequent[scene]) for scene, ranking in attended.items()}
    return [
        Overlap(scene, depth, rank_biased_overlap(*pair, depth), intersection_over_union(*pair, depth), *images[scene])
        for scene, pair in pairs.items()
        for depth in depths
    ]


def overlap_intervals(
    received: Iterable[tuple[str, str, float]],
    objects: Mapping[str, Iterable[str]],
    images: Sequence[str],
    depths: Sequence[int],
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
            low, high = symmetric_interval(value, resampled, (0.0, 1.0))
            found[depth] |= {f"{measure}_ci_low": low, f"{measure}_ci_high": high}
    return found


def _ranks(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    """Ranks from 0 of the largest value in each row of (R, L); equal ones by column, those not `there` have L."""
    order = np.argsort(np.where(there, -values, np.inf), axis=1, kind="stable")
    return np.where(there, order.argsort(axis=1), values.shape[1])


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
    """The mean rank-biased overlap of two random orders of so many objects: that of d / objects, d = 1, ... depth."""
    return (min(depth, objects) + 1) / (2 * objects)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], depth: int | None = None) -> float:
    """Overlap, 0 to 1, of two rankings without repetitions, down to `depth` or to the end of the shorter one.

    Webber et al. 2010, as github.com/changyaochen/rbo computes it, which the paper used: the persistence p is 1, so it
    is the mean over depths of the agreement, the share of the items down to there that both have (by formula 1 of the
    paper it would be 0). Two empty rankings have 1. ValueError for a ranking that has an item twice.
    """
    for ranking in (first, second):
        if len({*ranking}) < len(ranking):
            raise ValueError(f"the ranking {', '.join(ranking)} has an item twice")
    if not first or not second:
        return float(not first and not second)
    deepest = min(len(first), len(second), depth or len(first))
    return fmean(len({*first[:d]} & {*second[:d]}) / d for d in range(1, deepest + 1))


def intersection_over_union(first: Sequence[str], second: Sequence[str], depth: int | None = None) -> float:
    """Items among the first `depth` of both rankings, divided by those of either; two empty rankings have 1."""
    top, other = {*first[:depth]}, {*second[:depth]}
    return len(top & other) / len(top | other) if top or other else 1.0


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation, its degrees of freedom, and the two-sided p-value of none; None where one is constant."""

    r: float | None
    degrees: int
    p_value: float | None


def correlation(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Pearson's correlation of two lists of the same length; ValueError for less than three pairs."""
    degrees = len(first) - 2
    if degrees < 1:
        raise ValueError(f"a correlation needs at least 3 pairs, there are {len(first)}")
    means = fmean(first), fmean(second)
    pairs = [(x - means[0], y - means[1]) for x, y in zip(first, second, strict=True)]
    spread = math.sqrt(sum(x * x for x, _ in pairs) * sum(y * y for _, y in pairs))
    if not spread:
        return Correlation(None, degrees, None)
    r = max(-1.0, min(1.0, sum(x * y for x, y in pairs) / spread))
    t = math.inf if abs(r) == 1 else abs(r) * math.sqrt(degrees / (1 - r * r))
    return Correlation(r, degrees, t_tails(t, degrees))


def t_tails(t: float, degrees: int) -> float:
    """Probability of a value of Student's t further from 0 than `t` (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan(t / math.sqrt(degrees))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = degrees % 2
    term, total = 1.0, 0.0
    for place in range(odd, degrees - 1, 2):
        total += term
        term *= square * (place + 1) / (place + 2)
    inside = (2 / math.pi) * (angle + sine * math.cos(angle) * total) if odd else sine * total
    return max(0.0, 1 - inside)
