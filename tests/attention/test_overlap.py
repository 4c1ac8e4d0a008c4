"""Overlap of rankings against the numbers of the original package, of the paper, and of scipy."""

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from captionlab.attention.objects import (
    attended_objects,
    correlation,
    frequent_objects,
    intersection_over_union,
    overlap_intervals,
    overlaps,
    rank_biased_overlap,
    t_tails,
    uniform_attention,
)
from captionlab.statistics.intervals import resampled_sums

CASES = json.loads((Path(__file__).parents[1] / "golden" / "rbo" / "cases.json").read_text())["cases"]
# Cafagna et al. 2022, Table 2: items shared at each depth (which the paper does not print; they are the only ones for
# lists of seven objects), RBO and IoU at 3, 5 and 7. The paper's numbers are cut after three decimals were rounded.
TABLE2 = {
    "sea": ([1, 2, 2, 3, 4, 4, 5], [0.88, 0.84, 0.8], [0.5, 0.66, 0.55]),
    "resort": ([1, 1, 2, 3, 3, 4, 5], [0.72, 0.7, 0.7], [0.5, 0.42, 0.55]),
    "house": ([0, 1, 2, 3, 3, 3, 5], [0.38, 0.5, 0.53], [0.5, 0.42, 0.55]),
}
# All rows of the table: RBO, IoU.
CELLS = [
    (0.88, 0.5), (0.84, 0.66), (0.87, 1.0), (1.0, 1.0), (0.9, 0.66), (0.91, 1.0), (0.27, 0.2), (0.25, 0.11),
    (0.24, 0.18), (0.88, 0.5), (0.84, 0.66), (0.8, 0.55), (0.72, 0.5), (0.7, 0.42), (0.7, 0.55), (0.38, 0.5),
    (0.5, 0.42), (0.53, 0.55), (0.55, 0.5), (0.55, 0.42), (0.54, 0.53),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_original_package(case):
    for value in case["values"]:
        assert rank_biased_overlap(case["S"], case["T"], value["k"]) == pytest.approx(value["rbo"], abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("abcdefghijklmnopqrstuvwxyz", "abcdefg", 1.0),
        ("abcde", "fghij", 0.0),
        ("abcdefg", "zcavwxy", 0.3122449),
        ("abcde", "bacde", 0.8),
        ("abcde", "abced", 0.95),
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        ("", "", 1.0),
        ("a", "", 0.0),
        ("123", "132", 0.8333333),
        ("abcde", "edcba", 0.4166667),
    ],
)
def test_values_of_its_own_tests(first, second, value):
    assert rank_biased_overlap([*first], [*second]) == pytest.approx(value, abs=1e-6)
    assert rank_biased_overlap([*second], [*first]) == pytest.approx(value, abs=1e-6)


def rankings(shared: list[int]) -> tuple[list[str], list[str]]:
    """Two rankings that share so many items at each depth."""
    first: list[str] = []
    second: list[str] = []
    for depth, (before, now) in enumerate(zip([0, *shared], shared, strict=False), 1):
        if now - before == 2:  # each takes up what only the other one had
            new = next(i for i in second if i not in first), next(i for i in first if i not in second)
        else:
            new = (f"both {depth}",) * 2 if now > before else (f"first {depth}", f"second {depth}")
        first.append(new[0])
        second.append(new[1])
    return first, second


def printed(value: float) -> float:
    return math.floor(round(value, 3) * 100) / 100


@pytest.mark.parametrize("scene", TABLE2)
def test_rows_of_the_papers_table(scene):
    shared, of_rbo, of_iou = TABLE2[scene]
    first, second = rankings(shared)
    assert [len({*first[:d]} & {*second[:d]}) for d in range(1, 8)] == shared
    for depth, rbo, iou in zip((3, 5, 7), of_rbo, of_iou, strict=True):
        assert printed(rank_biased_overlap(first, second, depth)) == rbo
        assert printed(intersection_over_union(first, second, depth)) == iou


def test_correlation_of_the_papers_table():
    found = correlation(*zip(*CELLS, strict=True))
    assert found.degrees == 19
    assert found.r == pytest.approx(0.8103, abs=1e-4)
    assert found.p_value < 0.001
    assert found.p_value == pytest.approx(scipy.stats.pearsonr(*zip(*CELLS, strict=True)).pvalue, rel=1e-6)


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 18, 40])
@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 2.5, 6.0])
def test_tails_of_students_t(t, degrees):
    assert t_tails(t, degrees) == pytest.approx(2 * scipy.stats.t.sf(t, degrees), abs=1e-12)


def test_correlations_without_a_value():
    assert correlation([1, 1, 1], [1, 2, 3]).r is None
    assert correlation([1, 2, 3], [2, 4, 6]).p_value == 0
    with pytest.raises(ValueError, match="at least 3 pairs, there are 2"):
        correlation([1, 2], [1, 2])


def test_items_twice_are_refused():
    with pytest.raises(ValueError, match="a, b, a has an item twice"):
        rank_biased_overlap(["a", "b", "a"], ["c"])


def test_intersection_over_union():
    assert intersection_over_union([*"abc"], [*"bcd"]) == 0.5
    assert intersection_over_union([*"abc"], [*"bcd"], 1) == 0.0
    assert intersection_over_union([], []) == 1.0
    assert intersection_over_union([*"abcdefg"], [*"abxyzw"], 7) == pytest.approx(2 / 11)


def test_uniform_attention_counts_tags():
    """Two people in an image count twice, however little is attended to them."""
    received = [("1", "sky", 0.9), ("1", "man", 0.1), ("1", "man", 0.1), ("2", "sky", 0.8), ("2", "man", 0.1)]
    uniform = uniform_attention(received)
    assert [(image, label) for image, label, _ in uniform] == [(image, label) for image, label, _ in received]
    assert attended_objects(received, {"sea": ["1", "2"]}) == {"sea": ["sky", "man"]}
    assert attended_objects(uniform, {"sea": ["1", "2"]}) == {"sea": ["man", "sky"]}


def test_objects_of_a_scene():
    received = [
        ("1", "boat", 0.5), ("1", "sky", 0.4), ("1", "boat", 0.1),
        ("2", "sky", 0.3), ("2", "car", 0.9), ("3", "car", 0.2),
    ]  # fmt: skip
    scenes = {"sea": ["1", "2"], "road": ["2", "3"], "moon": ["4"]}
    summed = attended_objects(received, scenes)
    assert summed == {"sea": ["car", "sky", "boat"], "road": ["car", "sky"], "moon": []}  # .9, .7, .6
    averaged = attended_objects(received, scenes, mean=True)
    assert averaged["sea"] == ["car", "sky", "boat"]  # .9, .35, .3
    objects = {"1": ["boat", "sky", "boat"], "2": ["sky", "car"], "3": ["car"]}
    frequent = frequent_objects(objects, scenes)
    assert frequent == {"sea": ["sky", "boat", "car"], "road": ["car", "sky"], "moon": []}
    found = overlaps(summed, frequent, {"sea": (2, 3), "road": (2, 4), "moon": (1, 5)}, depths=(1, 2))
    assert [(row.attended, row.counted) for row in found if row.depth == 1] == [(2, 3), (2, 4), (1, 5)]
    assert [(row.scene, row.depth, row.rank_biased_overlap, row.intersection_over_union) for row in found] == [
        ("sea", 1, 0.0, 0.0),
        ("sea", 2, 0.25, 1 / 3),
        ("road", 1, 1.0, 1.0),
        ("road", 2, 1.0, 1.0),
        ("moon", 1, 1.0, 1.0),
        ("moon", 2, 1.0, 1.0),
    ]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("mean", [False, True])
def test_intervals_are_those_of_rankings_of_resampled_images(mean, shared):
    """Against resamples written out image by image, of images of which some have one object, two times the same, or
    none: 95 of 100 are no further from the overlap of all images than the ends. Where images are not shared, attention
    is that of five and objects are counted in the others."""
    generator = random.Random(5)
    images = [str(number) for number in range(9)]
    objects = {image: generator.choices("abcdef", k=int(image) % 5) for image in images}
    received = [(image, label, generator.random()) for image in images for label in objects[image]]
    if not shared:
        received = [row for row in received if int(row[0]) < 5]
        objects = {image: labels for image, labels in objects.items() if int(image) >= 5}
    found = overlap_intervals(received, objects, images, (1, 3, 7), mean, seed=4)
    weights = resampled_sums(np.eye(len(images)), 4).astype(int)
    resampled = []
    for row in weights:
        drawn = {"scene": [image for image, times in zip(images, row, strict=True) for _ in range(times)]}
        rankings = attended_objects(received, drawn, mean), frequent_objects(objects, drawn)
        resampled.append(overlaps(*rankings, {"scene": (9, 9)}, (1, 3, 7)))
    rankings = attended_objects(received, {"scene": images}, mean), frequent_objects(objects, {"scene": images})
    whole = overlaps(*rankings, {"scene": (9, 9)}, (1, 3, 7))
    for place, depth in enumerate((1, 3, 7)):
        for measure in ("rank_biased_overlap", "intersection_over_union"):
            values = np.array([getattr(of_depths[place], measure) for of_depths in resampled])
            ends = found[depth][f"{measure}_ci_low"], found[depth][f"{measure}_ci_high"]
            value = getattr(whole[place], measure)
            reach = np.quantile(np.abs(values - value), 0.95)
            expected = max(0.0, value - reach), min(1.0, value + reach)
            assert ends == pytest.approx(expected)
            assert ends[0] <= value <= ends[1]
    assert found[3]["rank_biased_overlap_ci_low"] < found[3]["rank_biased_overlap_ci_high"]


def test_an_overlap_is_in_its_interval_where_no_resample_overlaps_as_much():
    """14 images with an object each, attended to half as much from one to the next, so that both rankings are the same;
    in resamples those that are drawn often are frequent, and those of the first images attended to."""
    images = [str(number) for number in range(14)]
    objects = {image: [label] for image, label in zip(images, "abcdefghijklmn", strict=True)}
    received = [(image, label, 0.5**number) for number, (image, (label,)) in enumerate(objects.items())]
    resampled = []
    for row in resampled_sums(np.eye(14), 0).astype(int):
        drawn = {"scene": [image for image, times in zip(images, row, strict=True) for _ in range(times)]}
        rankings = attended_objects(received, drawn)["scene"], frequent_objects(objects, drawn)["scene"]
        resampled.append(rank_biased_overlap(*rankings, 7))
    assert np.quantile(resampled, 0.975) < 1.0
    found = overlap_intervals(received, objects, images, (7,))[7]
    expected = 1 - np.quantile(1 - np.array(resampled), 0.95)
    assert found["rank_biased_overlap_ci_low"] == pytest.approx(expected)
    assert found["rank_biased_overlap_ci_high"] == 1.0
