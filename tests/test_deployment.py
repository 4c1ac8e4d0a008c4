"""The workflow where others take it from: deployed from a hosted repository, used as a module, found by a catalogue."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from support.checkouts import ROOT, make_repository
from support.running import FUNCTIONS_BESIDE_RULES, lint

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
REPOSITORY, TAG = PROJECT["urls"]["Repository"], f"v{PROJECT['version']}"
CONFIG = ROOT / "tests" / "runs" / "config.yaml"
# Of a module in a repository of this machine, as `github` is of one there.
FROM_HERE = """
module captionlab:
    snakefile: gitfile("{}", path="workflow/Snakefile", tag="{}")
    config: config
use rule * from captionlab
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("hosted") / "captionlab", TAG)


@pytest.fixture(scope="module")
def environment(repository: Path) -> dict[str, str]:
    """Git takes the address of the repository for its folder, so everything else is as on a machine with a network."""
    settings = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{repository}.insteadOf"}
    return {**os.environ, **settings, "GIT_CONFIG_VALUE_0": REPOSITORY, "PYTHONPATH": ""}


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    """What `snakedeploy deploy-workflow` makes, with the smallest config."""
    folder = tmp_path_factory.mktemp("deployed") / "mine"
    run(["snakedeploy", "deploy-workflow", REPOSITORY, str(folder), "--tag", TAG], folder.parent, environment)
    shutil.copy(CONFIG, folder / "config" / "config.yaml")
    return folder


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bin/ of an environment that has Snakemake, in versions of the lock file, and nothing that scripts need."""
    folder = tmp_path_factory.mktemp("stock")
    cache = os.environ.get("UV_CACHE_DIR", str(Path.home() / ".cache" / "uv"))
    environment = {**os.environ, "UV_CACHE_DIR": cache}
    run(["uv", "venv", "--quiet", "--python", sys.executable, str(folder / "venv")], folder, environment)
    only = ["snakemake", "--constraint", str(ROOT / "requirements.lock")]
    run(["uv", "pip", "install", "--quiet", "--python", str(folder / "venv"), *only], folder, environment)
    return folder / "venv" / "bin"


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def jobs(plan: str) -> int:
    """The number of jobs in what a dry run printed."""
    return int(re.findall(r"^total +(\d+)$", plan, re.MULTILINE)[-1])


@pytest.mark.slow
def test_what_snakedeploy_makes_is_planned_by_snakemake_alone(deployed, stock, repository, environment):
    command = [str(stock / "python"), "-m", "snakemake", "--cores", "1", "--dry-run"]
    there = jobs(run(command, deployed, environment))
    here = jobs(run([*command, "--configfile", str(CONFIG)], repository, environment))
    assert there == here > 50


@pytest.mark.slow
def test_what_snakedeploy_makes_runs_and_knows_its_commit(deployed, repository, environment):
    target = "results/corpora/coco/captions.parquet"
    run([sys.executable, "-m", "snakemake", target, "--cores", "1"], deployed, environment)
    assert (deployed / target).exists()
    commit = run(["git", "rev-parse", "HEAD"], repository, environment).strip()
    (provenance,) = (deployed / "results" / "provenance").rglob("*.json")
    assert json.loads(provenance.read_text())["commit"] == commit[:12]


@pytest.mark.slow
def test_from_a_folder_snakedeploy_leaves_out_which(tmp_path, repository, environment):
    run(["snakedeploy", "deploy-workflow", str(repository), "mine", "--tag", TAG], tmp_path, environment)
    snakefile = tmp_path / "mine" / "workflow" / "Snakefile"
    text = snakefile.read_text()
    assert text.count('"workflow/Snakefile"') == 1
    snakefile.write_text(text.replace('"workflow/Snakefile"', f'"{repository}/workflow/Snakefile"'))
    shutil.copy(CONFIG, tmp_path / "mine" / "config" / "config.yaml")
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run"]
    assert jobs(run(command, tmp_path / "mine", environment)) > 50


@pytest.mark.slow
def test_a_module_from_a_repository_of_this_machine_is_planned(tmp_path, repository, environment):
    (tmp_path / "Snakefile").write_text(FROM_HERE.format(repository, TAG))
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--dry-run", "--configfile", str(CONFIG)]
    assert jobs(run(command, tmp_path, environment)) > 50


@pytest.mark.slow
def test_the_catalogue_finds_functions_beside_rules_and_nothing_else(repository, stock, environment):
    """It looks for these files, and runs Snakemake's linter and snakefmt in a clone, with nothing else installed."""
    settings = yaml.safe_load((repository / ".snakemake-workflow-catalog.yml").read_text())
    assert settings["usage"]["software-stack-deployment"] == {"conda": True}
    assert settings["usage"]["mandatory-flags"]["flags"] == "--sdm conda"
    assert all((repository / name).exists() for name in ("config/README.md", "LICENSE", "workflow/Snakefile"))
    assert {"snakemake", "workflow"} <= set(re.findall(r"\w+", (repository / "README.md").read_text().lower()))
    assert lint([str(stock / "snakemake")], repository, environment) == {FUNCTIONS_BESIDE_RULES}
    rules = [str(path) for path in sorted((repository / "workflow" / "rules").glob("*.smk"))]
    run([sys.executable, "-m", "snakefmt", "--check", "workflow/Snakefile", *rules], repository, environment)
