"""Every plug-in keeps the contract that authors of plug-ins can check, and what does not is told so."""

from itertools import count

import pytest
from support.templates import install_into

from captionlab import plugins
from captionlab.config.contract import CONTRACTS, check_plugin
from captionlab.places import VARIABLE, PluginError

NUMBERS = count()


def test_there_is_a_contract_for_every_package():
    assert CONTRACTS.keys() == {*plugins.WORK, plugins.PAPERS}


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package in CONTRACTS for name in plugins.names(package)]
)
def test_what_comes_with_captionlab_keeps_the_contract(package, name):
    check_plugin(package, name)


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return a function that installs a plug-in of docs/extending.md with a text replaced, and returns its name."""
    monkeypatch.setenv(VARIABLE, "{}")

    def mine(folder, file="", old="", new=""):
        package = tmp_path / f"checked_{next(NUMBERS)}"
        place = install_into(package, folder)
        if file:
            text = (place / file).read_text()
            assert old in text
            (place / file).write_text(text.replace(old, new))
        plugins.use([package])
        return place.name.replace("_", "-")

    return mine


def test_templates_keep_it(mine):
    for folder in ("training/rewards/brevity", "training/objectives/best_of", "corpora/readers/photos"):
        check_plugin(folder.rpartition("/")[0].replace("/", "."), mine(folder))
    check_plugin("evaluation.metrics", mine("evaluation/metrics/repetition"))
    check_plugin("captioners", mine("captioners/gru"))


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("config.py", "FACTS = RewardFacts()", "FACTS = 3", "config.py: FACTS must be RewardFacts(...); it is 3"),
        ("config.py", "class Config(", "class Settings(", "config.py has no model Config"),
        (
            "config.py",
            ', description="words of a caption that cost nothing"',
            "",
            "the key words of Config has no desc",
        ),
        ("config.py", '"""Config of the reward brevity."""', "", "config.py begins with no docstring"),
        ("config.py", '    """Brevity of a caption."""\n', "", "config.py: the model Config has no docstring"),
        ("reward.py", "def build(", "def make(", "reward.py does not define build"),
        ("reward.py", '"""Reward of brevity', 'TEXT = """Reward of brevity', "reward.py begins with no docstring"),
    ],
)
def test_what_is_missing_is_said(mine, file, old, new, said):
    name = mine("training/rewards/brevity", file, old, new)
    with pytest.raises(PluginError) as raised:
        check_plugin("training.rewards", name)
    assert said in str(raised.value)


def test_a_package_that_there_is_not(mine):
    with pytest.raises(ValueError, match=r"'training\.reward' is no package of plug-ins; there are captioners, "):
        check_plugin("training.reward", "bleu")
    with pytest.raises(ValueError, match=r"training\.rewards have no 'blue'; there are accuracy"):
        check_plugin("training.rewards", "blue")
