"""A job that makes again what was there ends the cascade: Snakemake itself, on four jobs that note that they ran."""

import subprocess
import sys

import pytest

SNAKEFILE = """
from captionlab.workflow.cascades import end_cascades

onstart:
    end_cascades(workflow)

rule all:
    default_target: True
    input: "last.txt", "other.txt"

rule first:
    input: "given.txt"
    output: "first.txt", provenance="first.json"
    shell: "echo first >> ran; head -c 3 {input} > {output[0]}; date +%N > {output.provenance}"

rule middle:
    input: "first.txt"
    output: "middle.txt", provenance="middle.json"
    params: times=config.get("times", 1)
    benchmark: "middle.tsv"
    shell: "echo middle >> ran; cat {input} {input} > {output[0]}; date +%N > {output.provenance}"

rule last:
    input: "middle.txt"
    output: directory("last.txt")
    shell: "echo last >> ran; mkdir {output}; cp {input} {output}"

rule other:
    input: "first.txt", "side.txt"
    output: "other.txt"
    shell: "echo other >> ran; cat {input} > {output}"
"""


@pytest.fixture
def run(tmp_path):
    """Runs the DAG and says which of its jobs ran, in order of their names; the first time all of them."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "given.txt").write_text("one and more")
    (tmp_path / "side.txt").write_text("side")

    def snakemake(*arguments):
        (tmp_path / "ran").write_text("")
        command = [sys.executable, "-m", "snakemake", "--cores", "1", "--max-checksum-file-size", "1TB"]
        command += ["--rerun-triggers", "mtime", "params", "input", "software-env", "--nolock", *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        snakemake.said = done.stdout + done.stderr
        return sorted((tmp_path / "ran").read_text().split())

    assert snakemake() == ["first", "last", "middle", "other"]
    return snakemake


def test_what_is_made_again_as_it_was_makes_nothing_else_run(run, tmp_path):
    (tmp_path / "given.txt").write_text("one and something else")
    before = (tmp_path / "middle.tsv").read_text()
    assert run() == ["first"]
    assert "5 of 5 steps (100%) done" in run.said
    assert (tmp_path / "middle.tsv").read_text() == before
    # Nor does the next call read files again to compare them: all are newer than what they are made from.
    times = [(tmp_path / name).stat().st_mtime_ns for name in ("first.txt", "middle.tsv", "middle.txt", "middle.json")]
    times.append((tmp_path / "last.txt" / ".snakemake_timestamp").stat().st_mtime_ns)
    assert times[0] <= min(times[1:4]) <= max(times[1:4]) <= times[4]
    assert run("--dry-run") == []
    assert "Nothing to be done" in run.said


def test_what_changed_runs_on(run, tmp_path):
    (tmp_path / "given.txt").write_text("two and more")
    assert run() == ["first", "last", "middle", "other"]
    assert (tmp_path / "last.txt" / "middle.txt").read_text() == "twotwo"


def test_a_job_below_runs_where_it_has_reasons_of_its_own(run, tmp_path):
    """Snakemake does not look at these where something above runs: they are looked for when it has ended."""
    (tmp_path / "side.txt").write_text("another side")
    (tmp_path / "last.txt" / "middle.txt").unlink()
    (tmp_path / "last.txt" / ".snakemake_timestamp").unlink()
    (tmp_path / "last.txt").rmdir()
    assert run("--forcerun", "first", "--config", "times=2") == ["first", "last", "middle", "other"]
    assert run("--forcerun", "first", "middle", "--config", "times=2") == ["first", "middle"]
