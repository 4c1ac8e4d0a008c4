"""What strangers read first: version, address, licence and citation, each of which has one place and copies."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from support.running import FUNCTIONS_BESIDE_RULES, lint

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text())


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("CITATION.cff", r"^version: (\S+)$"),
        ("Dockerfile", r'image\.version="(\S+)"'),
        ("Dockerfile", r"--tag \S+:(\S+) "),
        ("docs/deployment.md", r"--tag v([\d.]+)$"),
        ("docs/deployment.md", r'tag="v([\d.]+)"'),
        ("docs/deployment.md", r"captionlab/captionlab:([\d.]+)"),
        ("docs/clusters.md", r"captionlab:([\d.]+)"),
        ("profiles/kubernetes/profile.yaml", r"^container-image: \S+:(\S+)$"),
    ],
)
def test_the_version_is_that_of_the_project(file, pattern):
    assert set(re.findall(pattern, (ROOT / file).read_text(), re.MULTILINE)) == {PROJECT["version"]}


def test_the_newest_changes_are_those_of_the_version_and_of_its_day():
    version, day = re.search(r"^## (\S+), (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    assert (version, day) == (PROJECT["version"], CITATION["date-released"])


@pytest.mark.parametrize("file", ["CITATION.cff", "Dockerfile", "docs/deployment.md"])
def test_the_repository_is_where_the_project_says(file):
    addresses = re.findall(r"https://github\.com/[\w-]+/[\w-]+", (ROOT / file).read_text())
    assert set(addresses) == {PROJECT["urls"]["Repository"]}


@pytest.mark.parametrize("file", ["Dockerfile", "docs/deployment.md", "profiles/kubernetes/profile.yaml"])
def test_the_image_is_named_after_the_repository(file):
    owner_and_name = PROJECT["urls"]["Repository"].split("github.com/")[1]
    images = re.findall(r"([\w/-]+):\d+\.\d+\.\d+\b", (ROOT / file).read_text())
    assert set(images) == {owner_and_name}


def test_the_licence_is_one():
    assert PROJECT["license"] == CITATION["license"] == "MIT"
    first, _, whose = (ROOT / "LICENSE").read_text().splitlines()[:3]
    (author,) = CITATION["authors"]
    assert (first, whose) == ("MIT License", f"Copyright (c) 2026 {author['name']}")
    assert PROJECT["authors"] == [author]


def test_the_citation_is_well_formed():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.citation-file-format"]
    done = subprocess.run([*command, ROOT / "CITATION.cff"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_paper_of_the_readme_is_cited():
    rows = re.findall(r"^\| \*\*\w+\*\*: (\S+).*? (\d{4}), \*(.+?)\*", (ROOT / "README.md").read_text(), re.MULTILINE)
    papers = (ROOT / "src" / "captionlab" / "papers").glob("*/published.csv")
    assert len(rows) == len(list(papers))
    cited = {(r["authors"][0]["family-names"], str(r["year"]), r["title"]) for r in CITATION["references"]}
    assert cited == set(rows)


def test_snakemake_finds_nothing_in_the_rules_but_that_input_functions_stand_above_them():
    assert lint([sys.executable, "-m", "snakemake"], ROOT) == {FUNCTIONS_BESIDE_RULES}
