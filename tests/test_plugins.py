"""Plug-ins are found by their folders, and one that lacks something is told so in one sentence."""

import importlib

import pytest

from captionlab import plugins
from captionlab.config.papers import check_papers
from captionlab.places import VARIABLE
from captionlab.plugins import WORK, PluginError, facts, names, work_module

PACKAGES = sorted({*WORK} - {"training.objectives"})  # objectives have no FACTS


@pytest.mark.parametrize("package", PACKAGES)
def test_every_plugin_has_facts_and_a_module_that_works(package):
    assert {*facts(package)} == {*names(package)} != set()
    for name in names(package):
        assert importlib.util.find_spec(work_module(package, name))


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """The folder of a plug-in of the scorers, in a package outside captionlab."""
    folder = tmp_path / tmp_path.name.replace("-", "_") / "scorers" / "mine"
    folder.mkdir(parents=True)
    monkeypatch.setenv(VARIABLE, "{}")
    plugins.use([folder.parents[1]])
    return folder


def test_a_plugin_without_a_config_or_without_facts_is_named(mine):
    (mine / "scorer.py").write_text("")
    with pytest.raises(PluginError, match=r"there is no .*scorers/mine/config\.py"):
        facts("scorers")
    (mine / "config.py").write_text("")
    with pytest.raises(PluginError, match=r"scorers/mine/config\.py has no FACTS"):
        facts("scorers")


def test_a_paper_that_lacks_a_file_or_has_no_usable_name_is_named(tmp_path, monkeypatch):
    (tmp_path / "rhymes").mkdir()
    monkeypatch.setattr("captionlab.config.papers.place_of", lambda package, name: tmp_path / name)
    for name, said in (("rhymes", "rhymes lacks config.py"), ("two-words", "the name 'two-words' must be of")):
        monkeypatch.setattr("captionlab.config.papers.names", lambda package, name=name: (name,))
        with pytest.raises(PluginError, match=said):
            check_papers()


def test_what_is_not_there_is_said_with_what_is():
    with pytest.raises(ValueError, match=r"'konstant'.*clipcap"):
        plugins.family_class("captioners", "konstant")
