"""`captionlab tables` and its kin: what Snakemake is called with, and what is said without it."""

import subprocess
import sys
from pathlib import Path

import pytest

from captionlab.commands import status_command, tables_command, workflow
from captionlab.commands.main import main
from captionlab.reporting.documents.plan import Plan

PACE = ["--cores", "all", "--max-jobs-per-timespan", "300/3s"]


@pytest.fixture
def calls(monkeypatch, tmp_path) -> list[list[str]]:
    """The arguments that Snakemake is called with in an empty folder; `--wrong` is an error."""
    monkeypatch.chdir(tmp_path)
    called: list[list[str]] = []

    def run(arguments: list[str]) -> int:
        called.append(arguments)
        return int("--wrong" in arguments)

    monkeypatch.setattr(tables_command, "run_snakemake", run)
    return called


def test_options_of_snakemake_pass_through(calls):
    options = ["--dry-run", "-np", "--configfile=a.yaml", "--", "results/tables/"]
    Path("a.yaml").write_text("seed: 1")
    assert main(["tables", *options]) == 0
    assert calls == [[*PACE, *options]]


def test_the_place_of_tables_is_said_where_all_were_made(calls, capsys):
    for options, place in (([], ""), (["--limit", "5"], ""), (["--directory", "/runs/a b"], "/runs/a b/")):
        assert main(["tables", *options]) == 0
        assert f"open {place}results/index.html; tables are in {place}results/tables/" in capsys.readouterr().err
    assert main(["tables", "--dry-run"]) == 0
    assert main(["tables", "--wrong"]) == 1
    assert capsys.readouterr().err.startswith("captionlab tables: not all was made, see above; docs/troubleshooting")


def test_a_terminal_shows_bars_unless_the_user_has_another_logger(calls, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["tables", "--dry-run"]) == main(["tables", "--logger", "own"]) == 0
    assert calls == [[*PACE, "--logger", "rich", "--dry-run"], [*PACE, "--logger", "own"]]


def test_a_limit_becomes_a_value_of_the_config(calls, capsys):
    for words, expected in (
        (["--limit", "50", "--", "a.csv"], ["--config", "limit=50", *PACE, "--", "a.csv"]),
        (["--limit=50", "a.csv"], ["--config", "limit=50", *PACE, "a.csv"]),
        # Snakemake takes the last --config alone.
        (["--config", "a=1", "--limit", "5", "-n"], [*PACE, "--config", "limit=5", "a=1", "-n"]),
        (["--config=a=1", "--limit", "5"], [*PACE, "--config", "limit=5", "a=1"]),
        (["-C", "a=1", "--limit", "5"], [*PACE, "-C", "limit=5", "a=1"]),
    ):
        calls.clear()
        assert main(["tables", *words]) == 0
        assert calls == [expected]
    assert main(["tables", "--limit"]) == 1
    assert "--limit needs a number" in capsys.readouterr().err


def test_the_status_takes_the_limit_of_the_run(monkeypatch, tmp_path, capsys):
    arguments: list[list[str]] = []
    monkeypatch.setattr(status_command, "read_plan", lambda given: arguments.append(given) or Plan(tmp_path, [], False))
    assert main(["status", "--limit", "20", "--directory", "runs/first", "a.csv"]) == 0
    assert arguments == [["--config", "limit=20", *workflow.SNAKEFILE, "--directory", "runs/first", "a.csv"]]
    assert main(["status", "--config", "spice=off", "--limit=20"]) == 0
    assert arguments[1:] == [[*workflow.SNAKEFILE, "--config", "limit=20", "spice=off"]]
    assert main(["status", "--limit"]) == 1
    assert "--limit needs a number" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["tables", "status"])
def test_a_config_file_that_is_missing_is_a_sentence(calls, answers, capsys, command):
    Path("there.yaml").write_text("seed: 1")
    missing = f"captionlab {command}: there is no config file away.yaml; two dashes come before targets"
    for options in (["--configfile", "there.yaml", "away.yaml"], ["-n", "--configfile=away.yaml", "--cores", "1"]):
        assert main([command, *options]) == 1
        assert answers.hold(f"no config file for {command}", capsys.readouterr().err, "away.yaml").startswith(missing)
    assert calls == []


def test_targets_after_two_dashes_are_no_config_files(calls):
    Path("there.yaml").write_text("seed: 1")
    for right in (["--configfile", "there.yaml", "--", "away"], ["--configfile=there.yaml", "-n", "away"]):
        workflow.check_configs(right)


@pytest.mark.parametrize("command", ["tables", "status", "try", "data"])
def test_help_is_of_the_command(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: captionlab {command}")


def test_a_python_with_a_blank_in_its_path_starts_no_jobs(monkeypatch, tmp_path, answers, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", "/my programs/python")
    assert main(["tables"]) == 1
    answers.hold("captionlab installed in a folder with a blank", capsys.readouterr().err, "/my programs/python")


@pytest.mark.parametrize("command", ["tables", "status", "data"])
def test_without_the_extra_a_sentence_says_how_to_install_it(command, answers):
    code = "import sys; sys.modules['snakemake'] = None\n"
    code += "from captionlab.commands.main import main; sys.exit(main(sys.argv[1:]))"
    words = [command, *(["a.yaml"] if command == "data" else [])]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.returncode == 1
    answers.hold(f"{command} without Snakemake", done.stderr, "pip install 'captionlab[workflow]'")
    assert done.stderr.count("\n") == 1


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("captionlab ")
