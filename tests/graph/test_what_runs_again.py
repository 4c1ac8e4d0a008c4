"""Snakemake itself, as profiles/default sets it, on four jobs that note that they ran."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

SNAKEFILE = """
rule all:
    default_target: True
    input: "last.txt", "other.txt"

rule first:
    input: "given.txt"
    output: "first.txt"
    shell: "echo first >> ran; head -c 3 {input} > {output}"

rule middle:
    input: "first.txt"
    output: "middle.txt"
    shell: "echo middle >> ran; cat {input} {input} > {output}"

rule last:
    input: "middle.txt"
    output: directory("last.txt")
    shell: "echo last >> ran; mkdir {output}; cp {input} {output}"

rule other:
    input: "first.txt", "side.txt"
    output: "other.txt"
    shell: "echo other >> ran; cat {input} > {output}"
"""
PROFILE = yaml.safe_load((Path(__file__).parents[2] / "profiles/default/profile.yaml").read_text(encoding="utf-8"))
ALL = ["first", "last", "middle", "other"]


@pytest.fixture
def run(tmp_path):
    """Runs the jobs that targets need and returns their names in alphabetical order."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "given.txt").write_text("one and more")
    (tmp_path / "side.txt").write_text("side")
    (tmp_path / "profile.yaml").write_text(yaml.safe_dump({**PROFILE, "cores": 1}))

    def snakemake(*arguments):
        (tmp_path / "ran").write_text("")
        command = [sys.executable, "-m", "snakemake", "--workflow-profile", ".", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return sorted((tmp_path / "ran").read_text().split())

    assert snakemake() == ALL
    return snakemake


def test_what_is_made_again_as_it_was_makes_nothing_run_in_the_next_call(run, tmp_path):
    (tmp_path / "given.txt").write_text("one and something else")
    assert run("first.txt") == ["first"]
    assert run() == []


def test_within_a_call_all_below_a_job_runs(run, tmp_path):
    (tmp_path / "given.txt").write_text("one and something else")
    assert run() == ALL
    assert run() == []


def test_another_content_runs_what_reads_it(run, tmp_path):
    (tmp_path / "side.txt").write_text("another side")
    (tmp_path / "given.txt").touch()
    assert run() == ["other"]
