"""`seeds` of a block makes the trainings, evaluations and roles that one would spell out one by one."""

import copy

import pytest
from graph.test_config import CONFIG, ROOT, mistakes

from captionlab.config.whole import checked
from captionlab.graph.graph import Graph


def with_seeds(**of_captioners):
    """The config with seeds of captioners."""
    config = copy.deepcopy(CONFIG)
    for name, seeds in of_captioners.items():
        config["captioners"][name]["seeds"] = seeds
    return config


def by_hand(config):
    """The same three trainings of `child`, spelled out."""
    written = copy.deepcopy(config)
    for seed in (5, 6):
        written["captioners"][f"child-{seed}"] = {**written["captioners"]["child"], "seed": seed}
    written["captioners"]["child"]["seed"] = 1
    captioners = written["evaluations"]["main"]["captioners"]
    captioners[captioners.index("child") + 1 : captioners.index("child") + 1] = ["child-5", "child-6"]
    return written


def test_seeds_are_the_trainings_that_one_would_write():
    assert checked(with_seeds(child=[1, 5, 6]), ROOT) == checked(by_hand(CONFIG), ROOT)


def test_the_training_that_is_there_stays_and_nothing_else_knows_of_seeds():
    alone, several = Graph(copy.deepcopy(CONFIG), ROOT), Graph(with_seeds(child=[1, 5]), ROOT)
    assert several.config["captioners"]["child"] == alone.config["captioners"]["child"]
    assert several.trainings["captioners"] == {"child": ["child", "child-5"]}
    assert alone.trainings["captioners"] == {}


def test_trainings_of_one_seed_go_together():
    found = checked(with_seeds(base=[1, 5, 6], child=[5, 1]), ROOT)["captioners"]
    assert {name: found[name]["parent"] for name in ("child", "child-1")} == {"child": "base-5", "child-1": "base"}
    assert {name: found[name]["seed"] for name in ("child", "child-1")} == {"child": 5, "child-1": 1}
    assert found["base-6"]["seed"] == 6


def test_what_has_no_seeds_names_the_first_training():
    found = checked(with_seeds(base=[4, 5]), ROOT)
    assert found["captioners"]["child"]["parent"] == "base"
    assert found["papers"]["discritune"]["captioners"] == {"ClipCap-COCO": "base"}
    assert found["study"]["captioners"] == ["people", "base"]


def test_encoders_and_scorers():
    config = copy.deepcopy(CONFIG)
    config["encoders"]["ours"] = {
        "family": "clip",
        "corpus": "world",
        "seeds": [1, 2],
        "architecture": {
            "embed_dim": 8,
            "vision_cfg": {"image_size": 16, "layers": 1, "width": 64, "head_width": 32, "patch_size": 8},
            "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 32, "heads": 1, "layers": 1},
        },
        "optimizer": {"kind": "adamw", "lr": 1.0e-3, "batch": 4, "steps": 2},
    }
    config["scorers"]["ours"]["seeds"] = [1, 2]
    config["scorers"]["ours"]["negatives"]["encoder"] = "ours"
    config["evaluations"]["main"] |= {"retrievers": ["clip", "ours"], "scorers": ["ours"]}
    found = checked(config, ROOT)
    assert found["evaluations"]["main"]["retrievers"] == ["clip", "ours", "ours-2"]
    assert found["evaluations"]["main"]["scorers"] == ["ours", "ours-2"]
    negatives = {name: found["scorers"][name]["negatives"]["encoder"] for name in ("ours", "ours-2")}
    assert negatives == {"ours": "ours", "ours-2": "ours-2"}


def test_roles_have_all_trainings():
    variants = {"evaluation": "main", "corpora": {"W": "world"}, "reference": "b"}
    config = with_seeds(child=[1, 5])
    config["papers"]["discritune"]["variants"] = {"baselines": {**variants, "captioners": {"a": "base", "b": "child"}}}
    found = checked(config, ROOT)["papers"]["discritune"]["variants"]["baselines"]["captioners"]
    assert found == {"a": "base", "b": ["child", "child-5"]}


@pytest.mark.parametrize(
    ("given", "change", "sentence"),
    [
        ("`seeds: [1, 2]` beside `seed: 1`", {"child": {"seeds": [1, 2], "seed": 1}}, "child has `seeds` and"),
        ("one seed among `seeds`", {"child": {"seeds": [1]}}, "captioners.child.seeds is [1]; it must have"),
        ("the same seed twice", {"child": {"seeds": [1, 1]}}, "captioners.child.seeds is [1, 1]; something"),
        ("seeds of a human captioner", {"people": {"seeds": [1, 2]}}, "captioners.people has no key 'seeds'"),
        ("seeds whose names are taken", {"child": {"seeds": [1, 2]}, "child-2": {"family": "human"}},
         "captioners.child.seeds makes 'child-2', which is in captioners already"),
        ("a seed that the parent has not", {"base": {"seeds": [1, 2]}, "child": {"seeds": [1, 3]}},
         "captioners.child has the seed 3, and captioners.base, which it names, has other seeds"),
    ],
)  # fmt: skip
def test_mistakes_of_seeds(given, change, sentence, answers):
    config = copy.deepcopy(CONFIG)
    for name, block in change.items():
        config["captioners"][name] = {**config["captioners"].get(name, {}), **block}
    answers.hold(given, mistakes(config), sentence)
