"""Corpora whose images nobody described: what of a config needs captions is refused, what does not is planned."""

import copy
from types import SimpleNamespace

import pytest
from test_config import CONFIG, ROOT

from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph

PHOTOS = {"reader": "folder", "images": "photos"}
EVALUATION = {"captioners": ["base"], "decoding": "greedy", "retrievers": ["clip"], "clipscore": ["clip"]}


def experiments(corpora: list[str], **changes: object) -> Experiments:
    config = copy.deepcopy(CONFIG) | {"spice": "auto"}
    config["corpora"]["mine"] = PHOTOS
    config["evaluations"] = {"one": {**EVALUATION, "candidates": 4, "corpora": corpora, **changes}}
    config |= {section: {} for section in ("judgements", "papers") if section in config}
    for section in ("study", "validity", "scene_analysis", "language"):
        config.pop(section, None)
    return Graph(config, ROOT)


def test_scores_against_references_are_not_planned():
    assert {*experiments(["mine"], diversity=True).score_tables()} == {"retrieval", "clipscore", "diversity"}
    assert {*experiments(["world"]).score_tables()} == {"nlg", "spice", "retrieval", "clipscore"}


def test_beside_a_corpus_with_captions_it_alone_is_left_out():
    lab, job = experiments(["world", "mine"]), SimpleNamespace(evaluation="one")
    assert "nlg" in lab.score_tables()
    assert lab.evaluated_corpora(job) == ["world", "mine"]
    assert lab.referenced_corpora(job) == ["world"]
    assert lab.unreferenced() == ["mine"]


def test_commands_that_want_references_are_not_planned():
    block = {"command": "score", "scale": 1}
    for references, wanted in ((True, 0), (False, 1)):
        config = copy.deepcopy(CONFIG)
        config["corpora"]["mine"] = PHOTOS
        config["metrics"] = {"theirs": {**block, "references": references}}
        config["evaluations"] = {"one": {**EVALUATION, "corpora": ["mine"], "candidates": 4, "metrics": ["theirs"]}}
        for section in ("study", "validity", "scene_analysis", "language"):
            config.pop(section, None)
        config |= {section: {} for section in ("judgements", "papers") if section in config}
        assert len(Graph(config, ROOT).commands.scored()) == wanted


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
        Graph(config, ROOT)
    answers.hold(given, raised.value, names)


def test_people_have_no_captions_of_it(answers):
    with pytest.raises(ConfigError) as raised:
        experiments(["mine"], captioners=["people"])
    answers.hold("human captions of images that nobody described", raised.value, "'people'")
