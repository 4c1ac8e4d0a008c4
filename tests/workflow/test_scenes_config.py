"""The scenes paper's part of a config: its mistakes, and what is derived from it."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from captionlab.papers.scenes.paper import FIGURES, TABLES, Scenes
from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]


@pytest.fixture
def config():
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text())


def test_the_toy_config_asks_for_every_table_and_figure(config):
    paper = Scenes(Graph(config, ROOT))
    assert paper.tables() == [f"scenes_{name}" for name in TABLES]
    assert list(paper.figures()) == [f"scenes_{name}" for name in FIGURES]
    inputs, job = paper.tabulated().inputs, paper.tabulated().params["job"]
    assert job["labels"]["toy-scened@4"] == "4"
    assert (job["corpus"], job["validation"]) == ("toy-scenes", "toy-scenes-val")
    assert (inputs["training_images"], job["training"]) == (["results/corpora/toy-scenes/images.parquet"], "toy-scenes")
    assert (job["split"], job["layer"]) == ("test", 1)
    assert paper.summarised().inputs["scores"][1] == "results/probes/toy-scened/scores.parquet"


def test_splits_are_those_of_the_corpus_that_the_finetuned_captioner_learnt_from():
    """The published training part of HL-Scenes has the validation images too, which the captioner is not to learn."""
    config = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text())
    needs = Scenes(Graph(config, ROOT)).tabulated()
    assert (needs.params["job"]["corpus"], needs.params["job"]["training"]) == ("hl-scenes", "hl-scenes-val")
    assert needs.inputs["training_images"] == ["results/corpora/hl-scenes-val/images.parquet"]
    # Of one that came from elsewhere nothing is known.
    config["scene_analysis"]["finetuned"] = "vinvl"
    assert Scenes(Graph(config, ROOT)).tabulated().params["job"]["training"] == "hl-scenes"


def test_finetuning_may_start_from_the_checkpoint_of_footnote_6():
    """Oscar+ before it saw COCO's captions; the pretrained captioner of the analysis stays the same."""
    config: dict = {}
    for name in ("paper", "paper_oscarplus"):
        update_config(config, yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8")))
    lab = Graph(config, ROOT)
    assert lab.captioners["scened"]["parent"] == "oscarplus"
    assert lab.captioners["oscarplus"]["weights"] != lab.captioners["vinvl"]["weights"]
    assert (lab.scene_analysis.config["pretrained"], lab.scene_analysis.config["finetuned"]) == ("vinvl", "scened")
    assert Scenes(lab).tables() == [f"scenes_{name}" for name in TABLES]


def test_without_the_paper_nothing_is_asked_for(config):
    del config["papers"]
    lab = Graph(config, ROOT)
    paper = Scenes(lab)
    assert (paper.tables(), paper.figures(), paper.summarised(), paper.compared()) == ([], {}, None, {})
    jobs = (job.name for verb in ("summarise", "tabulate", "plot") for job in lab.papers.jobs(verb))
    assert not [name for name in jobs if "scenes" in name]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda c: c.pop("scene_analysis"), "papers.scenes needs what is measured; add the section `scene_analysis`"),
        (lambda c: c["papers"]["scenes"].update(evaluation="valid"), "papers.scenes.evaluation is 'valid'"),
        (lambda c: c["papers"]["scenes"]["captioners"].update({"12": "toy-scend"}), "captioners.12 is 'toy-scend'"),
        (
            lambda c: c["evaluations"]["scenes"]["corpora"].append("toy-scenes"),
            "which has several corpora; Table 1 is about one",
        ),
        (
            lambda c: c["evaluations"]["scenes"]["captioners"].remove("toy-scened@6"),
            "which is not in evaluations.scenes.captioners; add it there",
        ),
    ],
)
def test_a_mistake_is_a_sentence(config, change, sentence):
    broken = copy.deepcopy(config)
    change(broken)
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        Graph(broken, ROOT)
