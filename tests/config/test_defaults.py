"""Defaults stand in the schema; where Python can be called without a config, it takes the same ones."""

import inspect

import pytest
import torch
from captionlab.workflow.schema import Schema
from torch import ones
from torch.nn import Parameter

from captionlab.generation.contract import Decoding
from captionlab.language.construction import Plan
from captionlab.plugins import family_class
from captionlab.regions.detection import Detector
from captionlab.regions.tagged_regions import TaggedRegions
from captionlab.scorers.scorer import Matching
from captionlab.training.loop.optimizers import build_optimizer
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.grpo.objective import Grpo
from captionlab.training.objectives.mlm.objective import MaskedLanguageModelling
from captionlab.training.objectives.self_critical.objective import SelfCritical
from captionlab.workflow.families import captioners, scorers
from captionlab.workflow.keys import SCHEMA

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
    if package != "scorers" and declared.folder:  # it is told the whole block, defaults included
        return
    # What it hands on by `options` is the constructor's.
    handed_on = given(of_family.__init__) if "options" in inspect.signature(imported).parameters else {}
    assert {**handed_on, **given(imported)}.items() >= defaults(declared.imported).items()


@pytest.mark.parametrize(
    ("part", "function", "keys"),
    [
        ("objective_self-critical", SelfCritical, ["samples", "baseline", "temperature", "dropout", "scale", "kl"]),
        ("objective_grpo", Grpo, ["samples", "clip", "kl"]),
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


@pytest.mark.parametrize("family", captioners())
def test_families_are_finetuned_as_they_declare(family):
    assert captioners()[family].finetuned_as == family_class("captioners", family).finetuned_as


@pytest.mark.parametrize("family", [name for name, declared in scorers().items() if declared.reads != "embeddings"])
def test_scorers_match_as_they_declare(family):
    made = vars(family_class("scorers", family).MATCHING)
    assert scorers()[family].matching.items() <= made.items()
    schema = Schema(SCHEMA).definitions["matching"]["properties"]
    assert {*scorers()[family].matching} == {*schema} - {*defaults(schema)}


# The size of what a family reads of an image is called after that.
READ = {"visual_size": 8, "prefix_size": 8, "region_size": 8}
SMALL = {**READ, "width": 8, "heads": 1, "feed_forward": 8, "vocabulary": 120}
SIZES = {
    "blip": ({"layers": 1, "positions": 9, "prompt": [1]}, torch.zeros(1, 4, 8)),
    "camel": (
        {"encoder_layers": 1, "decoder_layers": 1, "memory": 0, "meshed": True, "start": 1, "longest": 7},
        torch.zeros(1, 4, 8),
    ),
    "clipcap": ({"layers": 1, "positions": 9, "prefix_length": 3, "mapper_hidden": 0}, torch.zeros(1, 8)),
    "vinvl": ({"layers": 1, "positions": 9, "tag_position": 5}, None),
}


@pytest.mark.parametrize("family", SIZES)
def test_a_captioner_has_room_for_as_many_tokens_as_it_declares(family):
    """The longest caption that can be asked for is made, and one that is a token longer is refused."""
    sizes, visual = SIZES[family]
    made = family_class("captioners", family)
    sizes = {key: value for key, value in {**SMALL, **sizes}.items() if key in inspect.signature(made).parameters}
    captioner = made(**sizes)
    if visual is None:
        there = torch.ones(1, 2, dtype=torch.bool)
        visual = TaggedRegions(torch.ones(1, 2, dtype=torch.long), there, torch.zeros(1, 2, 8), there)
    longest = sum(times * {**sizes, "": 1}[key] for key, times in captioners()[family].longest.items())
    captioner.start(visual, longest)
    with pytest.raises(ValueError, match="positions"):
        captioner.start(visual, longest + 1)


def test_an_optimizer_is_what_python_makes_without_them():
    wanted = defaults(Schema(SCHEMA).definitions["optimizer"]["properties"])
    adam = build_optimizer([Parameter(ones(1, 1))], {"kind": "adam", "lr": 1.0})
    assert [*adam.defaults["betas"]] == wanted["betas"]
    assert [group["weight_decay"] for group in adam.param_groups] == [wanted["weight_decay"], 0.0]


def test_checkpoints_are_written_as_the_schema_says():
    taken = given(train)
    wanted = defaults(Schema(SCHEMA).definitions["checkpoints"]["properties"])
    assert wanted == {name: taken[f"checkpoint_{name}"] for name in ("seconds", "steps")}
