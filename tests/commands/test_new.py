"""`captionlab new` writes plug-ins that work: their own tests pass, and their configs are planned."""

import os
import subprocess
import sys

import pytest
import yaml
from support.plans import plan

from captionlab.commands.main import main
from captionlab.commands.new_command import KINDS
from captionlab.places import VARIABLE, outside

# The rule that runs the plug-in of each kind, in the run of its config.
RULES = {
    "captioner": "write_captions",
    "reader": "read_corpus",
    "reward": "finetune_captioner",
    "objective": "finetune_captioner",
    "metric": "score_captions",
    "paper": "tabulate_mypaper",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a plug-in of each kind, in one package."""
    folder = tmp_path_factory.mktemp("started")
    for kind in KINDS:
        assert main(["new", kind, f"my{kind}", "--folder", str(folder)]) == 0
    return folder


def test_its_tests_pass(folder):
    files = sorted(path.name for path in folder.glob("test_*.py"))
    assert files == sorted(f"test_my{kind}.py" for kind in KINDS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files],
        cwd=folder,
        env={name: value for name, value in os.environ.items() if name != VARIABLE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"{2 * len(KINDS)} passed" in done.stdout, done.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_its_config_is_planned(folder, tmp_path, monkeypatch, kind):
    monkeypatch.setenv(VARIABLE, "{}")
    config = yaml.safe_load((folder / f"my{kind}.yaml").read_text())
    assert config["data"] == str(folder)
    planned = plan(config, tmp_path, data=folder, stand_ins=False)
    assert outside() == {"mine": folder / "mine"}
    assert planned.of(RULES[kind])


def test_its_page_has_three_commands_with_files_that_are_there(folder):
    text = (folder / "mycaptioner.md").read_text()
    commands = text.split("```")[1].splitlines()[1:]
    assert len(commands) == 3
    for command in commands:
        for word in command.split():
            if word.endswith((".yaml", ".py", "Snakefile")):
                assert (folder / word).is_file()
    assert (folder / text.split("in `")[1].split("`")[0]).is_dir()


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("reward", "My Reward", "'My Reward' is no name for a reward; write lower-case letters, digits and hyphens"),
        ("reward", "off", "'off' is no name for a reward"),
        ("reward", "class", "'class' is no name for a reward"),
        ("paper", "two-words", "'two-words' is no name for a paper; write lower-case letters, digits, as in myown"),
        ("reward", "bleu", "captionlab has a reward 'bleu' already; choose another name"),
        ("captioner", "human", "captionlab has a captioner 'human' already; choose another name"),
        ("captioner", "mycaptioner", "is there already; choose another name or --folder"),
    ],
)
def test_names_that_cannot_be(folder, capsys, answers, kind, name, said):
    assert main(["new", kind, name, "--folder", str(folder)]) == 1
    answers.hold(f"`captionlab new {kind} {name}`", capsys.readouterr().err.replace(str(folder), "…"), said)
