"""Lists of categories of objects that evaluations name: which file a job reads, and what is said where none is."""

import copy

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph


def experiments(tmp_path, objects):
    config = copy.deepcopy(CONFIG)
    config["evaluations"]["main"]["objects"] = objects
    return Graph({**config, "data": str(tmp_path)}, ROOT)


def categories(lab):
    return lab.metrics.categories("main")


def test_a_list_is_a_file_that_comes_with_captionlab_or_one_of_the_data(tmp_path):
    assert categories(experiments(tmp_path, "coco")) == f"{ROOT}/resources/categories/coco.yaml"
    assert categories(experiments(tmp_path, "toyworld")) == f"{ROOT}/resources/toyworld/objects.yaml"
    assert categories(experiments(tmp_path, "mine/things.yaml")) == f"{tmp_path}/mine/things.yaml"


def test_only_an_evaluation_that_names_a_list_is_scored(tmp_path):
    assert "chair" not in Graph(copy.deepcopy(CONFIG), ROOT).score_tables()
    tables = experiments(tmp_path, "toyworld").score_tables()["chair"]
    assert {table.split("/")[3] for table in tables} == {"main"}
    assert "results/evaluation/base/main/chair.parquet" in tables
    assert not any("/people/" in table for table in tables)


def test_a_list_that_is_not_there(tmp_path, answers):
    with pytest.raises(ConfigError) as raised:
        experiments(tmp_path, "cocos").check_files()
    answers.hold("`objects: cocos`, a list of categories that there is not", raised.value, "evaluations.main.objects")
    with pytest.raises(ConfigError) as raised:
        experiments(tmp_path, "coco").check_files()
    assert "objects" not in str(raised.value)


def test_a_file_that_is_called_as_a_list_that_comes_with_captionlab(tmp_path, answers):
    lab = experiments(tmp_path, "coco")
    assert [*lab.metrics.taken_categories()] == []
    (tmp_path / "coco").write_text("categories: {dog: [puppy]}")
    (said,) = lab.metrics.taken_categories()
    answers.hold("`objects: coco` with a file `coco` below the data", said, "rename this file")


def test_a_list_of_judgements_that_is_not_there(tmp_path, answers):
    sets = {"judged": {"reader": "simulated", "corpus": "world", "images": 2, "objects": "cocos"}}
    lab = Graph({**copy.deepcopy(CONFIG), "judgements": sets, "data": str(tmp_path)}, ROOT)
    with pytest.raises(ConfigError) as raised:
        lab.check_files()
    answers.hold("`objects: cocos` of a set of judgements", raised.value, "judgements.judged.objects")


def test_a_list_must_be_named(tmp_path, answers):
    with pytest.raises(ConfigError) as raised:
        experiments(tmp_path, ["coco"])
    answers.hold("`objects: [coco]`", raised.value, "evaluations.main.objects")
