"""Captioners with adapters in the graph: whoever reads one reads its parent too, down to whole weights."""

import copy
from pathlib import Path

import pytest
import yaml

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph
from captionlab.storage import paths

ROOT = Path(__file__).parents[2]
EVERY = yaml.safe_load((Path(__file__).parent / "every_kind.yaml").read_text(encoding="utf-8"))
FILES = ("config.json", "model.safetensors", "tokenizer.json")
# Rules of which the script loads captioners; others only say something of their files.
READERS = {path.stem for path in (ROOT / "workflow" / "scripts").glob("*.py") if "load_captioner" in path.read_text()}


def toy_config():
    """What of the config of every kind needs no file, with adapters of adapters that are evaluated and analysed."""
    every = EVERY["captioners"]
    optimizer = every["own-vinvl"]["optimizer"]
    scened = {**every["scened"], "lora": {}}
    adapted = {"parent": "own-clipcap", "corpus": "toy", "objective": {"kind": "cross-entropy"}, "optimizer": optimizer}
    rewarded = {"kind": "self-critical", "decoding": "greedy", "reward": {"kind": "cider"}}
    return {
        "seed": 1,
        "spice": "off",
        "corpora": {name: EVERY["corpora"][name] for name in ("toy", "scenes")},
        "encoders": {"trained": EVERY["encoders"]["trained"]},
        "regions": {"boxes": EVERY["regions"]["boxes"]},
        "tags": EVERY["tags"],
        "captioners": {
            **{name: every[name] for name in ("own-vinvl", "own-clipcap")},
            "scened": scened,
            "scened-again": {**scened, "parent": "scened"},
            "adapted": {**adapted, "lora": {}},
            "adapted-again": {**adapted, "parent": "adapted", "lora": {}},
            "whole": {**adapted, "parent": "adapted-again"},
            "rewarded": {**adapted, "parent": "adapted-again", "lora": {}, "objective": rewarded},
            "people": every["people"],
        },
        "decodings": {"greedy": EVERY["decodings"]["greedy"]},
        "evaluations": {
            "main": {
                "captioners": ["adapted-again", "whole", "rewarded", "people"],
                "corpora": ["toy"],
                "decoding": "greedy",
                "retrievers": ["trained"],
                "candidates": 8,
            }
        },
        "validity": {"corpus": "toy"},
        "scene_analysis": {**EVERY["scene_analysis"], "pretrained": "scened", "finetuned": "scened-again"},
    }


def files(*captioners):
    return {paths.captioner(file, name) for name in captioners for file in FILES}


def test_the_line_down_to_whole_weights(planned):
    graph = Graph(copy.deepcopy(EVERY), ROOT)
    of = {name: set(graph.ancestor_files(name)) for name in EVERY["captioners"]}
    assert of["adapted-again"] == files("adapted", "own-clipcap")
    assert of["adapted"] == files("own-clipcap")
    assert {name for name, found in of.items() if found} == {"adapted", "adapted-again"}
    trained = ("tuned", "merged", "adapted")
    assert {
        name: "peft" in graph.modules("captioners", name).get("captionlab.captioners.adapters", ()) for name in trained
    } == {"tuned": False, "merged": True, "adapted": True}
    targets = [paths.captioner("config.json", name) for name in trained]
    plan = planned(EVERY, *targets, present=["web.tar", "hub/test.parquet"])
    jobs = {name: plan.job("finetune_captioner", captioner=name).inputs["parent_ancestors"] for name in trained}
    assert {*jobs["merged"]} == files("adapted", "own-clipcap")
    assert jobs["adapted"] == jobs["tuned"] == []


def test_whoever_reads_a_captioner_reads_its_parent(planned):
    """In a plan, whatever the rule: the weights of adapters are never an input without those of all ancestors."""
    config = toy_config()
    graph = Graph(copy.deepcopy(config), ROOT)
    held = set()
    for job in planned(config, "all", paths.export("adapted-again")).jobs:
        for name in config["captioners"] if job.rule in READERS else ():
            if paths.captioner("model.safetensors", name) in job.reads and (line := {*graph.ancestor_files(name)}):
                assert line <= {*job.reads}, (job.rule, name)
                held.add(job.rule)
    assert held == READERS


@pytest.mark.parametrize(
    ("lora", "names"),
    [
        ({"rank": 0}, "captioners.adapted.lora.rank"),
        ({"targets": []}, "captioners.adapted.lora.targets"),
        ({"ranks": 4}, "captioners.adapted.lora"),
    ],
)
def test_what_is_no_lora(lora, names, answers):
    config = {
        **EVERY,
        "captioners": {**EVERY["captioners"], "adapted": {**EVERY["captioners"]["adapted"], "lora": lora}},
    }
    with pytest.raises(ConfigError) as caught:
        checked(config, ROOT)
    answers.hold(f"`lora: {lora}`", caught.value, names)
