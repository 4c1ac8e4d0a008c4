"""Sets of questions in a config: what jobs read of them, and what is wrong with them."""

import copy

import pytest
import yaml
from support.plans import ROOT

from captionlab.config.families import question_readers
from captionlab.config.plugins import plugin_models
from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

EVERY = yaml.safe_load((ROOT / "tests" / "graph" / "every_kind.yaml").read_text(encoding="utf-8"))


def test_files_of_a_reader_are_keys_of_its_block():
    for name, model in plugin_models("questions.readers").items():
        assert {*question_readers()[name].files} <= model.model_fields.keys()


def test_a_metric_and_a_reward_read_the_questions_and_the_answerer(planned):
    plan = planned(EVERY, present=["web.tar", "hub/test.parquet"])
    tables = [f"results/questions/{name}/toy.parquet" for name in ("rendered", "lines")]
    job = plan.job("score_captions", captioner="tuned", evaluation="main", table="questions")
    assert job.inputs["questions"] == tables
    assert job.params["settings"] == {
        "questions": {
            "rendered": {"corpora": ["toy"], "answerer": {"kind": "toyworld"}},
            "lines": {"corpora": ["toy"], "answerer": {"kind": "extractive"}},
        }
    }
    reading = plan.job("read_questions", questions="rendered", corpus="toy")
    assert reading.params["config"] == {"reader": "toyworld", "seed": 1}


def test_a_training_asks_the_questions_of_its_corpus():
    graph = Graph(copy.deepcopy(EVERY), ROOT)
    assert graph.reward_models("grouped") == {
        "questions/rendered": {
            "table": "results/questions/rendered/toy.parquet", "answerer": {"kind": "toyworld"}, "features": [],
        }
    }  # fmt: skip
    assert "captionlab.questions.answerers.toyworld.answerer" in graph.modules("training", "grouped")
    assert "captionlab.training.rewards.questions.reward" in graph.modules("training", "grouped")


def test_judged_captions_are_asked_about_the_images_of_their_corpus(planned):
    config = copy.deepcopy(EVERY)
    config["judgements"]["simulated"]["questions"] = ["rendered"]
    config["questions"]["rendered"]["corpora"] = ["toy", "scenes"]
    plan = planned(config, present=["web.tar", "hub/test.parquet"])
    job = plan.job("score_captions", captioner="simulated", table="questions")
    assert job.inputs["questions"] == ["results/questions/rendered/toy.parquet"]
    assert job.params["settings"]["questions"]["rendered"]["corpora"] == ["simulated"]
    assert [job.wildcards["corpus"] for job in plan.jobs if job.rule == "read_questions"] == ["toy"] * 2


def changed(**blocks):
    config = copy.deepcopy(EVERY)
    for name, block in blocks.items():
        config["questions"][name] |= block
    return config


@pytest.mark.parametrize(
    ("blocks", "sentence"),
    [
        ({"rendered": {"corpora": ["toi"]}}, "questions.rendered.corpora.0 is 'toi', which is not among the corpora"),
        ({"rendered": {"corpora": []}}, "questions.rendered.corpora"),
        ({"rendered": {"corpora": ["toy", "coco"]}}, "questions.rendered.reader is 'toyworld'"),
        ({"lines": {"answerer": {"kind": "toyworld"}}}, "questions.lines.answerer.kind is 'toyworld'"),
        ({"lines": {"answerer": {"kind": "oracle"}}}, "questions.lines.answerer.kind"),
        ({"lines": {"corpora": ["scenes"]}}, "evaluations.main: questions.lines.corpora is scenes, without toy"),
        ({"rendered": {"corpora": ["scenes"]}}, "captioners.grouped.objective.reward: questions.rendered.corpora is"),
    ],
)
def test_mistakes(blocks, sentence):
    with pytest.raises(ConfigError) as error:
        checked(changed(**blocks), ROOT)
    assert sentence in str(error.value)


def test_an_unknown_set_is_named():
    config = changed()
    config["evaluations"]["main"]["questions"] = ["renderd"]
    with pytest.raises(ConfigError, match=r"evaluations\.main\.questions.*'renderd'.*did you mean 'rendered'"):
        checked(config, ROOT)


def test_a_missing_file_is_named(tmp_path):
    config = {**changed(), "data": str(tmp_path)}
    with pytest.raises(ConfigError, match=r"questions\.lines\.annotations: no such file"):
        Graph(config, ROOT).check_files()
