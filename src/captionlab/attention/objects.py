"""Objects of a scene, ranked by received attention and by frequency (Cafagna et al. 2022, §5)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from captionlab.statistics.intervals import resampled_sums, symmetric_interval

# Name of the ranking in which every tag receives the same attention, so that only frequency counts.
UNIFORM = "uniform"


@dataclass(frozen=True)
class Overlap:
    """Overlap of two rankings of the objects of a scene down to a depth. The table OVERLAPS explains the fields."""

    scene: str
    depth: int
    rank_biased_overlap: float
    intersection_over_union: float
    attended: int
    counted: int


def attended_objects(
    received: Iterable[tuple[str, str, float]], scenes: Mapping[str, Iterable[str]], mean: bool = False
) -> dict[str, list[str]]:
    """Return the objects in the images of each scene, by falling attention, then by name.

    `received` has image, object and attention, a row for each tag. `scenes` has the images that depict each scene.
    Attention is summed over the images of a scene or, with `mean`, averaged over the tags of an object.
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
    """Return the tags with an attention of 1 each.

    The sum of attention over images is then the number of tags.
    """
    return [(image, label, 1.0) for image, label, _ in received]


def frequent_objects(objects: Mapping[str, Iterable[str]], scenes: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the objects in the images of each scene, by falling number of images that have them, then by name."""
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
    """Return the overlap of two rankings of the objects of each scene, down to each depth.

    `images` has, for each scene, the number of images behind each ranking.
    """
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
    """Return for each depth the ends of the 95 % intervals of both overlaps of a scene.

    They come from a symmetric bootstrap over the `images` of the scene. In each resample the objects are ranked again,
    by attention as in `attended_objects` and by the number of images that have them. Chance makes rankings less alike,
    in resamples more than in all images: see `symmetric_interval`. An image may be in `received`, in `objects`, or in
    both, and contributes to each table that it is in. The keys are columns of OVERLAPS.
    """
    row = {image: number for number, image in enumerate(images)}
    tags = [(row[image], label, attention) for image, label, attention in received if image in row]
    labels = sorted({label for _, label, _ in tags} | {label for image in images for label in objects.get(image, ())})
    column = {label: number for number, label in enumerate(labels)}
    # For each image and object: the attention that its tags receive, the number of tags, and whether `objects` has it.
    sums = np.zeros((len(images), 3, len(labels)))
    for number, label, attention in tags:
        sums[number, :2, column[label]] += attention, 1
    for image, number in row.items():
        sums[number, 2, [column[label] for label in {*objects.get(image, ())}]] = 1
    # The first row is the sum over the images themselves, the others are resamples.
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
    """Return the ranks from 0 of the values in each row of (R, L), the largest first, equal values by column.

    Values that are not `there` have rank L.
    """
    order = np.argsort(np.where(there, -values, np.inf), axis=1, kind="stable")
    return np.where(there, order.argsort(axis=1), values.shape[1])


def _resampled_overlaps(first: np.ndarray, second: np.ndarray, deepest: int) -> dict[str, np.ndarray]:
    """Return both overlaps (R, deepest) at each depth, from 1, of R pairs of rankings as ranks (R, L)."""
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
    """Return the expected rank-biased overlap of two random orders of `objects` objects down to `depth`.

    It is the mean of d / objects for d = 1, ..., depth.
    """
    return (min(depth, objects) + 1) / (2 * objects)


def rank_biased_overlap(first: Sequence[str], second: Sequence[str], depth: int | None = None) -> float:
    """Return the overlap, 0 to 1, of two rankings down to `depth` or to the end of the shorter ranking.

    Webber et al. 2010, as computed by github.com/changyaochen/rbo, which Cafagna et al. used. The persistence p is 1,
    so the overlap is the mean over depths of the agreement, the share of the items down to a depth that both rankings
    have. (By formula 1 of Cafagna et al., appendix B, it would be 0.) Two empty rankings have overlap 1. Raises
    ValueError for a ranking with a repeated item.
    """
    for ranking in (first, second):
        if len({*ranking}) < len(ranking):
            raise ValueError(f"the ranking {', '.join(ranking)} has an item twice")
    if not first or not second:
        return float(not first and not second)
    deepest = min(len(first), len(second), depth or len(first))
    return fmean(len({*first[:d]} & {*second[:d]}) / d for d in range(1, deepest + 1))


def intersection_over_union(first: Sequence[str], second: Sequence[str], depth: int | None = None) -> float:
    """Return the intersection over union of the first `depth` items of two rankings.

    Two empty rankings have 1.
    """
    top, other = {*first[:depth]}, {*second[:depth]}
    return len(top & other) / len(top | other) if top or other else 1.0


@dataclass(frozen=True)
class Correlation:
    """Pearson's correlation with its degrees of freedom and two-sided p-value.

    r and p-value are None if a variable is constant.
    """

    r: float | None
    degrees: int
    p_value: float | None


def correlation(first: Sequence[float], second: Sequence[float]) -> Correlation:
    """Return Pearson's correlation of two lists of the same length. Raises ValueError for less than 3 pairs."""
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
    """Return the two-sided tail probability of Student's t: the probability of a value further from 0 than `t`.

    Abramowitz and Stegun 1964, 26.7.3 and 26.7.4. `t` is not negative.
    """
    angle = math.atan(t / math.sqrt(degrees))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = degrees % 2
    term, total = 1.0, 0.0
    for place in range(odd, degrees - 1, 2):
        total += term
        term *= square * (place + 1) / (place + 2)
    inside = (2 / math.pi) * (angle + sine * math.cos(angle) * total) if odd else sine * total
    return max(0.0, 1 - inside)
