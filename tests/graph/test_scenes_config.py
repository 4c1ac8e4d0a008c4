"""The scenes paper's part of a config: its mistakes, and what is derived from it."""

import copy
import re

import pytest
from support.plans import ROOT, config_of
from support.scenes_run import FIGURES, TABLES

from captionlab.config.whole import ConfigError, checked


@pytest.fixture
def config():
    return config_of("config")


def test_the_toy_config_asks_for_every_table_and_figure(config, planned):
    plan = planned(config)
    assert plan.tables("scenes") == [f"scenes_{name}" for name in TABLES]
    assert plan.figures("scenes") == [f"scenes_{name}" for name in FIGURES]
    inputs, job = plan.job("tabulate_scenes").inputs, plan.job("tabulate_scenes").params["job"]
    assert job["labels"]["toy-scened@4"] == "4"
    assert (job["corpus"], job["validation"]) == ("toy-scenes", "toy-scenes-val")
    assert (inputs["training_images"], job["training"]) == ("results/corpora/toy-scenes/images.parquet", "toy-scenes")
    assert (job["split"], job["layer"]) == ("test", 1)
    assert plan.job("summarise_scenes").inputs["scores"][1] == "results/probes/toy-scened/scores.parquet"


def test_snapshots_are_compared_with_the_end_of_the_finetuning(config, planned):
    ends = planned(config).job("summarise_evaluation").params["ends"]
    assert ends == {f"toy-scened@{epochs}": "toy-scened" for epochs in (1, 2, 4, 6, 8)}


def test_splits_are_those_of_the_corpus_that_the_finetuned_captioner_learnt_from(planned):
    """The published training part of HL-Scenes has the validation images too, which the captioner is not to learn."""
    config = config_of("paper")
    job = planned(config).job("tabulate_scenes")
    assert (job.params["job"]["corpus"], job.params["job"]["training"]) == ("hl-scenes", "hl-scenes-val")
    assert job.inputs["training_images"] == "results/corpora/hl-scenes-val/images.parquet"
    # Of one that came from elsewhere nothing is known.
    config["scene_analysis"]["finetuned"] = "vinvl"
    plan = planned(config, "results/reporting/scenes/cells.parquet")
    assert plan.job("tabulate_scenes").params["job"]["training"] == "hl-scenes"


def test_finetuning_may_start_from_the_checkpoint_of_footnote_6(planned):
    """Oscar+ before it saw COCO's captions; the pretrained captioner of the analysis stays the same."""
    config = config_of("paper", "paper_oscarplus")
    plan, captioners = planned(config, "results/reporting/scenes/cells.parquet"), config["captioners"]
    parent = plan.job("finetune_captioner", captioner="scened").inputs["parent_weights"]
    assert parent == "results/captioners/oscarplus/model.safetensors"
    assert captioners["oscarplus"]["weights"] != captioners["vinvl"]["weights"]
    analysed = [job.wildcards["captioner"] for job in plan.of("ablate_objects")]
    assert sorted(analysed) == ["scened", "vinvl"]
    assert plan.tables("scenes") == [f"scenes_{name}" for name in TABLES]


def test_without_the_papers_nothing_is_asked_for(config, planned):
    """What a study and an analysis of language show remains: tables and figures of the paper that they are of."""
    del config["papers"]
    plan = planned(config)
    remaining = {"tabulate_discritune", "plot_discritune"}
    of_papers = {
        f"{verb}_{paper}" for verb in ("summarise", "tabulate", "plot") for paper in config_of("config")["papers"]
    }
    assert plan.rules() & of_papers == remaining
    assert "check_claims" not in plan.rules()
    assert plan.job("summarise_evaluation").params["ends"] == {}
    names = ["discritune_table6_simulated", "discritune_table7_adjectives", "discritune_table14_nouns"]
    assert plan.tables("discritune") == names
    assert plan.figures("discritune") == ["discritune_figure2_simulated", "discritune_figure3_screen"]


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
        checked(broken, ROOT)
