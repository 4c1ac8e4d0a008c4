"""Defaults stand in the models; where Python can be called without a config, it takes the same ones."""

import inspect

import pytest
import torch
from torch import ones
from torch.nn import Parameter

from captionlab.config import corpora, training
from captionlab.config.captioners import Replacements
from captionlab.config.families import captioners, scorers
from captionlab.config.plugins import plugin_models
from captionlab.config.scorers import Matching as MatchingKeys
from captionlab.config.sections import Checkpoints
from captionlab.language.construction import Plan
from captionlab.plugins import config_module, family_class
from captionlab.regions.detection import Detector
from captionlab.regions.tagged_regions import TaggedRegions
from captionlab.scorers.scorer import Matching
from captionlab.training.loop.optimizers import build_optimizer
from captionlab.training.loop.trainer import train
from captionlab.training.objectives.grpo.objective import Grpo
from captionlab.training.objectives.mlm.objective import MaskedLanguageModelling
from captionlab.training.objectives.self_critical.objective import SelfCritical


def objective_model(kind):
    return config_module("training.objectives", kind).Config


def models(name):
    """The models of this name of all families of captioners and scorers."""
    return [
        (package, family, model)
        for package in ("captioners", "scorers")
        for family, model in plugin_models(package, name).items()
    ]


def defaults(model):
    """The defaults of a model that a job gets."""
    keys = {name: field.default for name, field in model.model_fields.items() if not field.is_required()}
    return {name: default for name, default in keys.items() if default is not None}


def own_defaults(model):
    """Those of keys that no other family has."""
    return {name: default for name, default in defaults(model).items() if name in model.__annotations__}


def given(function):
    """What a function takes where it is not told."""
    parameters = inspect.signature(function).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.default is not parameter.empty}


@pytest.mark.parametrize(("package", "family", "model"), models("Trained"))
def test_families_are_trained_with_the_defaults_of_their_class(package, family, model):
    architecture = model.model_fields["architecture"].annotation
    assert given(family_class(package, family).__init__).items() >= defaults(architecture).items()


@pytest.mark.parametrize(("package", "family", "model"), models("Imported") + models("Adopted"))
def test_families_are_imported_with_the_defaults_of_their_class(package, family, model):
    of_family = family_class(package, family)
    if {"captioners": captioners, "scorers": scorers}[package]()[
        family
    ].folder:  # it is told the block with its defaults
        return
    imported = of_family.from_published if hasattr(of_family, "from_published") else of_family.__init__
    # What it hands on by `options` is the constructor's.
    handed_on = given(of_family.__init__) if "options" in inspect.signature(imported).parameters else {}
    assert {**handed_on, **given(imported)}.items() >= own_defaults(model).items()


@pytest.mark.parametrize(
    ("model", "function", "keys"),
    [
        (
            objective_model("self-critical"),
            SelfCritical,
            ["samples", "baseline", "temperature", "dropout", "scale", "kl"],
        ),
        (objective_model("grpo"), Grpo, ["samples", "clip", "kl"]),
        (objective_model("mlm"), MaskedLanguageModelling, ["smoothing", "drop_worst", "drop_after"]),
        (corpora.Detector, Detector, ["count", "size"]),
        (MatchingKeys, Matching, ["head", "scale"]),
        (Replacements, Plan, ["others"]),
    ],
)
def test_parts_of_a_config_are_what_python_takes_without_them(model, function, keys):
    taken = given(function)
    shown = {key: list(value) if isinstance(value, tuple) else value for key, value in taken.items()}
    assert {key: shown[key] for key in keys} == {key: defaults(model)[key] for key in keys}


@pytest.mark.parametrize("family", captioners())
def test_families_are_finetuned_as_their_facts_say(family):
    facts, network = captioners()[family], family_class("captioners", family)
    assert (facts.finetuned_as, facts.generates) == (network.finetuned_as, network.generates)


@pytest.mark.parametrize("family", [name for name, facts in scorers().items() if facts.matching])
def test_scorers_match_as_their_facts_say(family):
    made = vars(family_class("scorers", family).MATCHING)
    assert scorers()[family].matching.items() <= made.items()
    assert {*scorers()[family].matching} == {*MatchingKeys.model_fields} - {*defaults(MatchingKeys)}


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
def test_a_captioner_has_room_for_as_many_tokens_as_its_facts_say(family):
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
    wanted = defaults(training.Optimizer)
    adam = build_optimizer([Parameter(ones(1, 1))], {"kind": "adam", "lr": 1.0})
    assert [*adam.defaults["betas"]] == wanted["betas"]
    assert [group["weight_decay"] for group in adam.param_groups] == [wanted["weight_decay"], 0.0]


def test_checkpoints_are_written_as_the_model_says():
    taken = given(train)
    for name, field in Checkpoints.model_fields.items():
        assert field.default == taken[f"checkpoint_{name}"]
