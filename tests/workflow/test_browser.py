"""The results browser in the graph: what it reads, which words are known to whom, and that tables wait for it."""

from copy import deepcopy
from pathlib import Path

import pytest

from captionlab import paths
from captionlab.files import read_yaml
from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def config():
    return read_yaml(ROOT / "config" / "config.yaml")


def test_it_reads_every_scored_caption_with_its_scores(config):
    lab = Graph(deepcopy(config), ROOT)
    inputs, params = lab.browser.inputs(), lab.browser.params()
    main = config["evaluations"]["main"]
    for captioner in main["captioners"]:
        assert paths.captions(captioner, "main") in inputs["captions"]
        assert paths.evaluation("retrieval", captioner, "main") in inputs["retrieval"]
    assert not [path for path in inputs["captions"] if "toy-constructed" in path or "simulated" in path]
    assert {*params["tables"]} <= inputs.keys()
    assert params["evaluations"]["main"]["captioners"] == main["captioners"]
    assert {*main["corpora"]} <= {*params["corpora"]}
    for name in ("images", "captions_of_corpora", "objects", "scenes"):
        assert [Path(path).parent.name for path in inputs[name]] == params["corpora"]
    assert [Path(path).parent.name for path in inputs["training_captions"]] == params["training"]


def test_words_are_known_of_captioners_that_were_trained_here(config):
    captioners = Graph(deepcopy(config), ROOT).browser.captioners()
    assert captioners["toy-fc-uniter"] == {"parent": "toy-fc", "family": "newfc", "trained": ["toy-coco"]}
    # Its parent came from elsewhere, so nobody knows all that it learned from.
    assert captioners["toy-discritune-concap"]["trained"] == []
    assert captioners["toy-discritune-concap"]["parent"] == "toy-clipcap-concap"
    assert captioners["human"] == {"parent": None, "family": "human", "trained": []}


def test_candidates_are_drawn_by_the_seed_only_where_they_are_random(config):
    changed = deepcopy(config)
    changed["seed"] = 5
    changed["evaluations"]["study"]["candidate_sets"] = "random"
    evaluations = Graph(changed, ROOT).browser.evaluations()
    assert (evaluations["main"]["seed"], evaluations["study"]["seed"]) == (0, 5)
