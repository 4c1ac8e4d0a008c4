"""The language of the schema: defaults are filled in, and nothing that YAML can say breaks the check of a config."""

import copy
from itertools import cycle
from pathlib import Path

import pytest
import yaml
from captionlab.workflow.schema import Schema

from captionlab.plugins import defined
from captionlab.workflow.config import ConfigError, checked
from captionlab.workflow.keys import ROOT, SCHEMA


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


def test_defaults_fit_the_schema_themselves(toy):
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


def test_every_objective_of_the_schema_can_be_built():
    for kind in Schema(SCHEMA).definitions["objective"]["cases"]:
        assert callable(defined("training.objectives", kind, "build"))


def places(value, at=()):
    if at:
        yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*at, key))


def test_whatever_stands_anywhere_is_a_mistake_or_fits(toy, monkeypatch):
    """Every third place has something else: a number, nothing, a list in a list, a key that is a number."""
    schema, strange = Schema(SCHEMA), cycle((5, None, ["x"], {"a": {}}, True, [[1]], {1: 2}, "zz", {}, []))
    monkeypatch.setattr("captionlab.workflow.config.Schema", lambda path: schema)
    small = {key: value for key, value in toy.items() if key not in ("captioners", "evaluations", "scene_analysis")}
    small |= {"captioners": dict(list(toy["captioners"].items())[-6:]), "evaluations": {"e": {"captioners": []}}}
    for *parents, last in list(places(small))[::3]:
        config = copy.deepcopy(small)
        block = config
        for key in parents:
            block = block[key]
        block[last] = next(strange)
        with pytest.raises(ConfigError, match="the config cannot be run"):
            checked(config, Path(SCHEMA))
