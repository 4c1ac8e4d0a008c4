"""Caveats on all numbers of a run: models of the toy world that are evaluated on what is not of the toy world."""

import copy

import pytest
from support.plans import ROOT, config_of

from captionlab.config.caveats import caveats
from captionlab.config.judged import with_judgements
from captionlab.config.whole import checked

PHOTOGRAPHS = {"reader": "karpathy", "annotations": "photos.json", "images": "photos"}
TOY = ["toy models on photographs (photos): these numbers mean nothing"]
CLIP = {"family": "clip", "weights": "clip.safetensors"}
# A captioner that learns from photographs and reads no model of the toy world.
LEARNS = {
    "family": "newfc",
    "encoder": "real",
    "corpus": "photos",
    "architecture": {"width": 8, "input_width": 8, "min_count": 2},
    "objective": {"kind": "cross-entropy"},
    "optimizer": {"kind": "adam", "lr": 0.001, "batch": 4, "steps": 2},
}


def found(evaluation, judgements=None, **captioners):
    """The caveats of the default config with an evaluation of photographs."""
    config = copy.deepcopy(config_of("config"))
    config["corpora"]["photos"] = PHOTOGRAPHS
    config["encoders"]["real"] = CLIP
    config["scorers"]["real"] = {"family": "clip", "encoder": "real"}
    config["captioners"] |= captioners
    if evaluation:
        config["evaluations"]["photographs"] = {"corpora": ["photos"], "decoding": "beam5", **evaluation}
    config["judgements"] |= judgements or {}
    return caveats(with_judgements(checked(config, ROOT)))


@pytest.mark.parametrize("config", [("config",), ("config", "variants"), ("paper",), ("flickr8k",)])
def test_configs_that_come_with_captionlab_have_no_caveat(config):
    assert caveats(with_judgements(checked(config_of(*config), ROOT))) == []


def test_the_models_of_one_world_on_its_own_corpora_have_no_caveat():
    assert found(None) == []
    real = {"retrievers": ["real"], "scorers": ["real"], "clipscore": ["real"]}
    assert found({"captioners": ["human"], **real}) == []
    assert found({"captioners": ["learns", "human"], **real}, learns=LEARNS) == []


@pytest.mark.parametrize(
    ("evaluation", "captioners"),
    [
        ({"captioners": ["toy-clipcap-coco"]}, {}),
        ({"captioners": ["toy-fc"]}, {}),  # trained here, on drawings
        ({"captioners": ["toy-fc-clip"]}, {}),  # and finetuned
        ({"captioners": ["human"], "retrievers": ["real", "toy-clip-b"]}, {}),
        ({"captioners": ["human"], "clipscore": ["toy-clip-a"]}, {}),
        ({"captioners": ["human"], "scorers": ["toy-clip"]}, {}),  # its encoder is of the toy world
        # Trained on photographs, by an encoder that knows drawings only.
        ({"captioners": ["mixed"]}, {"mixed": {**LEARNS, "encoder": "toy-clip-a"}}),
        (
            {"captioners": ["tuned"]},
            {"tuned": {**{k: LEARNS[k] for k in ("corpus", "objective", "optimizer")}, "parent": "toy-fc"}},
        ),
    ],
)
def test_a_model_of_the_toy_world_on_photographs_is_a_caveat(evaluation, captioners):
    assert found(evaluation, **captioners) == TOY


def test_scores_of_judged_captions_of_photographs_by_a_model_of_the_toy_world_are_a_caveat():
    foils = {"reader": "foil", "corpus": "photos", "annotations": "foil.json"}
    for retriever, expected in (("real", []), ("toy-clip-a", TOY)):
        assert found(None, {"foils": {**foils, "clipscore": [retriever]}}) == expected
