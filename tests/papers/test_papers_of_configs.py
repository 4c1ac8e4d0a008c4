"""What papers ask for by the configs that come with captionlab."""

from pathlib import Path

import pytest
from support.plans import config_of

RETRIEVAL, BASELINES = "discritune_table4_blip_retrieval", "discritune_table8_baselines"
LOOKALIKES = "discritune_table11_lookalikes"


@pytest.mark.parametrize(
    ("names", "tables"),
    [
        (("config", "variants"), {BASELINES, "discritune_table12_hard_distractors"}),
        (("paper", "paper_variants"), {"discritune_table9_rewards", "discritune_table13_hard_distractors"}),
        (("config", "toy_discritune"), {RETRIEVAL, "discritune_table10_camel", LOOKALIKES}),
        (("flickr8k", "domains"), {"discritune_table1_retrieval", LOOKALIKES}),
    ],
)
def test_configs_that_go_on_top_of_another_ask_for_their_tables(planned, names, tables):
    assert tables <= {*planned(config_of(*names)).tables("discritune")}


def test_fluency_is_measured_wherever_the_paper_speaks_of_it(planned):
    """Dessì et al. 2023, appendix B: on every corpus of Table 1; BLIP and CaMEL where they are evaluated."""
    config = config_of("paper")
    measures = planned(config).job("summarise_discritune").inputs["measures"]
    places = {tuple(Path(path).parts[-3:-1]) for path in measures}
    found = {(name, corpus) for name, of in places for corpus in config["evaluations"][of]["corpora"]}
    paper = config["papers"]["discritune"]["corpora"]
    of_table_1 = {paper[label] for label in ("COCO", "ConCap", "Flickr", "nocaps near", "nocaps out", "Concadia")}
    for name in ("clipcap-coco", "discritune-coco", "clipcap-concap", "discritune-concap"):
        assert {corpus for other, corpus in found if other == name} >= of_table_1
    for name in ("discritune-blip", "discritune-camel"):
        own = {corpus for other, corpus in found if other == name}
        parent = config["captioners"][name]["parent"]
        assert own == {corpus for other, corpus in found if other == parent} != set()
    assert not {name for name, _ in found} & {"human", "fc", "vinvl"}


def test_fluency_is_measured_in_the_evaluation_that_is_studied_if_no_other_is_named(planned):
    config = config_of("config")
    assert "fluency" not in config["language"]
    paths = planned(config).job("summarise_discritune").inputs["tokens"]
    assert {Path(path).parts[-2] for path in paths} == {config["language"]["evaluation"]}


def test_every_table_of_the_toy_world_at_once(planned):
    """What is on top hides no evaluation of what is below it."""
    config = config_of("config", "variants", "toy_discritune", "toy_probing")
    assert {RETRIEVAL, BASELINES, LOOKALIKES} <= {*planned(config).tables("discritune")}
    paper = config["papers"]["discritune"]
    ablated = {ablation["evaluation"] for ablation in paper["variants"].values()}
    used = {*paper["evaluations"], *ablated, "study", "probing", "questions", "scenes", "objects"}
    assert used == {*config["evaluations"]}


def test_no_paper_depends_on_sets_of_judgements_that_it_does_not_name(planned):
    plain, judged = config_of("config"), config_of("config")
    judged["judgements"]["mine"] = judged["judgements"]["simulated"]
    jobs, others = (
        {job.rule: job for job in planned(config).jobs if job.rule.partition("_")[0] in ("summarise", "tabulate")}
        for config in (plain, judged)
    )
    assert jobs.keys() == others.keys()
    for paper in plain["papers"]:
        for job in (f"summarise_{paper}", f"tabulate_{paper}"):
            assert jobs.get(job) == others.get(job)


def test_parents_of_a_paper_are_those_of_its_roles_and_their_ancestors(planned):
    config = config_of("config")
    params = planned(config).job("summarise_probing").params
    of_roles, parents = {*params["captioners"]}, params["parents"]
    assert parents == {name: config["captioners"][name].get("parent") for name in parents}
    assert parents.keys() == of_roles | {parent for parent in parents.values() if parent}
