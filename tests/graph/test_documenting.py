"""What is told of a run: the models that its jobs make and no others, and what invalidates a card."""

import copy

from graph.test_config import CONFIG
from support.plans import ROOT, config_of

from captionlab.graph.graph import Graph

NAME = "toy-discritune-coco"


def cards(plan):
    return {path for job in plan.of("write_model_cards") for path in job.outputs["cards"]}


def described(config, **options):
    """What is said of each model, by section and name."""
    models = Graph(config, ROOT).described_models(**options)
    return {(model["section"], model["name"]): model for model in models}


def test_every_model_that_is_trained_has_a_card_beside_its_weights(planned):
    """The trained ones of the default config are captioners."""
    config = config_of("config")
    blocks = config["captioners"]
    made = {f"captioners/{n}" for n, block in blocks.items() if "objective" in block}
    made |= {f"captioners/{n}@{number}" for n, block in blocks.items() for number in block.get("snapshots", [])}
    plan = planned(config)
    assert cards(plan) == {f"results/{name}/README.md" for name in made}


def test_nothing_is_left_to_do_when_the_tables_are_made(planned):
    """So `./lab status`, which plans the rule `all`, is clean after the target that the pages print."""
    config = config_of("config")
    of_tables, of_all = planned(config, "results/tables"), planned(config)
    assert of_all.rules() - of_tables.rules() == {"all"}
    assert len(of_all.jobs) == len(of_tables.jobs) + 1


def test_what_nobody_asks_for_has_no_card_and_is_not_trained_for_one():
    config = config_of("config")
    config["captioners"]["idle"] = copy.deepcopy(config["captioners"]["toy-fc"])
    config["scorers"]["idle"] = copy.deepcopy(config["scorers"]["toy-uniter"])
    trained = described(config_of("config"), trained=True)
    assert described(config, trained=True) == trained
    models = described(config)
    assert ("scorers", "toy-uniter") in models
    assert ("scorers", "idle") not in models


def test_each_of_several_trainings_has_its_card():
    config = config_of("config")
    config["captioners"][NAME]["seeds"] = [1, 5]
    found = described(config, trained=True)
    names = [NAME, f"{NAME}-5"]
    assert [found["captioners", name]["trainings"] for name in names] == [names, names]
    assert [one["name"] for one in found["captioners", names[1]]["line"]] == [names[1], "toy-clipcap-coco"]


def test_imported_models_have_no_card_and_their_sources_are_known():
    config = config_of("paper")
    models = described(config)
    assert models["captioners", "clipcap-concap"]["job"] is None
    assert ("captioners", "clipcap-concap") not in described(config_of("paper"), trained=True)
    licences = [source["licence"] for source in models["captioners", "discritune-concap"]["sources"]]
    assert "MIT (repository)" in licences
    # A tokenizer is no model that another one descends from.
    assert not any(source["repository"] for source in models["captioners", "clipcap-concap"]["sources"])


def test_papers_name_models_by_their_labels():
    models = described(config_of("config"))
    assert models["captioners", "toy-clipcap-coco"]["papers"] == {"discritune": ["ClipCap-COCO"]}
    assert models["scorers", "toy-uniter"]["papers"] == {"probing": ["UNITER"]}


def test_what_no_card_shows_changes_no_card():
    config = config_of("config")
    config["evaluations"]["main"]["candidates"] = 10
    assert described(config, trained=True) == described(config_of("config"), trained=True)


def test_the_small_config(planned):
    assert all(path.startswith("results/") for path in cards(planned(CONFIG)))
