"""Corpora whose images nobody described: what of a config needs captions is refused, what does not is planned."""

import copy

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

PHOTOS = {"reader": "folder", "images": "photos"}
EVALUATION = {"captioners": ["base"], "decoding": "greedy", "retrievers": ["clip"], "clipscore": ["clip"]}


def config_with(corpora: list[str], **changes: object) -> dict:
    config = copy.deepcopy(CONFIG) | {"spice": "auto"}
    config["corpora"]["mine"] = PHOTOS
    config["evaluations"] = {"one": {**EVALUATION, "candidates": 4, "corpora": corpora, **changes}}
    config |= {section: {} for section in ("judgements", "papers") if section in config}
    for section in ("study", "validity", "scene_analysis", "language"):
        config.pop(section, None)
    return config


def tables(config: dict) -> set[str]:
    return {*Graph(config, ROOT).score_tables()}


def test_scores_against_references_are_not_planned():
    assert tables(config_with(["mine"], diversity=True)) == {"retrieval", "clipscore", "diversity"}
    assert tables(config_with(["world"])) == {"nlg", "spice", "retrieval", "clipscore"}


def test_beside_a_corpus_with_captions_it_alone_is_left_out(planned):
    plan = planned(config_with(["world", "mine"]))
    job = plan.job("score_nlg", evaluation="one")
    assert job.params["corpora"] == ["world"]
    assert job.inputs["references"] == ["results/evaluation/references/world.parquet"]
    assert plan.job("generate_captions", captioner="base").params["corpora"] == ["world", "mine"]
    assert plan.job("summarise_evaluation").params["unreferenced"] == ["mine"]


def test_tars_whose_captions_are_text_files_have_captions(planned):
    config = config_with(["world", "tars"])
    config["corpora"]["tars"] = {"reader": "webdataset", "tars": {"test": "web.tar"}}  # no key says where they are
    plan = planned(config, present=["web.tar"])
    assert plan.job("score_nlg", evaluation="one").params["corpora"] == ["world", "tars"]
    assert plan.job("summarise_evaluation").params["unreferenced"] == []


@pytest.mark.parametrize(("references", "wanted"), [(True, 0), (False, 1)])
def test_commands_that_want_references_are_not_planned(references, wanted):
    config = config_with(["mine"], metrics=["theirs"])
    config["metrics"] = {"theirs": {"command": "score", "scale": 1, "references": references}}
    assert len(Graph(config, ROOT).score_tables().get("command", [])) == wanted


@pytest.mark.parametrize(
    ("given", "change", "names"),
    [
        ("a captioner that learns from it", ("captioners", "base", "corpus"), "captioners.base: the corpus 'mine'"),
        ("a scorer that learns from it", ("scorers", "ours", "corpus"), "scorers.ours: the corpus 'mine'"),
    ],
)
def test_nothing_learns_from_it(answers, given, change, names):
    config = copy.deepcopy(CONFIG)
    config["corpora"]["mine"] = PHOTOS
    section, name, key = change
    config[section][name][key] = "mine"
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    answers.hold(given, raised.value, names)


def test_people_have_no_captions_of_it(answers):
    with pytest.raises(ConfigError) as raised:
        checked(config_with(["mine"], captioners=["people"]), ROOT)
    answers.hold("human captions of images that nobody described", raised.value, "'people'")
