"""Defaults are filled in, and nothing that YAML can say breaks the check of a config."""

import copy
from itertools import cycle
from pathlib import Path

import pytest
import yaml

from captionlab.config.checking import check
from captionlab.config.whole import ConfigError, checked
from captionlab.plugins import defined, names

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def toy():
    return yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))


def test_defaults_are_filled_in_at_every_depth(toy):
    before = copy.deepcopy(toy)
    filled = checked(toy, ROOT)
    assert toy == before
    assert filled["checkpoints"] == {"seconds": 300, "steps": None}
    assert filled["corpora"]["toy-scenes"]["shards"] == 1
    blocks = [block for block in filled["captioners"].values() if "optimizer" in block]
    assert {block["optimizer"]["precision"] for block in blocks} == {"float32"}


def test_a_seed_is_the_configs_and_what_is_not_asked_for_is_not_there(toy):
    trained = {name: block for name, block in toy["captioners"].items() if "optimizer" in block}
    filled = checked({key: value for key, value in toy.items() if key not in ("study", "papers")}, ROOT)
    seeds = {name: filled["captioners"][name]["seed"] for name in trained}
    assert seeds == {name: block.get("seed", toy["seed"]) for name, block in trained.items()}
    assert ("study" in filled, filled["papers"]) == (False, {})


def test_defaults_fit_the_models_themselves(toy):
    """To write out a default changes nothing; a block with `run` has none, and its files are not to be written."""
    filled = checked(toy, ROOT)
    written = {
        section: {
            name: toy[section][name] if "run" in block else block
            for name, block in filled[section].items()
            if "snapshot" not in block
        }
        for section in ("captioners", "encoders", "scorers")
    }
    assert checked({**filled, **written}, ROOT) == filled


def test_every_objective_can_be_built():
    for kind in names("training.objectives"):
        assert callable(defined("training.objectives", kind, "build"))


def places(value, at=()):
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def test_whatever_stands_anywhere_is_a_mistake_or_fits(toy):
    """Every third place has something else: a number, nothing, a list in a list, a key that is a number."""
    strange = cycle((5, None, ["x"], {"a": {}}, True, [[1]], {1: 2}, "zz", {}, []))
    small = {key: value for key, value in toy.items() if key not in ("captioners", "evaluations", "scene_analysis")}
    small |= {"captioners": dict(list(toy["captioners"].items())[-6:]), "evaluations": {"e": {"captioners": []}}}
    for *parents, last in list(places(small))[::3]:
        config = copy.deepcopy(small)
        block = config
        for key in parents:
            block = block[key]
        block[last] = next(strange)
        with pytest.raises(ConfigError, match="the config cannot be run"):
            checked(config, ROOT)


def test_of_a_value_of_several_kinds_that_is_said_which_is_wrong_with_its_own_kind(toy):
    """A role of a paper is played by one captioner or by several."""
    for role, sentence in (("nobody", "A is 'nobody', which"), (["nobody"], "A.0 is 'nobody', which"), (5, "A is 5")):
        toy = {**toy, "papers": {"probing": {**toy["papers"]["probing"], "captioners": {"A": role}}}}
        (said,) = [one for one in check(toy).sentences if one.startswith("papers.probing.captioners.A")]
        assert said.startswith(f"papers.probing.captioners.{sentence}")
