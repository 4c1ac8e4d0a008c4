"""An evaluation with AMBER's measures: the files that a job reads, and what is said of what is missing."""

import copy

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

TABLE = "results/evaluation/base/main/amber.parquet"
FILES = {"annotations": "amber/annotations.json", "relation": "amber/relation.json"}


def config_with(**keys):
    config = copy.deepcopy(CONFIG)
    config["evaluations"]["main"]["amber"] = {**FILES, **keys}
    return config


def test_files_and_the_tags_are_inputs(planned):
    plan = planned(config_with(safe_words="amber/safe_words.txt"), TABLE)
    job = plan.job("score_captions")
    named = {**FILES, "safe_words": "amber/safe_words.txt"}
    assert {key: job.inputs[key] for key in named} == {key: f"{plan.data}/{path}" for key, path in named.items()}
    assert job.inputs["tags"] == "results/language/base/main/tags.parquet"
    assert job.params["settings"] == {"amber": named}
    assert "safe_words" not in planned(config_with(), TABLE).job("score_captions").inputs


def test_missing_files_and_models(tmp_path, answers):
    with pytest.raises(ConfigError) as raised:
        Graph({**config_with(vectors="en_core_web_none"), "data": str(tmp_path)}, ROOT).check_files()
    lines = [line for line in str(raised.value).splitlines() if "amber" in line]
    assert len(lines) == 3
    answers.hold("files of AMBER that are not there", "\n".join(lines), "evaluations.main.amber.annotations")
    assert "evaluations.main.amber.vectors: the spaCy model 'en_core_web_none' is not installed" in lines[-1]


def test_a_key_is_missing(answers):
    config = config_with()
    del config["evaluations"]["main"]["amber"]["relation"]
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    answers.hold("`amber` without `relation`", raised.value, "evaluations.main.amber")
