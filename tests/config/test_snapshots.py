"""A snapshot of a training is a captioner that every part of a config may name."""

import copy
from pathlib import Path

import pytest
from graph.test_config import CONFIG, ROOT

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


def test_one_job_trains_and_others_take_its_snapshots(config, planned):
    """The job that takes a snapshot runs for a snapshot that something reads."""
    graph = Graph(copy.deepcopy(config), ROOT)
    assert graph.names_of("captioners", "finetuned").split("|").count("child") == 1
    assert graph.names_of("captioners", "snapshot") == "child@1|child@2|scened@1"
    assert graph.training("child")["snapshots"] == [1, 2]
    plan = planned(config)
    assert (
        plan.job("finetune_captioner", captioner="child").outputs["snapshots"] == "results/captioners/child/snapshots"
    )
    job = plan.job("take_snapshot", training="child")
    assert job.inputs["snapshots"] == "results/captioners/child/snapshots"
    assert job.params["snapshot"] == 1
    assert job.outputs["weights"] == "results/captioners/child@1/model.safetensors"


def test_a_training_without_snapshots_depends_on_none(config):
    del config["captioners"]["child"]["snapshots"]
    config["evaluations"]["main"]["captioners"].remove("child@1")
    assert "snapshots" not in Graph(config, ROOT).training("child")


def test_each_of_several_trainings_has_its_snapshots(config, planned):
    config["captioners"]["child"]["seeds"] = [1, 7]
    config["captioners"]["grandchild"] = {**CONFIG["captioners"]["child"], "parent": "child@2", "seeds": [1, 7]}
    config["papers"]["discritune"]["captioners"]["DiscriTune-COCO"] = "child@1"
    found = checked(copy.deepcopy(config), ROOT)
    captioners, evaluated = found["captioners"], found["evaluations"]["main"]["captioners"]
    assert evaluated == ["base", "child@1", "child-7@1", "child", "child-7", "people"]
    parents = [captioners[name]["parent"] for name in ("grandchild", "grandchild-7")]
    assert parents == ["child@2", "child-7@2"]
    assert [captioners[name]["seed"] for name in ("child@2", "child-7@2")] == [1, 7]
    plan = planned(config, "all", "results/captioners/grandchild-7/model.safetensors")
    assert plan.job("summarise_evaluation").params["trainings"]["child@1"] == ["child@1", "child-7@1"]
    job = plan.job("take_snapshot", training="child-7", snapshot="2")
    assert job.inputs["snapshots"] == "results/captioners/child-7/snapshots"


def test_adapters_are_read_with_the_parent_of_the_training(config):
    config["captioners"]["child"]["lora"] = {}
    config["captioners"]["on-top"] = {**CONFIG["captioners"]["child"], "parent": "child@1", "lora": {}}
    graph = Graph(config, ROOT)
    found = {name: {Path(path).parent.name for path in graph.ancestor_files(name)} for name in ("child@1", "on-top")}
    assert found == {"child@1": {"base"}, "on-top": {"child@1", "base"}}


def test_a_snapshot_has_a_card_of_its_own_and_its_training_another(config, planned):
    config["evaluations"]["main"]["captioners"].remove("child")
    plan = planned(config)
    job = plan.job("write_model_cards")
    described = {model["name"]: model for model in job.params["models"]}
    assert described["child@1"]["snapshot_of"] == "child"
    assert described["child"]["snapshot_of"] is None
    assert described["child@1"]["job"] == described["child"]["job"] == "finetune_captioner/child"
    assert "child@2" not in described
    assert "results/captioners/child@1/README.md" in job.outputs["cards"]
    seeds = plan.job("collect_checklist").params["seeds"]
    assert "captioners/child" in seeds
    assert "captioners/child@1" not in seeds


def test_a_training_by_another_seed_is_not_called_as_a_captioner(config):
    """Nor are its snapshots: what is wrong is said once."""
    config["captioners"]["child"]["seeds"] = [1, 7]
    config["captioners"]["child-7"] = CONFIG["captioners"]["child"]
    with pytest.raises(ValueError, match="makes 'child-7', which is in captioners already") as raised:
        checked(config, ROOT)
    assert str(raised.value).count("\n") == 1
