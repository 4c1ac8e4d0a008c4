"""Probes of scenes: what they learn and what not, their scores against scikit-learn's, and splits by hand."""

import itertools
from collections import Counter

import numpy as np
import pytest
import torch

from captionlab.captioners.vinvl import Vinvl
from captionlab.features.tagged_regions import TaggedRegions, padded
from captionlab.probes.encodings import encode_scenes
from captionlab.probes.experiment import run_probes
from captionlab.probes.kinds import SCORES
from captionlab.probes.probe import GRID, Score, downsample, probe, scores, search_mlp, shuffled, split
from captionlab.tables import write_table

CLASSES = ["sea"] * 60 + ["road"] * 30 + ["room"] * 10


@pytest.fixture(scope="module")
def encodings() -> np.ndarray:
    """In which classes lie apart."""
    centres = {"sea": 0.0, "road": 4.0, "room": 8.0}
    generator = np.random.default_rng(0)
    return np.stack([generator.normal(centres[name], 1.0, 5) for name in CLASSES])


def f1(found: list[Score], average: str) -> float:
    return next(score.f1 for score in found if score.average == average)


def test_scores_are_those_of_scikit_learn():
    from sklearn.metrics import f1_score

    generator = np.random.default_rng(0)
    right = generator.choice(["a", "b", "c", "d"], 200, p=[0.5, 0.3, 0.15, 0.05]).tolist()
    told = [name if generator.random() < 0.6 else "a" for name in right]
    found = scores(right, told)
    for average in ("micro", "macro", "weighted"):
        assert f1(found, average) == pytest.approx(f1_score(right, told, average=average))
    each = f1_score(right, told, average=None, labels=["a", "b", "c", "d"])
    assert [score.f1 for score in found[3:]] == pytest.approx(each.tolist())
    assert [(score.scene, score.support) for score in found[3:]] == sorted(Counter(right).items())


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
    kept = downsample(scenes, 20, seed=0)
    assert Counter(kept.values()) == {"sea": 20, "road": 20, "room": 10}
    assert [*kept] == [image for image in scenes if image in kept]
    assert all(scenes[image] == name for image, name in kept.items())
    assert downsample(scenes, 20, seed=1) != kept == downsample(scenes, 20, seed=0)


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
    rows, tried = run_probes({0: encodings, 1: noise}, CLASSES, [0.5], [3, 4])
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
