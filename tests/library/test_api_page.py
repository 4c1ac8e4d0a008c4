"""docs/api.md has every public name as its docstring has it, and its examples run."""

import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest

import captionlab
from captionlab.commands.main import main
from captionlab.generation.captions import read_caption_file

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code before the reference."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT.partition("## Reference")[0], re.MULTILINE | re.DOTALL)


def test_the_reference_is_that_of_the_docstrings():
    generator = runpy.run_path(str(ROOT / "docs" / "api.py"))
    assert generator["with_reference"](TEXT) == TEXT, "python docs/api.py writes it anew"


def test_every_public_name_is_on_the_page():
    assert [name for name in captionlab.__all__ if f"### captionlab.{name}\n" not in TEXT] == ["__version__"]
    assert "`__version__`" in TEXT
    assert dir(captionlab) == sorted(captionlab.__all__)


def test_every_public_name_is_there():
    assert all(callable(getattr(captionlab, name)) for name in captionlab.__all__ if name != "__version__")
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", captionlab.__version__)
    assert not hasattr(captionlab, "scores")


def test_the_examples_run(tiny_run, tmp_path, monkeypatch, capsys):
    shutil.copytree(tiny_run, tmp_path / "runs" / "a")
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks("python")), {})
    printed = capsys.readouterr().out
    assert "['clipcap', 'human'] ['main', 'sampled'] ['drawings']" in printed
    assert "Interval(" in printed
    [command] = blocks("bash")
    program, *arguments = shlex.split(command)
    assert (program, main(arguments)) == ("captionlab", 0)
    assert len(read_caption_file("captions.json")) == 8


@pytest.mark.parametrize("name", ["load_captioner", "load_reward"])
def test_a_call_without_its_packages_says_what_to_install(monkeypatch, name):
    module = {"load_captioner": "captioner", "load_reward": "rewards"}[name]
    monkeypatch.delitem(sys.modules, f"captionlab.library.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=rf"captionlab\.{name} needs torch.*captionlab\[workflow\]"):
        getattr(captionlab, name)
