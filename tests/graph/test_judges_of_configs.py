"""Judges: what is asked of a config, and what their jobs read and depend on."""

import copy

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.judges import JUDGES
from captionlab.config.model import IdleMark
from captionlab.config.served import Served
from captionlab.config.walking import type_of
from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

CLAIR = {"kind": "clair", "model": "large"}
FLEUR = {"kind": "fleur", "model": "large-vl"}
RUBRIC = {"kind": "rubric", "model": "large-vl", "template": "rubric.txt", "answer": {"score": [1, 5]}}
IDLE = {key for key, field in Served.model_fields.items() if type_of(field).has(IdleMark)}


def config(**judges):
    found = copy.deepcopy(CONFIG)
    found["judges"] = judges
    found["evaluations"]["main"]["judges"] = list(judges)
    return found


@pytest.mark.parametrize(
    ("block", "names"),
    [
        ({"kind": "clair"}, "judges.it lacks the key model"),
        ({"kind": "clare", "model": "m"}, "judges.it.kind is 'clare'"),
        ({**CLAIR, "image_size": 9}, "judges.it has no key 'image_size'"),
        ({**FLEUR, "structured": False}, "judges.it has no key 'structured'"),
        ({**RUBRIC, "answer": {}}, "judges.it.answer must have either score or choices"),
        ({**RUBRIC, "answer": {"score": [1, 5], "choices": {"a": 1, "b": 2}}}, "must have either score or choices"),
        ({**RUBRIC, "answer": {"score": [5, 1]}}, "judges.it.answer.score is [5.0, 1.0]"),
        ({**RUBRIC, "answer": {"score": [5]}}, "judges.it.answer.score"),
        ({**RUBRIC, "answer": {"choices": {"a": 1}}}, "judges.it.answer.choices"),
        ({**RUBRIC, "answer": {"choices": {"a": 1, "b": 1}}}, "judges.it.answer.choices have one score"),
        ({**RUBRIC, "answer": {"choices": {True: 1, False: 0}}}, "judges.it.answer.choices has words"),
        ({**CLAIR, "budget": 3}, "judges.it.budget needs a price"),
        ({**CLAIR, "api_key_variable": "sk-123"}, "must be the name of an environment variable"),
    ],
)
def test_a_mistake_is_a_sentence(block, names, answers):
    with pytest.raises(ConfigError) as raised:
        checked(config(it=block), ROOT)
    answers.hold(f"judges.it: `{block}`", raised.value, names)
    assert "sk-123" not in str(raised.value)


def test_names_of_judges(answers):
    with pytest.raises(ConfigError) as raised:
        checked(config(length=CLAIR), ROOT)
    answers.hold("judges: `length`", raised.value, "judges.length is called as a metric of captionlab")
    both = {**config(words=CLAIR), "metrics": {"words": {"command": "count"}}}
    with pytest.raises(ConfigError) as raised:
        checked(both, ROOT)
    answers.hold("judges and metrics: `words`", raised.value, "judges.words and metrics.words have one name")
    asking = config(clair=CLAIR)
    asking["evaluations"]["main"]["judges"] = ["clare"]
    with pytest.raises(ConfigError) as raised:
        checked(asking, ROOT)
    answers.hold("evaluations.main.judges: `[clare]`", raised.value, "did you mean 'clair'?")
    asking["evaluations"]["main"] |= {"judges": [], "metrics": ["clair"]}
    with pytest.raises(ConfigError) as raised:
        checked(asking, ROOT)
    answers.hold("evaluations.main.metrics: `[clair]`, a judge", raised.value, "asked for by the key `judges`")


def test_references_and_images_must_be_there(answers):
    asking = config(clair=CLAIR)
    asking["corpora"]["own"] = {"reader": "folder", "images": "photos", "captions": None}
    asking["evaluations"]["seen"] = {"captioners": ["base"], "corpora": ["own"], "decoding": "beam5", "judges": []}
    asking["decodings"]["beam5"] = {"kind": "beam", "beams": 5, "max_tokens": 10}
    checked(asking, ROOT)
    asking["evaluations"]["seen"]["judges"] = ["clair"]
    with pytest.raises(ConfigError) as raised:
        checked(asking, ROOT)
    answers.hold("CLAIR on `captions: null`", raised.value, "evaluations.seen.judges: 'clair' compares captions")
    blind = config(fleur=FLEUR)
    blind["captioners"]["given"] = {"family": "file", "captions": {"texts": "given.json"}}
    blind["evaluations"]["read"] = {"captioners": ["given"], "corpora": ["texts"], "judges": ["fleur"]}
    with pytest.raises(ConfigError) as raised:
        checked(blind, ROOT)
    answers.hold("FLEUR on `images: null`", raised.value, "evaluations.read.judges: 'fleur' looks at images")


def test_a_template_must_be_there(tmp_path, answers):
    graph = Graph({**config(mine=RUBRIC), "data": str(tmp_path)}, ROOT)
    with pytest.raises(ConfigError) as raised:
        graph.check_files()
    answers.hold("judges.mine.template: no such file", raised.value, "judges.mine.template")


def test_each_judge_has_a_table_and_human_captions_where_it_reads_no_references(planned):
    plan = planned(config(clair=CLAIR, fleur=FLEUR, mine={**RUBRIC, "references": True}))
    job = plan.job("summarise_evaluation")
    place = "results/evaluation/{}/main/judge-{}.parquet"
    expected = [place.format(name, judge) for name in ("base", "child") for judge in ("clair", "fleur", "mine")]
    assert sorted(job.inputs["judge"]) == sorted([*expected, place.format("people", "fleur")])
    of_judges = [
        {name: value for name, value in job.params[key].items() if name.startswith("judges.")}
        for key in ("factors", "bounds")
    ]
    assert of_judges == [
        {"judges.clair": 100.0, "judges.fleur": 100.0, "judges.mine": 1.0},
        {"judges.clair": (0.0, 100.0), "judges.fleur": (0.0, 100.0), "judges.mine": (1.0, 5.0)},
    ]
    clair, fleur, mine = (
        plan.job("score_by_judge", judge=name, captioner="base") for name in ("clair", "fleur", "mine")
    )
    assert clair.inputs["captions_of_corpora"] == mine.inputs["captions_of_corpora"] != []
    assert fleur.inputs["captions_of_corpora"] == clair.inputs["template"] == []
    assert mine.inputs["template"] == [f"{plan.data}/rubric.txt"]
    assert {*mine.params["versions"]} == {"pillow", "jinja2", "jsonschema"}


@pytest.mark.parametrize("kind", JUDGES)
def test_every_key_that_scores_depend_on_is_a_parameter(kind, planned):
    """Keys of transport are not, and the template is an input."""
    others = {"url": "http://other/v1", "api_key_variable": "MY_KEY", "price": {"input": 1, "output": 2}, "budget": 9}
    others |= {"concurrency": 1, "timeout": 5, "retries": 0, "max_failed": 0.5}
    assert {*others} == IDLE
    block = {"clair": CLAIR, "fleur": FLEUR, "rubric": RUBRIC}[kind] | {"parameters": {"top_k": 3}}
    plain, moved = (
        planned(config(it=one)).job("score_by_judge", captioner="base").params["settings"]
        for one in (block, {**block, **others})
    )
    assert plain == moved
    assert {*plain} == JUDGES[kind].model_fields.keys() - {*IDLE, "template"}
