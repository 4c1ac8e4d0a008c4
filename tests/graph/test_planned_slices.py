"""Slices of evaluations: mistakes in the config, and the jobs that they ask for."""

import copy

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph
from captionlab.storage.files import read_yaml

DEFAULT = read_yaml(ROOT / "config" / "config.yaml")
WEATHER = {"file": "mine.csv", "column": "weather"}
MISTAKES = {
    "a kind of slice that there is not": (["sceen"], "slices.0"),
    "the same slices twice": (["scene", "scene"], "slices"),
    "no list of slices": ("scene", "slices"),
    "no slices": ([], "slices"),
    "a file for slices without a column": ([{"file": "mine.csv"}], "column"),
    "a file for slices with an unknown key": ([{**WEATHER, "separator": ";"}], "separator"),
    "a column for slices that is called scene": ([{**WEATHER, "column": "scene"}], "'scene'"),
    "two files for slices with columns of one name": ([WEATHER, {**WEATHER, "file": "other.csv"}], "'weather'"),
}


def with_slices(slices, **keys):
    config = copy.deepcopy(DEFAULT)
    config["evaluations"]["questions"]["slices"] = slices
    return {**config, **keys}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_name_the_key(answers, mistake):
    slices, names = MISTAKES[mistake]
    with pytest.raises(ConfigError) as error:
        checked(with_slices(slices), ROOT)
    assert "evaluations.questions.slices" in answers.hold(mistake, error.value, names)
    assert len(str(error.value).splitlines()) == 2


def test_a_file_that_is_not_there_is_named_before_any_job(tmp_path, answers):
    with pytest.raises(ConfigError) as error:
        Graph(with_slices(["scene", WEATHER], data=str(tmp_path)), ROOT).check_files()
    answers.hold("no file of slices", error.value, "evaluations.questions.slices.1.file")


def test_slices_that_are_asked_for_are_typed():
    evaluation = Graph(with_slices(["length", WEATHER]), ROOT).settings.evaluations["questions"]
    assert evaluation.slices[0] == "length"
    assert evaluation.slices[1].column == "weather"
    assert Graph(CONFIG, ROOT).settings.evaluations["main"].slices is None
