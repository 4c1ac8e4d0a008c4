"""Probes: what they learn and what not, their scores against plain loops, and splits by hand."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch

from captionlab.captioners.vinvl.captioner import Vinvl
from captionlab.probes.encodings import encode_scenes
from captionlab.probes.probe import (
    GRID,
    MOST,
    PUBLISHED,
    Score,
    classifier,
    downsample,
    object_scores,
    probe,
    probed_objects,
    run_object_probes,
    run_probes,
    scores,
    search_mlp,
    shuffled,
    split,
    without_singles,
)
from captionlab.probes.schemas import OBJECT_SCORES, SCORES
from captionlab.regions.tagged_regions import TaggedRegions, padded
from captionlab.storage.tables import write_table

CLASSES = ["sea"] * 60 + ["road"] * 30 + ["room"] * 10


@pytest.fixture(scope="module")
def encodings() -> np.ndarray:
    """In which classes lie apart."""
    centres = {"sea": 0.0, "road": 4.0, "room": 8.0}
    generator = np.random.default_rng(0)
    return np.stack([generator.normal(centres[name], 1.0, 5) for name in CLASSES])


def f1(found: list[Score], average: str) -> float:
    return next(score.f1 for score in found if score.average == average)


def test_scores_are_those_of_plain_loops():
    """Also with a class that is predicted and not there, which counts as a miss and has no score."""
    generator = np.random.default_rng(0)
    right = generator.choice(["a", "b", "c", "d"], 200, p=[0.5, 0.3, 0.15, 0.05]).tolist()
    predicted = [name if generator.random() < 0.6 else "a" for name in right[:-5]] + ["e"] * 5
    hits, wrong, support = Counter(), Counter(), Counter(right)
    for name, said in zip(right, predicted, strict=True):
        if name == said:
            hits[name] += 1
        else:
            wrong.update([name, said])
    each = {name: 2 * hits[name] / (2 * hits[name] + wrong[name]) for name in "abcd"}
    found = scores(right, predicted)
    assert [(score.name, score.support) for score in found[3:]] == sorted(support.items())
    assert {score.name: score.f1 for score in found[3:]} == pytest.approx(each)
    assert f1(found, "micro") == pytest.approx(hits.total() / 200)
    assert f1(found, "macro") == pytest.approx(sum(each.values()) / 4)
    assert f1(found, "weighted") == pytest.approx(sum(each[name] for name in right) / 200)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_splits(share):
    train, test = split(CLASSES, share, seed=1)
    assert sorted([*train, *test]) == list(range(100))
    counts = Counter(CLASSES[row] for row in test)
    assert counts == {"sea": round(60 * share), "road": round(30 * share), "room": round(10 * share)}
    assert [*split(CLASSES, share, seed=1)[1]] == [*test]
    assert [*split(CLASSES, share, seed=2)[1]] != [*test]


def test_every_class_is_trained_and_tested_on():
    classes = ["sea"] * 20 + ["room"] * 2
    for share in (0.1, 0.9):
        train, test = split(classes, share, seed=0)
        assert {classes[row] for row in train} == {classes[row] for row in test} == {"sea", "room"}
    with pytest.raises(ValueError, match="the scene 'moon' has one image"):
        split(["sea", "sea", "moon"], 0.5, seed=0)


def test_downsampling():
    scenes = {str(image): name for image, name in enumerate(CLASSES)}
    kept = downsample(scenes, 51, seed=0)
    assert Counter(kept.values()) == {"sea": 20, "road": 21, "room": 10}  # the rare one stays as it is
    assert [*kept] == [image for image in scenes if image in kept]
    assert all(scenes[image] == name for image, name in kept.items())
    assert downsample(scenes, 51, seed=1) != kept == downsample(scenes, 51, seed=0)
    assert downsample(scenes, len(scenes), seed=0) == downsample(scenes, 10_000, seed=0) == scenes
    for total in range(6, len(scenes)):
        sizes, before = Counter(downsample(scenes, total, seed=0).values()), Counter(CLASSES)
        assert sizes.total() == total
        largest = max(sizes.values())
        assert all(size in (before[name], largest, largest - 1) for name, size in sizes.items())
    with pytest.raises(ValueError, match="5 images are too few for 3 scenes; ask for at least 6"):
        downsample(scenes, 5, seed=0)


def test_classes_of_one_image_are_left_out():
    assert without_singles({"a": "sea", "b": "road", "c": "sea"}) == {"a": "sea", "c": "sea"}


@pytest.mark.parametrize("name", ["random-forest", "mlp"])
def test_probes_learn_what_there_is(encodings, name):
    rows = split(CLASSES, 0.5, seed=0)
    found = probe(name, encodings, CLASSES, rows, seed=0)
    assert f1(found, "macro") > 0.9
    assert found == probe(name, encodings, CLASSES, rows, seed=0)
    assert sum(score.support for score in found if score.average == "class") == 50
    # The control task: nothing to be learnt.
    control = shuffled(CLASSES, seed=0)
    assert Counter(control) == Counter(CLASSES)
    assert f1(probe(name, encodings, control, split(control, 0.5, seed=0), seed=0), "macro") < 0.6


def test_guessing(encodings):
    """Classes as often as in training: the expected share of hits is the sum of the squared shares."""
    values = [f1(probe("random", encodings, CLASSES, split(CLASSES, 0.5, seed=s), seed=s), "micro") for s in range(60)]
    assert np.mean(values) == pytest.approx(0.6**2 + 0.3**2 + 0.1**2, abs=0.03)


def test_the_neural_probe_is_that_of_the_paper(encodings):
    """Appendix D of Cafagna et al. 2022: three layers with 16 hidden units, LBFGS, an adaptive rate, alpha 1."""
    rows, tried = run_probes({0: encodings}, CLASSES, [0.5], [3])
    assert tried == [(PUBLISHED, None)]
    network = classifier("mlp", 3).fit(encodings, CLASSES)["network"]
    assert network.n_layers_ == 3
    assert [weights.shape for weights in network.coefs_] == [(5, 16), (16, 3)]
    assert (network.solver, network.learning_rate, network.alpha) == ("lbfgs", "adaptive", 1.0)
    halves = split(CLASSES, 0.5, seed=3)
    expected = probe("mlp", encodings, CLASSES, halves, 3, {"hidden_layer_sizes": (16,), "alpha": 1.0})
    macro = {"probe": "mlp", "classes": "scenes", "average": "macro"}
    assert [row["f1"] for row in rows if macro.items() <= row.items()] == [f1(expected, "macro")]


def test_the_neural_probe_is_searched_for(encodings):
    found = search_mlp(encodings[::2], CLASSES[::2], seed=0)
    tried = [tuple(settings.values()) for settings, _ in found]
    assert {*tried} == {*itertools.product(*GRID.values())}
    assert len(tried) == 4
    f1s = [f1 for _, f1 in found]
    assert f1s == sorted(f1s, reverse=True)
    assert 0.9 < f1s[0] <= 1


def test_unknown_probe(encodings):
    with pytest.raises(ValueError, match="the probe is 'svm'; it must be random-forest, mlp, random"):
        probe("svm", encodings, CLASSES, split(CLASSES, 0.5, seed=0), seed=0)


def test_encodings_leave_padding_out():
    torch.manual_seed(0)
    captioner = Vinvl(50, 40, 16, 2, 4, 20, 6, tag_position=10, start=1, mask=3).eval()
    tags, regions = [torch.tensor([5, 6, 2]), torch.tensor([9, 2])], [torch.randn(2, 6), torch.randn(4, 6)]
    visual = TaggedRegions(*padded(tags, 20), *padded(regions, 20))
    found = encode_scenes(captioner, visual)
    for row in range(2):
        alone = TaggedRegions(*padded(tags[row : row + 1], 20), *padded(regions[row : row + 1], 20))
        with torch.no_grad():
            states = captioner.states(alone, torch.tensor([[1, 7, 8]]))[0, 3:]  # whatever the caption
        torch.testing.assert_close(found[row], states.mean(0), rtol=0, atol=1e-5)


def test_all_probes(encodings, tmp_path, monkeypatch):
    """States that tell scenes, and states that do not after ablation."""
    monkeypatch.setattr("captionlab.probes.probe.GRID", {"hidden_layer_sizes": [(8,)], "alpha": [1.0]})
    noise = np.random.default_rng(0).normal(size=encodings.shape)
    rows, tried = run_probes({0: encodings, 1: noise}, CLASSES, [0.5], [3, 4], search=True)
    assert [settings for settings, _ in tried] == [{"hidden_layer_sizes": (8,), "alpha": 1.0}]
    # Two states, two seeds, five probes and tasks, three averages and three scenes.
    assert len(rows) == 2 * 2 * 5 * 6
    columns = {name: [row.get(name, "pretrained") for row in rows] for name in SCORES.columns}
    write_table(tmp_path / "scores.parquet", SCORES, columns)

    def mean(**chosen) -> float:
        return np.mean([row["f1"] for row in rows if chosen.items() <= row.items()])

    for name in ("random-forest", "mlp"):
        assert mean(objects=0, probe=name, classes="scenes", average="macro") > 0.9
        assert mean(objects=0, probe=name, classes="shuffled", average="macro") < 0.6
        assert mean(objects=1, probe=name, classes="scenes", average="macro") < 0.6


# ----------------------------------------------------------------------------------------------------------- objects
def test_probed_objects_are_frequent_but_not_everywhere():
    """A hundred images; one without any object, and one that has an object twice."""
    number = {"sky": 96, "sea": 95, "boat": 40, "anchor": 40, "gull": 5, "crab": 4}
    objects = {str(image): [label for label, count in number.items() if image < count] for image in range(99)}
    objects["0"].append("crab")
    images = [str(image) for image in range(100)]
    assert probed_objects(objects, images) == ["sea", "anchor", "boat", "gull"]
    # Of other images nothing is counted; of these forty 36 have sky, 35 sea and none another object.
    assert probed_objects(objects, images[60:]) == ["sky", "sea"]
    many = {str(image): [f"object {label:02}" for label in range(MOST + 5) if image >= label] for image in range(50)}
    assert probed_objects(many, images[:50]) == [f"object {label:02}" for label in range(3, MOST + 3)]


def test_scores_of_objects_are_those_of_plain_loops():
    generator = np.random.default_rng(0)
    right = generator.random((50, 4)) < [0.5, 0.3, 0.2, 0.0]
    told = np.where(generator.random((50, 4)) < 0.7, right, ~right)
    told[:, 3] = False  # neither there nor told
    labels = ["boat", "car", "dog", "moon"]
    found = {score.name or score.average: score for score in object_scores(labels, right, told)}
    hits, wrong = Counter(), Counter()
    for of_image, said in zip(right, told, strict=True):
        for label, there, yes in zip(labels, of_image, said, strict=True):
            hits[label] += int(there and yes)
            wrong[label] += int(there != yes)
    each = {label: 2 * hits[label] / ((2 * hits[label] + wrong[label]) or 1) for label in labels}
    assert {label: found[label].f1 for label in labels} == pytest.approx(each)
    assert each["moon"] == 0.0
    assert found["macro"].f1 == pytest.approx(sum(each.values()) / 4)
    assert found["micro"].f1 == pytest.approx(2 * hits.total() / (2 * hits.total() + wrong.total()))
    assert [found[label].support for label in labels] == [int(column.sum()) for column in right.T]
    assert found["micro"].support == found["macro"].support == int(right.sum())


def test_objects_are_told_from_states_that_have_them(encodings, tmp_path):
    """A lamp is in the states, a cup is not."""
    scenes = {str(image): name for image, name in enumerate(CLASSES)}
    generator = np.random.default_rng(1)
    has = generator.random((100, 2)) < 0.4
    objects = {
        str(image): [label for label, there in zip(("lamp", "cup"), row, strict=True) if there]
        for image, row in enumerate(has)
    }
    states = np.column_stack([encodings, has[:, 0] + generator.normal(0, 0.1, 100)])
    rows = run_object_probes(states, scenes, objects, 0.5, [3, 4])
    assert rows == run_object_probes(states, scenes, objects, 0.5, [3, 4])
    # Two seeds; forest, its control task and guessing; two averages and two objects.
    assert len(rows) == 2 * 3 * 4
    columns = {name: [row.get(name, "pretrained") for row in rows] for name in OBJECT_SCORES.columns}
    write_table(tmp_path / "objects.parquet", OBJECT_SCORES, columns)

    def mean(**chosen) -> float:
        return np.mean([row["f1"] for row in rows if chosen.items() <= row.items()])

    assert mean(probe="random-forest", classes="objects", label="lamp") > 0.95
    assert mean(probe="random-forest", classes="objects", label="cup") < 0.6
    assert mean(probe="random-forest", classes="shuffled", label="lamp") < 0.6
    assert mean(probe="random", label="lamp") < 0.6
    tested = split(CLASSES, 0.5, seed=4)[1]
    (last,) = (row for row in rows if (row["seed"], row["probe"], row["label"]) == (4, "random", "lamp"))
    assert last["support"] == has[tested, 0].sum()
    assert run_object_probes(states, scenes, {}, 0.5, [3, 4]) == []
