"""A snapshot of a training is a captioner that every part of a config may name."""

import copy
from types import SimpleNamespace

import pytest
from workflow.test_config import CONFIG, ROOT

from captionlab.config.whole import checked
from captionlab.graph.graph import Graph


@pytest.fixture
def config():
    """The example, in which the training of `child` has snapshots and an evaluation names them."""
    config = copy.deepcopy(CONFIG)
    config["captioners"]["child"]["optimizer"] |= {"epochs": 3}
    config["captioners"]["child"]["snapshots"] = [1, 2]
    config["evaluations"]["main"]["captioners"] = ["base", "child@1", "child", "people"]
    return config


def test_a_snapshot_is_as_its_training(config):
    found = checked(config, ROOT)["captioners"]
    for number in (1, 2):
        expected = {key: value for key, value in found["child"].items() if key != "snapshots"}
        assert found[f"child@{number}"] == {**expected, "snapshot": number}


def test_one_job_trains_and_others_take_its_snapshots(config):
    lab = Graph(config, ROOT)
    assert lab.of_kind("captioners", "finetuned").split("|").count("child") == 1
    assert lab.of_kind("captioners", "snapshot") == "child@1|child@2|scened@1"
    job = SimpleNamespace(captioner="child@2")
    assert lab.snapshots_of_training(job) == "results/captioners/child/snapshots"
    assert lab.value("captioner", "snapshot")(job) == 2
    assert lab.captioner_block(SimpleNamespace(captioner="child"))["snapshots"] == [1, 2]


def test_a_training_without_snapshots_depends_on_none(config):
    del config["captioners"]["child"]["snapshots"]
    config["evaluations"]["main"]["captioners"].remove("child@1")
    assert "snapshots" not in Graph(config, ROOT).captioner_block(SimpleNamespace(captioner="child"))


def test_each_of_several_trainings_has_its_snapshots(config):
    config["captioners"]["child"]["seeds"] = [1, 7]
    config["captioners"]["grandchild"] = {**CONFIG["captioners"]["child"], "parent": "child@2", "seeds": [1, 7]}
    config["papers"]["discritune"]["captioners"]["DiscriTune-COCO"] = "child@1"
    lab = Graph(config, ROOT)
    assert lab.evaluations["main"]["captioners"] == ["base", "child@1", "child-7@1", "child", "child-7", "people"]
    assert lab.trainings["child@1"] == ["child@1", "child-7@1"]
    parents = [lab.captioners[name]["parent"] for name in ("grandchild", "grandchild-7")]
    assert parents == ["child@2", "child-7@2"]
    assert [lab.captioners[name]["seed"] for name in ("child@2", "child-7@2")] == [1, 7]
    assert lab.snapshots_of_training(SimpleNamespace(captioner="child-7@2")) == "results/captioners/child-7/snapshots"


def test_adapters_are_read_with_the_parent_of_the_training(config):
    config["captioners"]["child"]["lora"] = {}
    config["captioners"]["on-top"] = {**CONFIG["captioners"]["child"], "parent": "child@1", "lora": {}}
    lab = Graph(config, ROOT)
    assert lab.ancestors("child@1") == ["base"]
    assert lab.ancestors("on-top") == ["child@1", "base"]


def test_a_snapshot_has_a_card_of_its_own_and_its_training_another(config):
    config["evaluations"]["main"]["captioners"].remove("child")
    found = Graph(config, ROOT).documenting
    described = {model["name"]: model for model in found.described_trained()}
    assert described["child@1"]["snapshot_of"] == "child"
    assert described["child"]["snapshot_of"] is None
    assert described["child@1"]["job"] == described["child"]["job"] == "finetune_captioner/child"
    assert "child@2" not in described
    assert "results/captioners/child@1/README.md" in found.cards()
    seeds = found.seeds_of_trainings()
    assert "captioners/child" in seeds
    assert "captioners/child@1" not in seeds


def test_a_training_by_another_seed_is_not_called_as_a_captioner(config):
    """Nor are its snapshots: what is wrong is said once."""
    config["captioners"]["child"]["seeds"] = [1, 7]
    config["captioners"]["child-7"] = CONFIG["captioners"]["child"]
    with pytest.raises(ValueError, match="makes 'child-7', which is in captioners already") as raised:
        checked(config, ROOT)
    assert str(raised.value).count("\n") == 1
