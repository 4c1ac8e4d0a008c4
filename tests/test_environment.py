"""The lock file and what is made from it."""

import re
import runpy
import tomllib
from pathlib import Path

from snakemake.cli import get_argument_parser

ROOT = Path(__file__).parents[1]


def test_the_conda_environment_agrees_with_the_lock_file():
    environment = runpy.run_path(str(ROOT / "envs" / "generate.py"))["environment"]
    assert (ROOT / "envs" / "captionlab.yaml").read_text() == environment(ROOT)


def test_every_locked_package_has_a_hash_and_no_host_is_named():
    text = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) > 100
    assert [e.splitlines()[0] for e in entries if "--hash=sha256:" not in e] == []
    assert "://" not in text


def test_every_direct_dependency_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [item for group in project["dependency-groups"].values() for item in group if isinstance(item, str)]
    items = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["slurm"], *groups]
    declared = {re.match(r"[\w.-]+", item).group() for item in items}
    locked = re.findall(r"^([\w.-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert {name.lower().replace("_", "-") for name in declared} <= {name.lower() for name in locked}


def test_the_limit_of_job_starts_that_the_snakefile_lifts_is_the_default():
    assert get_argument_parser().get_default("max_jobs_per_timespan") == "100/1s"
