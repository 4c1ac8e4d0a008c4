"""config/paper_ablations.yaml on top of config/paper.yaml: trainings that differ in what an ablation is about."""

from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from captionlab.workflow.experiments import Experiments

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lab() -> Experiments:
    config: dict = {}
    for name in ("paper", "paper_ablations"):
        update_config(config, yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8")))
    return Experiments(config, ROOT)


def test_an_image_always_has_99_distractors(lab):
    for names in lab.discritune.ablations()["hard-distractors"]["captioners"].values():
        for block in (lab.captioners[name] for name in names if "objective" in lab.captioners[name]):
            reward = block["objective"]["reward"]
            assert block["optimizer"]["batch"] + reward.get("hard_negatives", 0) == reward["candidates"] == 100


def test_captioners_differ_from_the_reference_in_one_thing(lab):
    reference = lab.captioners["flickr-running-mean"]["objective"]
    for name, key in {"no-baseline": "baseline", "similarity": "reward", "accuracy": "reward"}.items():
        objective = lab.captioners[f"flickr-{name}"]["objective"]
        assert [part for part in objective if objective[part] != reference[part]] == [key]
