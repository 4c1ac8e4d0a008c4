"""What is told of a run: the models that its jobs make and no others, and what invalidates a card."""

import copy

import yaml
from workflow.test_config import CONFIG, ROOT

from captionlab.graph.graph import Graph


def lab(config):
    return Graph(copy.deepcopy(config), ROOT)


def main_config():
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))


def test_every_model_that_is_trained_has_a_card_beside_its_weights():
    """The trained ones of the default config are captioners."""
    config = main_config()
    blocks = config["captioners"]
    made = {f"captioners/{n}" for n, block in blocks.items() if "objective" in block}
    made |= {f"captioners/{n}@{number}" for n, block in blocks.items() for number in block.get("snapshots", [])}
    assert set(lab(config).documenting.cards()) == {f"results/{name}/README.md" for name in made}


def test_what_nobody_asks_for_has_no_card_and_is_not_trained_for_one():
    config = main_config()
    config["captioners"]["idle"] = copy.deepcopy(config["captioners"]["toy-fc"])
    config["scorers"]["idle"] = copy.deepcopy(config["scorers"]["toy-uniter"])
    found = lab(config).documenting
    assert found.cards() == lab(main_config()).documenting.cards()
    assert ("scorers", "toy-uniter") in found.models()
    assert ("scorers", "idle") not in found.models()


def test_each_of_several_trainings_has_its_card():
    config = main_config()
    config["captioners"]["toy-discritune-coco"]["seeds"] = [1, 5]
    found = {model["name"]: model for model in lab(config).documenting.described_trained()}
    names = ["toy-discritune-coco", "toy-discritune-coco-5"]
    assert [found[name]["trainings"] for name in names] == [names, names]
    assert [one["name"] for one in found[names[1]]["line"]] == [names[1], "toy-clipcap-coco"]


def test_imported_models_have_no_card_and_their_sources_are_known():
    config = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8"))
    found = lab(config).documenting
    models = {(model["section"], model["name"]): model for model in found.described_models()}
    assert models["captioners", "clipcap-concap"]["job"] is None
    assert "results/captioners/clipcap-concap/README.md" not in found.cards()
    licences = [source["licence"] for source in models["captioners", "discritune-concap"]["sources"]]
    assert "MIT (repository)" in licences
    # A tokenizer is no model that another one descends from.
    assert not any(source["repository"] for source in models["captioners", "clipcap-concap"]["sources"])


def test_papers_name_models_by_their_labels():
    found = lab(main_config()).documenting.described("captioners", "toy-clipcap-coco")
    assert found["papers"] == {"discritune": ["ClipCap-COCO"]}
    assert lab(main_config()).documenting.described("scorers", "toy-uniter")["papers"] == {"probing": ["UNITER"]}


def test_what_no_card_shows_changes_no_card():
    before, config = lab(main_config()).documenting.described_trained(), main_config()
    config["evaluations"]["main"]["candidates"] = 10
    assert lab(config).documenting.described_trained() == before


def test_the_small_config():
    assert all(path.startswith("results/") for path in lab(CONFIG).documenting.cards())
