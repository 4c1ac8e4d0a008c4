"""The key `limit`: N images of each split, and a config that fits them."""

import copy

import pytest
from support.plans import ROOT, config_of

from captionlab.config.references import reference_mistakes
from captionlab.graph.graph import Graph
from captionlab.graph.limit import cuts


def limited(limit, *names, change=lambda config: None):
    config = copy.deepcopy(config_of(*names))
    change(config)
    return Graph({**config, "limit": limit}, ROOT)


@pytest.mark.parametrize("limit", [2, 7, 20, 130, 100_000])
@pytest.mark.parametrize(
    "names",
    [("config",), ("config", "variants"), ("paper",), ("paper", "paper_variants"), ("flickr8k",), ("judgements",)],
)
def test_a_limited_config_has_no_mistake(limit, names):
    graph = limited(limit, *names)
    assert [*reference_mistakes(graph.config)] == []
    for corpus in graph.config["corpora"].values():
        if corpus["reader"] == "toyworld":
            assert max(corpus["images"].values()) <= limit


def test_without_a_limit_nothing_changes():
    graph, plain = limited(None, "config"), Graph(config_of("config"), ROOT)
    assert graph.cuts == []
    assert graph.config == plain.config
    assert "caveats" not in graph.provenance()
    assert "limit" not in graph.block("corpora", "toy-coco")


def test_what_is_cut_is_said_and_in_the_title():
    graph = limited(20, "config")
    assert graph.provenance()["caveats"] == ["limited to 20 images of each split"]
    assert "evaluations.main.candidates is 20 in place of 100" in graph.cuts
    assert {"study is left out", "scene_analysis is left out"} <= {*graph.cuts}
    assert [*cuts(config_of("config"), config_of("config"))] == []


def test_readers_get_the_limit():
    assert limited(20, "paper").block("corpora", "coco")["limit"] == 20


def test_hard_negatives_and_sets_of_look_alikes_still_fit():
    def change(config):
        reward = config["captioners"]["toy-discritune-coco"]["objective"]["reward"]
        reward |= {"candidates": 60, "hard_negatives": 10}
        config["corpora"]["alike"] = {
            "reader": "toyworld", "domain": "lookalike", "seed": 1, "images": {"test": 200},
        }  # fmt: skip

    graph = limited(25, "config", change=change)
    block = graph.config["captioners"]["toy-discritune-coco"]
    reward, batch = block["objective"]["reward"], block["optimizer"]["batch"]
    assert batch % (reward["candidates"] - reward["hard_negatives"]) == 0
    assert batch <= 25
    assert graph.config["corpora"]["alike"]["images"] == {"test": 30}


def test_bags_of_look_alikes_are_cut_to_a_batch():
    graph = limited(7, "config", "toy_d3")
    assert [*reference_mistakes(graph.config)] == []
    bags = graph.config["captioners"]["toy-d3-coco"]["objective"]["bags"]
    assert [one["size"] for one in bags["sizes"]] == [2, 5, 7]
    assert graph.config["evaluations"]["d3"]["bags"]["sizes"] == [3, 5, 7]


def test_a_study_is_kept_if_there_are_images_for_it():
    study = limited(120, "config").config["study"]
    assert study["sets"] % study["block"] == 0
    assert 10 * study["sets"] < 120


def test_jobs_have_other_parameters_with_a_limit_and_the_same_without(planned):
    whole, same = planned(config_of("config")), planned({**config_of("config"), "limit": None})
    few = planned({**config_of("config"), "limit": 20})
    for job in whole.jobs:
        (other,) = [one for one in same.of(job.rule) if one.wildcards == job.wildcards]
        assert {**job.params, "data": ""} == {**other.params, "data": ""}, job.rule
    for corpus in ("toy-coco", "toy-scenes"):
        before, after = (plan.job("render_toyworld", corpus=corpus).params for plan in (whole, few))
        assert before != after
    titled = few.job("collect_evaluation").params["provenance"]
    assert titled["caveats"] == ["limited to 20 images of each split"]
