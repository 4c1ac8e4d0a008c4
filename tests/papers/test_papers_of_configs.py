"""What papers ask for by the configs that come with captionlab."""

import copy
from pathlib import Path

import pytest
from captionlab.papers.discritune.paper import Discritune
from workflow.test_config import ROOT, shipped, stacked
from workflow.test_judgement_sets import TOY

from captionlab.papers import PAPERS, paper_class
from captionlab.graph.graph import Graph


@pytest.mark.parametrize(
    ("on_top", "tables"),
    [
        ("variants", {"discritune_table8_baselines", "discritune_table12_hard_distractors"}),
        ("paper_variants", {"discritune_table9_rewards", "discritune_table13_hard_distractors"}),
        (
            "toy_discritune",
            {"discritune_table4_blip_retrieval", "discritune_table10_camel", "discritune_table11_lookalikes"},
        ),
        ("domains", {"discritune_table1_retrieval", "discritune_table11_lookalikes"}),
    ],
)
def test_configs_that_go_on_top_of_another_ask_for_their_tables(on_top, tables):
    assert tables <= {*Discritune(Graph(shipped(on_top), ROOT)).tables()}


def test_fluency_is_measured_wherever_the_paper_speaks_of_it():
    """Dessì et al. 2023, appendix B: on every corpus of Table 1; BLIP and CaMEL where they are evaluated."""
    config = shipped("paper")
    lab = Graph(config, ROOT)
    places = {tuple(Path(path).parts[-3:-1]) for path in Discritune(lab).summarised().inputs["measures"]}
    found = {(name, corpus) for name, of in places for corpus in lab.evaluations[of]["corpora"]}
    paper = config["papers"]["discritune"]["corpora"]
    of_table_1 = {paper[label] for label in ("COCO", "ConCap", "Flickr", "nocaps near", "nocaps out", "Concadia")}
    for name in ("clipcap-coco", "discritune-coco", "clipcap-concap", "discritune-concap"):
        assert {corpus for other, corpus in found if other == name} >= of_table_1
    for name in ("discritune-blip", "discritune-camel"):
        own = {corpus for other, corpus in found if other == name}
        assert own == {corpus for other, corpus in found if other == lab.captioners[name]["parent"]} != set()
    assert not {name for name, _ in found} & {"human", "fc", "vinvl"}
    # Without the key they are those of the evaluation that is studied.
    del config["language"]["fluency"]
    paths = Discritune(Graph(config, ROOT)).summarised().inputs["tokens"]
    assert {Path(path).parts[-2] for path in paths} == {"concap"}


def test_every_table_of_the_toy_world_at_once():
    """What is on top hides no evaluation of what is below it."""
    config = stacked([f"config/{name}.yaml" for name in ("config", "variants", "toy_discritune", "toy_probing")])
    assert {*Discritune(Graph(config, ROOT)).tables()} >= {
        "discritune_table4_blip_retrieval",
        "discritune_table8_baselines",
        "discritune_table11_lookalikes",
    }
    paper = config["papers"]["discritune"]
    ablated = {ablation["evaluation"] for ablation in paper["variants"].values()}
    used = {*paper["evaluations"], *ablated, "study", "probing", "scenes", "objects"}
    assert used == {*config["evaluations"]}


def test_no_paper_depends_on_sets_of_judgements_that_it_does_not_name():
    sets = TOY["judgements"]
    added = {**sets, "mine": next(iter(sets.values()))}
    plain, judged = (Graph({**copy.deepcopy(TOY), "judgements": of}, ROOT) for of in (sets, added))
    compared = 0
    for name in PAPERS:
        papers = [paper_class(name)(lab) for lab in (plain, judged)]
        for needs in ("summarised", "tabulated"):
            first, second = (getattr(paper, needs)() if paper.block else None for paper in papers)
            compared += first is not None
            assert second == first, (name, needs)
    assert compared > 3


def test_parents_of_a_paper_are_those_of_its_roles_and_their_ancestors():
    lab = Graph(copy.deepcopy(TOY), ROOT)
    asked = paper_class("probing")(lab).summarised()
    of_roles, parents = {*asked.params["captioners"]}, asked.params["parents"]
    assert parents == {name: lab.captioners[name].get("parent") for name in parents}
    assert parents.keys() == of_roles | {parent for parent in parents.values() if parent}
