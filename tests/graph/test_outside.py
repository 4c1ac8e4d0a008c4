"""Plug-ins of a folder that a config names: their keys, their jobs, and what runs again after a change."""

from itertools import count

import pytest
from support.plans import ROOT, plan
from support.templates import install_into

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.fingerprints import Fingerprints
from captionlab.graph.software import plugins as modules_of
from captionlab.places import VARIABLE, outside

NUMBERS = count()
OPTIMIZER = {"kind": "adam", "lr": 0.05, "batch": 4, "steps": 2}
CONFIG = {
    "seed": 1,
    "spice": "off",
    "corpora": {"toy": {"reader": "toyworld", "domain": "coco", "seed": 1, "images": {"train": 8, "test": 8}}},
    "encoders": {"clip": {"run": "resources/toyworld/models/toy-clip-a"}},
    "captioners": {
        "base": {"run": "resources/toyworld/models/toy-clipcap-coco", "encoder": "clip"},
        "tuned": {
            "parent": "base",
            "corpus": "toy",
            "objective": {
                "kind": "reinforce",
                "baseline": "none",
                "decoding": "sample",
                "reward": {"kind": "cider"},
            },
            "optimizer": OPTIMIZER,
        },
    },
    "decodings": {"sample": {"kind": "sample", "max_tokens": 5}},
    "evaluations": {"main": {"captioners": ["base", "tuned"], "corpora": ["toy"], "decoding": "sample"}},
}
FOLDERS = ("training/rewards/brevity", "training/objectives/best_of", "corpora/readers/photos", "captioners/gru")
METRIC = "evaluation/metrics/repetition"


@pytest.fixture(autouse=True)
def package(tmp_path, monkeypatch):
    """The name of a package with a plug-in of each kind. Its name is new in this process, which imports it."""
    monkeypatch.setenv(VARIABLE, "{}")
    name = f"outer_{next(NUMBERS)}"
    for folder in (*FOLDERS, METRIC):
        install_into(tmp_path / "data" / name, folder)
    return name


def rewarded(package, **reward):
    """Return CONFIG with the reward of the package."""
    tuned = CONFIG["captioners"]["tuned"]
    tuned = {**tuned, "objective": {**tuned["objective"], "reward": {"kind": "brevity", **reward}}}
    return {**CONFIG, "plugins": [package], "captioners": {**CONFIG["captioners"], "tuned": tuned}}


def test_a_package_that_nothing_is_used_of_changes_no_job(package, tmp_path):
    assert plan({**CONFIG, "plugins": [package]}, tmp_path).jobs == plan(CONFIG, tmp_path).jobs


def test_its_plug_ins_have_jobs(package, tmp_path):
    photos = {"reader": "photos", "annotations": "photos.json", "images": "photos"}
    sizes = {"width": 8, "vocabulary": 300}
    gru = {"family": "gru", "encoder": "clip", "corpus": "toy", "architecture": sizes, "optimizer": OPTIMIZER}
    config = rewarded(package, words=3)
    config["corpora"] = {**config["corpora"], "mine": photos}
    config["captioners"] = {**config["captioners"], "gru": {**gru, "objective": {"kind": "cross-entropy"}}}
    evaluation = {**config["evaluations"]["main"], "captioners": ["gru", "tuned"], "corpora": ["toy", "mine"]}
    config["evaluations"] = {"main": {**evaluation, "repetition": True}}
    planned = plan(config, tmp_path)
    assert planned.job("read_corpus").inputs["annotations"] == [str(tmp_path / "data" / "photos.json")]
    assert planned.job("pretrain_captioner").params["config"]["architecture"] == sizes
    assert planned.job("score_captions", captioner="gru", table="repetition").params["module"].startswith(package)
    base = plan(CONFIG, tmp_path)
    codes = [a_plan.job("finetune_captioner").params["code"] for a_plan in (base, planned)]
    assert codes[0] != codes[1]


def test_mistakes_are_said_as_those_of_other_blocks(package, tmp_path, answers):
    for reward, said in (
        ({"wrods": 2}, "captioners.tuned.objective.reward has no key 'wrods'; did you mean 'words'?"),
        ({"words": 0}, "captioners.tuned.objective.reward.words is 0; it must be above 0"),
        ({"words": "two"}, "captioners.tuned.objective.reward.words is 'two'; it must be a whole number"),
    ):
        with pytest.raises(ConfigError) as raised:
            plan(rewarded(package, **reward), tmp_path)
        answers.hold(f"a reward of a plug-in: `{reward}`", raised.value, said)
    with pytest.raises(ConfigError) as raised:
        plan({**rewarded(package), "plugins": []}, tmp_path)
    answers.hold("a reward of a plug-in that is not named", raised.value, "reward.kind is 'brevity'; it must be one of")
    for folders, said in (
        (["away"], "there is no folder"),
        (package, "plugins is "),
        ([3], "plugins.0 is 3; it must be text"),
    ):
        with pytest.raises(ConfigError) as raised:
            plan({**CONFIG, "plugins": folders}, tmp_path)
        answers.hold(
            f"`plugins: {str(folders).replace(package, 'mine')}`", str(raised.value).replace(package, "mine"), said
        )


def test_what_a_change_of_a_plug_in_runs_again(package, tmp_path):
    config = rewarded(package)
    checked({**config, "data": str(tmp_path / "data")}, ROOT)
    folder = tmp_path / "data" / package / "training" / "rewards" / "brevity"
    file, text = folder / "reward.py", (folder / "reward.py").read_text()
    jobs = {
        "finetune_captioner": modules_of("training.rewards", ["brevity"]),
        "read_corpus": modules_of("corpora.readers", ["photos"]),
        "score_captions": modules_of("evaluation.metrics", ["repetition"]),
        "generate_captions": {},
    }

    def codes():
        found = Fingerprints(ROOT, outside().items())
        return {script: found.of(script, *modules) for script, modules in jobs.items()}

    def changed(before, after):
        return [script for script in jobs if before[script] != after[script]]

    first = codes()
    file.write_text(
        text.replace("def brevity", "# A comment.\n\n\ndef brevity").replace("Return the reward", "Give it")
    )
    assert codes() == first
    (folder.parents[2] / "words.py").write_text("def count(text):\n    return len(text.split())\n\n\nOTHER = 1\n")
    text = text.replace("import torch\n", f"import torch\n\nfrom {package}.words import count\n")
    text = text.replace("len(caption.split())", "count(caption)")
    file.write_text(text)
    second = codes()
    assert changed(first, second) == ["finetune_captioner"]
    (folder.parents[2] / "words.py").write_text("def count(text):\n    return len(text)\n\n\nOTHER = 2\n")
    third = codes()
    assert changed(second, third) == ["finetune_captioner"]
    (folder.parents[2] / "words.py").write_text("def count(text):\n    return len(text)\n\n\nOTHER = 3\n")
    assert codes() == third
    (tmp_path / "elsewhere").mkdir()
    moved = (tmp_path / "data" / package).rename(tmp_path / "elsewhere" / package)
    found = Fingerprints(ROOT, [(package, moved)])
    assert {script: found.of(script, *modules) for script, modules in jobs.items()} == third
