"""The lock file and what is made from it."""

import re
import runpy
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from snakemake.cli import get_argument_parser

ROOT = Path(__file__).parents[1]


@pytest.fixture
def licences(monkeypatch: pytest.MonkeyPatch) -> dict:
    """What envs/licences.py defines, beside which is what it imports."""
    monkeypatch.syspath_prepend(ROOT / "envs")
    return runpy.run_path(str(ROOT / "envs" / "licences.py"))


def test_the_conda_environment_agrees_with_the_lock_file():
    environment = runpy.run_path(str(ROOT / "envs" / "generate.py"))["environment"]
    text = (ROOT / "envs" / "captionlab.yaml").read_text()
    assert text == environment(ROOT)
    locked = re.findall(r"^[\w.-]+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert re.findall(r"^ {6}- \"([\w.-]+)", text, re.MULTILINE) == locked


def test_every_locked_package_has_a_hash_and_no_host_is_named():
    text = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) > 100
    assert [e.splitlines()[0] for e in entries if "--hash=sha256:" not in e] == []
    assert "://" not in text


def test_every_direct_dependency_is_locked():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [item for group in project["dependency-groups"].values() for item in group if isinstance(item, str)]
    extras = [item for extra in project["project"]["optional-dependencies"].values() for item in extra]
    items = [*project["project"]["dependencies"], *extras, *groups]
    declared = {re.match(r"[\w.-]+", item).group() for item in items}
    locked = re.findall(r"^([\w.-]+)(?:\[.*\])?==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    assert {name.lower().replace("_", "-") for name in declared} <= {name.lower() for name in locked}


def test_the_limit_of_job_starts_that_the_snakefile_lifts_is_the_default():
    assert get_argument_parser().get_default("max_jobs_per_timespan") == "100/1s"


def test_the_page_of_licences_is_that_of_what_is_installed(licences):
    packages = licences["installed"]()
    assert {"torch", "snakemake", "captionlab"} & packages.keys() == {"torch", "snakemake"}
    assert (ROOT / "docs" / "licences.md").read_text() == licences["page"](packages.items(), licences["read_policy"]())


@pytest.mark.parametrize(
    ("licence", "allowed"),
    [
        ("MIT", True),
        ("MIT AND BSD-3-Clause", True),
        ("GPL-3.0 OR MIT", True),
        ("MIT AND GPL-3.0", False),
        ("MIT License; GNU Affero General Public License v3", False),
        ("UNKNOWN", False),
    ],
)
def test_a_licence_that_nobody_allowed_is_refused_by_name(licences, licence, allowed):
    packages, policy = [("numpy", "BSD-3-Clause"), ("stranger", licence)], licences["read_policy"]()
    if allowed:
        assert f"| stranger | {licence} |" in licences["page"](packages, policy)
    else:
        with pytest.raises(SystemExit, match=rf"licences\.yaml.*\nstranger: {licence}$"):
            licences["page"](packages, policy)


def test_no_line_of_the_policy_is_left_over(licences):
    packages, policy = licences["installed"](), licences["read_policy"]()
    said = {part for licence in packages.values() for part in re.split(r" AND | OR |; ", licence)}
    assert set(policy["allowed"]) - said == set()
    named = [(exception["packages"], exception["licence"]) for exception in policy["exceptions"]]
    assert [
        (pattern, licence)
        for pattern, licence in named
        if not any(fnmatchcase(name, pattern) and said == licence for name, said in packages.items())
    ] == []
