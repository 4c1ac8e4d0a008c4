"""Lists of categories of objects that evaluations name: which file a job reads, and what is said where none is."""

import copy

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

TABLE = "results/evaluation/base/main/chair.parquet"
GIVEN = {"family": "file", "captions": {"world": "mine.json"}}


def config_with(objects):
    config = copy.deepcopy(CONFIG)
    config["evaluations"]["main"]["objects"] = objects
    return config


def graph_of(tmp_path, config):
    return Graph({**config, "data": str(tmp_path)}, ROOT)


def test_a_list_is_a_file_that_comes_with_captionlab_or_one_of_the_data(planned):
    plans = {objects: planned(config_with(objects), TABLE) for objects in ("coco", "toyworld", "mine/things.yaml")}
    read = {objects: plan.job("score_captions").inputs["categories"] for objects, plan in plans.items()}
    assert read == {
        "coco": [f"{ROOT}/resources/categories/coco.yaml"],
        "toyworld": [f"{ROOT}/resources/toyworld/objects.yaml"],
        "mine/things.yaml": [f"{plans['mine/things.yaml'].data}/mine/things.yaml"],
    }


def test_only_an_evaluation_that_names_a_list_is_scored(tmp_path):
    assert "chair" not in graph_of(tmp_path, copy.deepcopy(CONFIG)).score_tables()
    tables = graph_of(tmp_path, config_with("toyworld")).score_tables()["chair"]
    assert {table.split("/")[3] for table in tables} == {"main"}
    assert TABLE in tables
    assert not any("/people/" in table for table in tables)


def test_a_list_that_is_not_there(tmp_path, answers):
    with pytest.raises(ConfigError) as raised:
        graph_of(tmp_path, config_with("cocos")).check_files()
    answers.hold("`objects: cocos`, a list of categories that there is not", raised.value, "evaluations.main.objects")
    with pytest.raises(ConfigError) as raised:
        graph_of(tmp_path, config_with("coco")).check_files()
    assert "objects" not in str(raised.value)


def test_a_file_that_is_called_as_a_list_that_comes_with_captionlab(tmp_path, answers):
    toy = {"seed": 1, "corpora": {"world": CONFIG["corpora"]["world"]}, "captioners": {"mine": GIVEN}}
    toy["evaluations"] = {"main": {"captioners": ["mine"], "corpora": ["world"], "objects": "coco"}}
    (tmp_path / "mine.json").write_text("{}")
    graph_of(tmp_path, copy.deepcopy(toy)).check_files()
    (tmp_path / "coco").write_text("categories: {dog: [puppy]}")
    with pytest.raises(ConfigError) as raised:
        graph_of(tmp_path, toy).check_files()
    answers.hold("`objects: coco` with a file `coco` below the data", raised.value, "rename this file")


def test_a_list_of_judgements_that_is_not_there(tmp_path, answers):
    sets = {"judged": {"reader": "simulated", "corpus": "world", "images": 2, "objects": "cocos"}}
    with pytest.raises(ConfigError) as raised:
        graph_of(tmp_path, {**copy.deepcopy(CONFIG), "judgements": sets}).check_files()
    answers.hold("`objects: cocos` of a set of judgements", raised.value, "judgements.judged.objects")


def test_a_list_must_be_named(answers):
    with pytest.raises(ConfigError) as raised:
        checked(config_with(["coco"]), ROOT)
    answers.hold("`objects: [coco]`", raised.value, "evaluations.main.objects")
