"""Caveats on all numbers of a run: models of the toy world that are evaluated on what is not of the toy world."""

import copy
import shutil
from pathlib import Path

import pytest
from support.plans import ROOT, config_of

from captionlab.config.caveats import caveats
from captionlab.config.judged import with_judgements
from captionlab.config.whole import ConfigError, checked
from captionlab.jobs.provenance import Job, working_on
from captionlab.storage import paths

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


def found(evaluation, judgements=None, encoders=None, data=".", **captioners):
    """The caveats of the default config with an evaluation of photographs."""
    config = copy.deepcopy(config_of("config")) | {"data": str(data)}
    config["corpora"]["photos"] = PHOTOGRAPHS
    config["encoders"] |= {"real": CLIP, **(encoders or {})}
    config["scorers"]["real"] = {"family": "clip", "encoder": "real"}
    config["captioners"] |= captioners
    if evaluation:
        config["evaluations"]["photographs"] = {"corpora": ["photos"], "decoding": "beam5", **evaluation}
    config["judgements"] |= judgements or {}
    return caveats(with_judgements(checked(config, ROOT)), ROOT)


@pytest.mark.parametrize("config", [("config",), ("config", "variants"), ("paper",), ("flickr8k",)])
def test_configs_that_come_with_captionlab_have_no_caveat(config):
    assert caveats(with_judgements(checked(config_of(*config), ROOT)), ROOT) == []


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


# --- models of other runs ---

SHIPPED = ROOT / paths.MODELS / "toy-clip-b"


def make(monkeypatch, run: Path, rule: str, inputs: list[Path | str], outputs: list[str]) -> None:
    """Run a job in the folder of a run; encoders that it makes have the config.json of a model of the toy world."""
    run.mkdir(exist_ok=True)
    with monkeypatch.context() as there:
        there.chdir(run)
        with working_on(Job(rule, f"results/logs/{rule}/{Path(outputs[0]).parent.name}.log", {}, {}, inputs, outputs)):
            for file in map(Path, outputs):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes((SHIPPED / "config.json").read_bytes() if file.name == "config.json" else b"made")


def encoder(name: str) -> list[str]:
    return [f"results/encoders/{name}/{file}" for file in ("config.json", "model.safetensors")]


@pytest.fixture
def runs(tmp_path, monkeypatch) -> Path:
    """A folder with two runs. The encoders of run `a` are toy models but for `photos`; `b` imports two of `a`."""
    toy, photos = "results/corpora/toy/images.parquet", "results/corpora/photos/images.parquet"
    (tmp_path / "photos.json").write_text("{}")
    make(monkeypatch, tmp_path / "a", "render_toyworld", [ROOT / "resources/toyworld/objects.yaml"], [toy])
    make(monkeypatch, tmp_path / "a", "read_corpus", [tmp_path / "photos.json"], [photos])
    make(monkeypatch, tmp_path / "a", "import_encoder", [SHIPPED / "config.json"], encoder("shipped"))
    make(monkeypatch, tmp_path / "a", "train_encoder", [toy], encoder("toy"))
    make(monkeypatch, tmp_path / "a", "train_encoder", [photos], encoder("photos"))
    for name in ("toy", "photos"):
        make(monkeypatch, tmp_path / "b", "import_encoder", [tmp_path / "a" / encoder(name)[0]], encoder(name))
    # Copies, without the run, with and without a model card.
    for name, card in (("card", (SHIPPED / paths.CARD).read_text()), ("other", "---\ntags:\n- toy\n---\nA model.\n")):
        shutil.copytree(tmp_path / "a" / "results/encoders/toy", tmp_path / name)
        (tmp_path / name / paths.CARD).write_text(card)
    return tmp_path


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"run": "a/results/encoders/shipped"}, TOY),
        ({"run": "a/results/encoders/toy"}, TOY),
        ({"run": "a/results/encoders/photos"}, []),
        ({"family": "clip", "weights": "a/results/encoders/toy/model.safetensors"}, TOY),
        ({"run": "b/results/encoders/toy"}, TOY),
        ({"run": "b/results/encoders/photos"}, []),
        ({"run": "card"}, TOY),
        ({"run": "other"}, []),
    ],
)
def test_a_model_of_another_run_is_of_the_toy_world_if_it_was_there(runs, block, expected):
    evaluation = {"captioners": ["human"], "retrievers": ["reused"]}
    assert found(evaluation, encoders={"reused": block}, data=runs) == expected
    assert found({"captioners": ["learns"]}, encoders={"reused": block}, data=runs, learns=LEARNS) == []
    learns = {**LEARNS, "encoder": "reused"}
    assert found({"captioners": ["learns"]}, encoders={"reused": block}, data=runs, learns=learns) == expected


def test_a_model_of_another_run_that_was_made_again_counts_as_it_is(runs, monkeypatch):
    """The record of the import stays; its digest is of a config.json that is no longer there."""
    (file,) = (runs / "a" / name for name in encoder("shipped")[:1])
    file.write_text(file.read_text() + "\n")
    assert (
        found({"captioners": ["human"], "retrievers": ["reused"]}, encoders={"reused": {"run": str(file.parent)}}) == []
    )


def test_damaged_provenance_of_another_run_is_named(runs):
    (runs / "a" / "results/provenance/train_encoder/toy.json").write_text("{")
    with pytest.raises(ConfigError, match=r"toy\.json is damaged"):
        found(
            {"captioners": ["human"], "retrievers": ["x"]}, encoders={"x": {"run": "a/results/encoders/toy"}}, data=runs
        )
