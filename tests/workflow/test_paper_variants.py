"""Ablations on top of config/paper.yaml and of the toy world: trainings that differ in what an ablation is about."""

from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from captionlab.papers.discritune.paper import Discritune
from captionlab.workflow.experiments import Experiments
from captionlab.workflow.families import captioners

ROOT = Path(__file__).parents[2]


# What self-critical training needs to be as REINFORCE: captions greedily under dropout, each image once, no more asked.
AS_REINFORCE = {"samples": 1, "temperature": 1.0e-3, "scale": 1.0, "kl": 0.0}


def experiments(*names: str) -> Experiments:
    config: dict = {}
    for name in names:
        update_config(config, yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text(encoding="utf-8")))
    return Experiments(config, ROOT)


@pytest.fixture(scope="module")
def lab() -> Experiments:
    return experiments("paper", "paper_variants")


@pytest.fixture(scope="module")
def toy() -> Experiments:
    return experiments("config", "variants")


def different(block, reference) -> set[str]:
    """Keys of a captioner, of its objective where both have one, that are not as in the reference."""
    # What a family does of itself is not in the block of an objective.
    usual = {"reinforce": captioners()["clipcap"].finetuned_as}
    objectives = [{**usual.get(one["objective"]["kind"], {}), **one["objective"]} for one in (block, reference)]
    keys = {key for key in {*objectives[0], *objectives[1]} if objectives[0].get(key) != objectives[1].get(key)}
    others = {key for key in {*block, *reference} - {"objective"} if block.get(key) != reference.get(key)}
    return keys | others


def test_an_image_always_has_99_distractors(lab):
    for names in Discritune(lab).summarised().params["variants"]["hard-distractors"]["captioners"].values():
        for block in (lab.captioners[name] for name in names if "objective" in lab.captioners[name]):
            reward = block["objective"]["reward"]
            assert block["optimizer"]["batch"] + reward.get("hard_negatives", 0) == reward["candidates"] == 100


def test_captioners_differ_from_the_reference_in_one_thing(lab):
    reference = lab.captioners["flickr-running-mean"]
    for name, key in {"no-baseline": "baseline", "similarity": "reward", "accuracy": "reward"}.items():
        assert different(lab.captioners[f"flickr-{name}"], reference) == {key}
    greedy = lab.captioners["flickr-greedy"]
    assert different(greedy, reference) == {"kind", "baseline", *AS_REINFORCE}
    assert AS_REINFORCE.items() <= greedy["objective"].items()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_captioners_of_the_toy_world_differ_from_the_reference_in_one_thing(toy, seed):
    trainings = {names[seed - 1]: name for name, names in toy.trainings.items()}
    of_seed = {name: toy.captioners[training] for training, name in trainings.items()}
    reference = of_seed["running-mean"]
    expected = {
        "no-baseline": {"baseline"}, "similarity": {"reward"}, "accuracy": {"reward"}, "other-retriever": {"reward"},
        "in-turn": {"reward"}, "hard-5": {"reward", "optimizer"}, "hard-10": {"reward", "optimizer"},
        "greedy": {"kind", "baseline", *AS_REINFORCE}, "leave-one-out": {"kind", "baseline", *AS_REINFORCE},
    }  # fmt: skip
    assert {name: different(of_seed[name], reference) for name in expected} == expected
    assert AS_REINFORCE.items() <= of_seed["greedy"]["objective"].items()
    assert different(of_seed["leave-one-out"], of_seed["greedy"]) == {"baseline", "samples"}
    assert different(of_seed["divergence"], of_seed["no-penalty"]) == {"kl"}
