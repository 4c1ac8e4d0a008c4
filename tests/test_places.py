"""Packages of plug-ins outside captionlab are found in the folders of a config and among installed packages."""

import importlib
import os
import subprocess
import sys
from itertools import count

import pytest
from support.templates import install_into

from captionlab import plugins
from captionlab.config.rewards import RewardFacts
from captionlab.places import VARIABLE, PluginError, outside

NUMBERS = count()


@pytest.fixture(autouse=True)
def nothing_in_use(monkeypatch):
    """Use no package of plug-ins before and after a test."""
    monkeypatch.setenv(VARIABLE, "{}")


@pytest.fixture
def package(tmp_path):
    """A package with the reward `brevity`. Its name is new in this process, which imports it."""
    folder = tmp_path / f"mine_{next(NUMBERS)}"
    install_into(folder, "training/rewards/brevity")
    return folder


def test_a_plug_in_of_a_folder_is_one_of_all(package):
    built_in = plugins.names("training.rewards")
    plugins.use([package])
    assert {*plugins.names("training.rewards")} == {*built_in, "brevity"}
    assert plugins.facts("training.rewards")["brevity"] == RewardFacts()
    assert plugins.place_of("training.rewards", "brevity") == package / "training" / "rewards" / "brevity"
    assert plugins.work_module("training.rewards", "brevity") == f"{package.name}.training.rewards.brevity.reward"
    assert plugins.headline("training.rewards", "brevity").startswith("Reward of brevity")
    assert plugins.defined("training.rewards", "brevity", "build")
    assert [plugins.is_built_in("training.rewards", name) for name in ("brevity", "bleu")] == [False, True]
    plugins.use([])
    assert plugins.names("training.rewards") == built_in
    assert VARIABLE not in os.environ


def test_processes_that_are_started_know_it_and_import_nothing_else_beside_it(package):
    (package.parent / "stranger.py").write_text("")
    plugins.use([package])
    code = "from captionlab import plugins; print(plugins.defined('training.rewards', 'brevity', 'brevity').__module__)"
    started = [sys.executable, "-c", f"{code}\nimport stranger"]
    done = subprocess.run(started, capture_output=True, text=True, check=False, cwd="/")
    assert done.stdout.strip() == f"{package.name}.training.rewards.brevity.reward"
    assert "No module named 'stranger'" in done.stderr


def test_an_installed_package_names_itself(package, monkeypatch):
    installed = package.parent / "mine-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text(f"[captionlab.plugins]\nmine = {package.name}\n")
    monkeypatch.syspath_prepend(package.parent)
    plugins.use([])
    assert outside() == {package.name: package}
    assert "brevity" in plugins.names("training.rewards")
    plugins.use([package])  # a checkout that is installed, too
    assert outside() == {package.name: package}


def test_an_installed_package_that_names_nothing(tmp_path, monkeypatch, answers):
    installed = tmp_path / "theirs-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[captionlab.plugins]\ntheirs = theirs_away\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(PluginError) as raised:
        plugins.use([])
    names = "theirs has the entry point theirs = theirs_away of captionlab.plugins, which is no package"
    answers.hold("an entry point of no package", raised.value, names)


def test_folders_that_are_no_packages(package, tmp_path, answers):
    for name in ("my-plugins", "empty_one", "yaml", "other"):
        (tmp_path / name).mkdir()
    for name in ("my-plugins", "yaml"):
        install_into(tmp_path / name, "training/rewards/brevity")
    importlib.invalidate_caches()
    for name, said in (
        ("away", "there is no folder"),
        ("my-plugins", "cannot be imported as a package; rename it, with letters, digits and _ alone"),
        ("empty_one", "has no plug-ins; folders of plug-ins are captioners, encoders,"),
        ("yaml", "has the name of another package"),
    ):
        with pytest.raises(PluginError) as raised:
            plugins.use([package, tmp_path / name])
        answers.hold(f"`plugins: [{name}]`", str(raised.value).replace(os.path.dirname(sys.prefix), "…"), said)


def test_names_are_unique(package, tmp_path, answers):
    other = tmp_path / f"theirs_{next(NUMBERS)}"
    install_into(other, "training/rewards/brevity")
    plugins.use([package, other])
    with pytest.raises(PluginError) as raised:
        plugins.facts("training.rewards")
    for place in (package, other):
        assert str(place / "training" / "rewards" / "brevity") in str(raised.value)
    (other / "training" / "rewards" / "brevity").rename(other / "training" / "rewards" / "bleu")
    plugins.use([other])
    with pytest.raises(PluginError, match=r"captionlab/training/rewards/bleu and .*have the same name; rename one"):
        plugins.facts("training.rewards")
    (other / "captioners" / "human").mkdir(parents=True)
    (other / "captioners" / "human" / "config.py").write_text("")
    with pytest.raises(PluginError, match=r"captioners/human: 'human' has another meaning in a config; rename"):
        plugins.names("captioners")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FACTS = (\n", "config.py, line 1: SyntaxError"),
        ("import os\n\nimport no_such_library\n", "config.py, line 3: ModuleNotFoundError: No module named 'no_such"),
        ("import os\nFACTS = os.path.joint\n", "config.py, line 2: AttributeError"),
        ("from .helper import words\n", "helper.py, line 2: ZeroDivisionError: division by zero"),
    ],
)
def test_a_config_that_cannot_be_imported_is_named_with_its_line(package, text, said):
    folder = package / "training" / "rewards" / "brevity"
    (folder / "config.py").write_text(text)
    (folder / "helper.py").write_text("words = 1\nwords = words / 0\n")
    plugins.use([package])
    with pytest.raises(PluginError) as raised:
        plugins.facts("training.rewards")
    assert str(folder) in str(raised.value)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
