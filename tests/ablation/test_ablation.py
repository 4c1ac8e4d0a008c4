"""Scenes, their objects, and images without these, against naive ways and by hand."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from support import vinvl_stand_in as stand_in
from support.decodings import decoding_of

from captionlab.ablation.captioning import caption_samples
from captionlab.ablation.comparison import (
    Pair,
    changed,
    compare_splits,
    effects,
    mean_over_images,
    pairs,
    z_test,
)
from captionlab.ablation.match_regions import match_regions
from captionlab.ablation.pmi import pointwise_mutual_information
from captionlab.ablation.scene_labels import (
    frequent_scenes,
    images_of_scenes,
    label_scenes,
    one_scene,
    scene_nouns,
    stop_words,
)
from captionlab.generation.decoding import decode
from captionlab.regions.removal import Removal, Sample, remove, samples
from captionlab.regions.tagged_regions import TaggedRegions, padded
from captionlab.texts.tagging import load_tagger, tag


def test_scenes_of_the_papers_examples():
    """With the tagger that comes with the workflow."""
    captions = [
        "the picture has been taken in a restaurant",
        "on a beach",
        "this is in an airport",
        "The picture is shot in a ski resort.",
        "in the streets",
        "outside",
    ]
    tagged = tag(load_tagger("en_ewt_sm"), captions)
    found = [scene_nouns(*of_caption, stop_words()) for of_caption in tagged]
    assert found[:3] == [["restaurant"], ["beach"], ["airport"]]
    assert "resort" in found[3]
    assert "picture" not in found[3]
    assert found[4:] == [["street"], []]


def test_labels_and_frequent_scenes():
    captions = [
        ("1", ["street", "city", "street"]),
        ("1", ["street"]),
        ("1", []),
        ("2", ["city"]),
        ("2", ["house"]),
        ("3", []),
        ("4", ["house"]),
    ]
    labels = label_scenes(captions)
    assert labels == {"1": {"street": 2, "city": 1}, "2": {"city": 1, "house": 1}, "3": {}, "4": {"house": 1}}
    assert frequent_scenes(labels, 2) == ["city", "house"]
    assert frequent_scenes(labels, 5, min_count=2) == ["street"]
    assert images_of_scenes(labels, ["house", "street"]) == {"house": ["2", "4"], "street": ["1"]}
    assert one_scene(labels, ["house", "street", "city"]) == {"1": "street", "4": "house"}  # a tie in the second
    assert one_scene(labels, ["city"]) == {"1": "city", "2": "city"}
    with pytest.raises(ValueError, match="no image has the scene 'city' in 2 of its captions"):
        images_of_scenes(labels, ["city"], min_count=2)


@pytest.mark.parametrize("smoothing", ["none", "laplace", "discount"])
def test_information(smoothing):
    generator = np.random.default_rng(0)
    objects = {str(image): [label for label in "abcdefgh" for _ in range(generator.integers(3))] for image in range(60)}
    scenes = {name: [str(image) for image in range(60) if generator.random() < 0.3] for name in ("sea", "road")}
    found = pointwise_mutual_information(objects, scenes, min_count=3, smoothing=smoothing)
    assert found
    rows = {(row.scene, row.label): row for row in found}
    for scene, images in scenes.items():
        for label in "abcdefgh":
            cells = Counter((image in images, label in objects[image]) for image in objects)
            together = cells[True, True]
            if together < 3:
                assert (scene, label) not in rows
                continue
            row = rows[scene, label]
            if smoothing == "laplace":
                cells = Counter({(s, o): cells[s, o] + 1 for s in (True, False) for o in (True, False)})
            total = sum(cells.values())
            both = cells[True, True]
            of_scene, of_object = (both + cells[True, False]) / total, (both + cells[False, True]) / total
            expected = math.log((both / total) / (of_scene * of_object))
            if smoothing == "discount":
                fewer = min(both + cells[True, False], both + cells[False, True])
                expected *= both / (both + 1) * fewer / (fewer + 1)
            assert row.pmi == pytest.approx(expected)
            assert row.together == together
    for scene in scenes:
        values = [row.pmi for row in found if row.scene == scene]
        assert values == sorted(values, reverse=True)


def test_information_of_an_unknown_smoothing():
    with pytest.raises(ValueError, match="smoothing is 'kneser'; it must be none, laplace, discount"):
        pointwise_mutual_information({}, {}, smoothing="kneser")


def naive_match(region: list[float], box: list[float]) -> tuple[float, float]:
    """Counting cells of whole pixels."""
    cells = [{(x, y) for x in range(int(b[0]), int(b[2])) for y in range(int(b[1]), int(b[3]))} for b in (region, box)]
    shared = len(cells[0] & cells[1])
    union = len(cells[0] | cells[1])
    return shared / union if union else 0.0, shared / len(cells[0]) if cells[0] else 0.0


def test_regions_get_tags():
    generator = np.random.default_rng(0)

    def boxes(count: int) -> np.ndarray:
        corners = generator.integers(0, 12, (count, 2, 2))
        return np.concatenate([corners.min(1), corners.max(1)], axis=1).astype(np.float32)

    regions, tags = boxes(60), boxes(40)
    found = match_regions(regions, tags)
    for row, region in enumerate(regions):
        for column, box in enumerate(tags):
            overlap, inside = naive_match(region, box)
            assert found.overlap[row, column] == pytest.approx(overlap, abs=1e-6)
            assert found.inside[row, column] == pytest.approx(inside, abs=1e-6)
            assert found.tagged[row, column] == (overlap >= 0.6 or inside >= 0.8)
    assert 0 < found.tagged.any(1).sum() < 60
    assert match_regions(regions, np.zeros((0, 4))).tagged.shape == (60, 0)


def test_thresholds_of_the_paper():
    """At least 0.6 of the union, or at least 80 % of the region's area."""
    region = np.array([[0.0, 0.0, 10.0, 10.0]])
    tags = np.array([[0.0, 0.0, 10.0, 6.0], [0.0, 0.0, 10.0, 5.9], [0.0, 0.0, 8.0, 100.0], [0.0, 0.0, 7.9, 100.0]])
    assert match_regions(region, tags).tagged.tolist() == [[True, False, True, False]]


def test_samples_have_all_objects():
    scenes = {"sea": ["1", "2"], "road": ["2", "3"], "room": ["3"]}
    diagnostic = {"sea": ["boat", "surfboard", "sky"], "road": ["car"]}
    objects = {"1": ["boat", "sky"], "2": ["surfboard", "boat", "car"], "3": ["car"]}
    assert samples(scenes, diagnostic, objects, 1) == [
        Sample("1", "sea", ("boat",)),
        Sample("2", "sea", ("boat",)),
        Sample("2", "road", ("car",)),
        Sample("3", "road", ("car",)),
    ]
    assert samples(scenes, diagnostic, objects, 2) == [Sample("2", "sea", ("boat", "surfboard"))]
    assert samples(scenes, diagnostic, objects, 3) == []


@pytest.mark.parametrize("closed", [False, True])
def test_removal(closed):
    tags, regions = [torch.tensor([5, 6, 7, 2]), torch.tensor([8, 2])], [torch.ones(3, 2), torch.ones(1, 2)]
    visual = TaggedRegions(*padded(tags, 9), *padded(regions, 9))
    pieces = torch.tensor([[False, True, True, False], [False, False, False, False]])
    shown = torch.tensor([[True, False, False], [False, False, False]])
    without = remove(visual, pieces, shown, padding=0, closed=closed)
    assert without.tags.tolist() == [[5, 0, 0, 2], [8, 2, 0, 0]]
    assert without.regions[0].tolist() == [[0, 0], [1, 1], [1, 1]]
    assert torch.equal(without.regions[1], visual.regions[1])
    hidden = (visual.mask & ~without.mask).nonzero().tolist()
    assert hidden == ([[0, 1], [0, 2], [0, 4]] if closed else [])
    assert visual.tags.tolist()[0] == [5, 6, 7, 2]  # as it was


def test_changed_captions():
    assert not changed("In a kitchen ", "in a  kitchen")
    assert changed("in a kitchen", "in the kitchen")


def test_mean_over_images():
    """An image that is two samples is drawn as a whole."""
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0] * 10
    images = [str(place // 2) for place in range(80)]
    found = mean_over_images(values, images, seed=3)
    assert (found.value, found.n, found.deviation) == (0.5, 80, 0.5)
    of_images = np.array(values).reshape(-1, 2).mean(1)
    error = of_images.std() / 40**0.5
    assert found.ci_low == pytest.approx(0.5 - 1.96 * error, abs=0.3 * error)
    assert found.ci_high == pytest.approx(0.5 + 1.96 * error, abs=0.3 * error)
    with pytest.raises(ValueError, match="no sample"):
        mean_over_images([], [], seed=0)


def test_z_test():
    first, second = np.random.default_rng(0).normal(0.1, 1, 200), np.random.default_rng(1).normal(0, 2, 300)
    z, p = z_test(first.tolist(), second.tolist())
    error = (first.var(ddof=1) / 200 + second.var(ddof=1) / 300) ** 0.5
    assert z == pytest.approx((first.mean() - second.mean()) / error)
    draws = np.random.default_rng(2).normal(size=400_000)
    assert p == pytest.approx((abs(draws) >= abs(z)).mean(), abs=0.005)
    # The paper's own numbers, appendix C: z = 0.13, p = 0.89.
    assert math.floor(100 * math.erfc(0.13 / math.sqrt(2))) / 100 == 0.89
    with pytest.raises(ValueError, match="at least 2 values in each sample, there are 1 and 2"):
        z_test([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="values that differ"):
        z_test([1.0, 1.0], [2.0, 2.0])


@pytest.fixture
def removal(tmp_path) -> Removal:
    images = stand_in.images(tmp_path)
    matches = [
        (image, int(region), int(tag))
        for image in stand_in.OBJECTS
        for region, tag in np.argwhere(match_regions(*images.boxes(image)).tagged)
    ]
    return Removal(images, matches, closed=True)


def test_objects_go_with_their_regions(removal):
    """Both boats of the last image and the regions with their boxes; the region that is the whole image stays."""
    visual = removal.without(["4", "3", "2", "2"], [{"boat"}, {"boat"}, {"wine glass", "sky"}, set()])
    assert visual.tags.tolist()[0][:4] == [6, 0, 0, 3]
    assert visual.region_mask[0].tolist() == [True, True, False, False]
    assert torch.equal(visual.regions[1], removal.images.rows(["4", "3"]).regions[1])
    assert visual.tags[2].tolist() == [7, 0, 0, 5, 3]  # two word pieces
    assert visual.region_mask[2].tolist() == [True, True, False, True]
    assert visual.tag_mask[2].tolist() == [True, False, False, True, True]
    assert visual.mask[3].all()


def test_captions_of_samples(removal):
    captioner, tokenizer, decoding = stand_in.captioner(), stand_in.tokenizer(), decoding_of("beam", 6, rules="oscar")
    chosen = [Sample("2", "", ()), Sample("4", "sea", ("boat",)), Sample("4", "", ())]
    rows = caption_samples(captioner, tokenizer, removal, chosen, decoding)
    assert [(row["image_id"], row["scene"], row["objects"], row["labels"]) for row in rows] == [
        ("2", "", 0, []),
        ("4", "sea", 1, ["boat"]),
        ("4", "", 0, []),
    ]
    alone = decode(captioner, removal.without(["4"], [{"boat"}]), decoding, tokenizer)
    assert rows[1]["caption"] == tokenizer.decode(alone.tokens.tolist())[0]
    assert rows[1]["confidence"] == pytest.approx(alone.confidence.item(), rel=1e-5)
    assert rows[1]["log_prob"] == pytest.approx(alone.log_prob.item(), rel=1e-5)


def row_of(image: str, objects: int, caption: str, confidence: float, split: str = "test", scene: str = "sea") -> dict:
    return {"image_id": image, "split": split, "scene": scene, "objects": objects, "caption": caption,
            "confidence": confidence}  # fmt: skip


def test_effects():
    rows = [
        row_of("1", 0, "at sea", 0.7, scene=""),
        row_of("2", 0, "a road", 0.6, scene=""),
        row_of("3", 0, "a road", 0.5, "train", scene=""),
        row_of("1", 1, "at sea", 0.6),
        row_of("1", 2, "at the sea", 0.9),
        row_of("2", 1, "a road", 0.7),
        row_of("3", 1, "a rock", 0.4, "train"),
    ]
    found = pairs(rows)
    assert found == [
        Pair("1", "test", 1, False, 0.7, 0.6),
        Pair("1", "test", 2, True, 0.7, 0.9),
        Pair("2", "test", 1, False, 0.6, 0.7),
        Pair("3", "train", 1, True, 0.5, 0.4),
    ]
    values = {(row["split"], row["objects"], row["statistic"]): (row["value"], row["n"]) for row in effects(found, 0)}
    assert values == {
        ("test", 0, "changed"): (pytest.approx(1 / 3), 3),
        ("test", 0, "confidence"): (pytest.approx(0.65), 2),
        ("test", 0, "shift"): (pytest.approx(0.0), 2),
        ("test", 1, "changed"): (0.0, 2),
        ("test", 1, "confidence"): (pytest.approx(0.65), 2),
        ("test", 1, "shift"): (pytest.approx(0.0), 2),
        ("test", 2, "changed"): (1.0, 1),
        ("test", 2, "confidence"): (None, 0),
        ("test", 2, "shift"): (None, 0),
        ("train", 0, "changed"): (1.0, 1),
        ("train", 0, "confidence"): (None, 0),
        ("train", 0, "shift"): (None, 0),
        ("train", 1, "changed"): (1.0, 1),
        ("train", 1, "confidence"): (None, 0),
        ("train", 1, "shift"): (None, 0),
    }
    (splits,) = compare_splits(found)
    assert splits == {"split": "test", "against": "train", "z": None, "p_value": None}
    more = [*found, Pair("4", "train", 1, False, 0.5, 0.4), Pair("5", "train", 1, False, 0.5, 0.3)]
    (splits,) = compare_splits(more)
    assert (splits["z"], splits["p_value"]) == z_test([0.7 - 0.6, 0.6 - 0.7], [0.5 - 0.4, 0.5 - 0.3])
    # The same image with fewer objects again is no further sample.
    again = [*more, Pair("4", "train", 2, False, 0.5, 0.4), Pair("5", "train", 2, False, 0.5, 0.3)]
    assert compare_splits(again) == [splits]
    with pytest.raises(ValueError, match="no caption of the whole image '1'"):
        pairs(rows[3:])
