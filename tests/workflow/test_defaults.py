"""Defaults stand in the schema; where Python can be called without a config, it takes the same ones."""

import inspect

import pytest
from torch import ones
from torch.nn import Parameter

from captionlab.declarations import family_class
from captionlab.generation.contract import Decoding
from captionlab.language.construction import Plan
from captionlab.regions.detection import Detector
from captionlab.scorers.scorer import Matching
from captionlab.training.loop.optimizers import build_optimizer
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.mlm import MaskedLanguageModelling
from captionlab.training.objectives.self_critical import SelfCritical
from captionlab.workflow.families import captioners, scorers
from captionlab.workflow.keys import SCHEMA
from captionlab.workflow.schema import Schema

KINDS = {"captioners": captioners(), "scorers": scorers()}
FAMILIES = [(package, name) for package, families in KINDS.items() for name in families]


def defaults(keys):
    return {name: part["default"] for name, part in keys.items() if "default" in part}


def given(function):
    """What a function takes where it is not told."""
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty}


@pytest.mark.parametrize(("package", "family"), FAMILIES)
def test_families_are_made_as_they_declare(package, family):
    declared, of_family = KINDS[package][family], family_class(package, family)
    shared = Schema(SCHEMA).definitions["scorer_architecture"]["properties"]
    made = defaults(({**shared} if package == "scorers" and declared.architecture else {}) | declared.architecture)
    assert given(of_family.__init__).items() >= made.items()
    adopted = package == "scorers" and declared.reads == "embeddings"
    imported = of_family.__init__ if adopted else of_family.from_published
    # What it hands on by `options` is the constructor's.
    handed_on = given(of_family.__init__) if "options" in inspect.signature(imported).parameters else {}
    assert {**handed_on, **given(imported)}.items() >= defaults(declared.imported).items()


@pytest.mark.parametrize(
    ("part", "function", "keys"),
    [
        ("objective_self-critical", SelfCritical, ["samples", "baseline", "temperature", "dropout", "scale", "kl"]),
        ("objective_mlm", MaskedLanguageModelling, ["smoothing", "drop_worst", "drop_after"]),
        ("any_decoding", Decoding, ["rules"]),
        ("decoding.sample", Decoding, ["temperature"]),
        ("regions.detector", Detector, ["count", "size"]),
        ("matching", Matching, ["head", "scale"]),
        ("captioner_constructed.replacements", Plan, ["others"]),
    ],
)
def test_parts_of_a_config_are_what_python_takes_without_them(part, function, keys):
    schema = Schema(SCHEMA)
    name, _, inner = part.partition(".")
    found = schema.definitions[name]
    found = found["cases"][inner] if "cases" in found else found["properties"][inner] if inner else found
    taken = given(function)
    shown = {key: list(value) if isinstance(value, tuple) else value for key, value in taken.items()}
    assert {key: shown[key] for key in keys} == {key: defaults(found["properties"])[key] for key in keys}


def test_an_optimizer_is_what_python_makes_without_them():
    wanted = defaults(Schema(SCHEMA).definitions["optimizer"]["properties"])
    adam = build_optimizer([Parameter(ones(1, 1))], {"kind": "adam"})
    assert [*adam.betas] == wanted["betas"]
    assert adam.decays == [wanted["weight_decay"]]


def test_checkpoints_are_written_as_the_schema_says():
    taken = given(train)
    wanted = defaults(Schema(SCHEMA).definitions["checkpoints"]["properties"])
    assert wanted == {name: taken[f"checkpoint_{name}"] for name in ("seconds", "steps")}
