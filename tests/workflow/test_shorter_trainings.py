"""A training that passes through the weights of another one goes on from it."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from captionlab import paths
from captionlab.workflow.experiments import Experiments

ROOT = Path(__file__).parents[2]
TOY = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))


def shorter(config):
    """Of each captioner that is trained further than another one, that one."""
    lab = Experiments(config, ROOT)
    names = [name for name, block in lab.captioners.items() if "optimizer" in block]
    found = {name: lab.shorter_training(SimpleNamespace(captioner=name)) for name in names}
    assert all(len(files) < 2 for files in found.values())
    assert all(file.flags == {"ancient": True} for files in found.values() for file in files)
    named = {paths.captioner("model.safetensors", name): name for name in names}
    return {name: named[files[0]] for name, files in found.items() if files}


def test_the_toy_worlds_trainings_on_scenes_are_one():
    trainings = [f"toy-scened-{epochs}" for epochs in (2, 4, 6, 8, 10)]
    assert shorter(TOY) == dict(zip(trainings[1:], trainings[:-1], strict=True))


def test_each_seed_goes_on_from_its_own():
    config = {**TOY, "captioners": {**TOY["captioners"]}}
    for epochs in (2, 4):
        name = f"toy-scened-{epochs}"
        config["captioners"][name] = {**TOY["captioners"][name], "seeds": [1, 2]}
    found = shorter(config)
    assert len({name for name in found if name.startswith("toy-scened-4")}) == 2
    for name, other in found.items():
        if name.startswith("toy-scened-4"):
            assert other == name.replace("scened-4", "scened-2")


@pytest.mark.parametrize(
    "change",
    [{"seed": 7}, {"parent": "toy-scened-10"}, {"objective": {"kind": "mlm"}}, {"optimizer": {"lr": 0.5}}],
    ids=lambda change: next(iter(change)),
)
def test_another_training_is_none_to_go_on_from(change):
    config = {**TOY, "captioners": {**TOY["captioners"]}}
    block = TOY["captioners"]["toy-scened-4"]
    more = {"optimizer": {**block["optimizer"], **change["optimizer"]}} if "optimizer" in change else change
    config["captioners"]["toy-scened-4"] = {**block, **more}
    found = shorter(config)
    assert "toy-scened-4" not in found
    assert found["toy-scened-6"] == "toy-scened-2"
