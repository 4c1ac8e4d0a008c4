"""What of a run is made, what would run and why: read off Snakemake's own graph."""

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from captionlab.commands.main import main
from captionlab.reporting.documents.plan import AFTER, Plan, PlannedJob, read_plan, status_text
from captionlab.storage.schemas import COST
from captionlab.storage.tables import write_table

SNAKEFILE = """
import json
from pathlib import Path

def params(wildcards):
    return {"optimizer": {"lr": config["lr"], "steps": 5}}

rule all:
    input: "results/c.txt"
rule train:
    output: "results/a.txt", "results/a.csv"
    log: "results/logs/train/a.log"
    params: config=params, code=config["code"]
    run:
        for path in output:
            open(path, "w").write("a")
        provenance = Path("results/provenance/train/a.json")
        provenance.parent.mkdir(parents=True, exist_ok=True)
        provenance.write_text(json.dumps({"params": dict(params.items())}))
rule score:
    input: "results/a.txt"
    output: "results/b.txt"
    log: "results/logs/score/of/a.log"
    shell: "cp {input} {output}"
rule collect:
    input: "results/b.txt", "given.txt"
    output: "results/c.txt"
    log: "results/logs/collect.log"
    shell: "cat {input} > {output}"
"""
GIVEN = ("--cores", "1", "--rerun-triggers", "mtime", "params", "input", "software-env", "--config")


@pytest.fixture
def run(tmp_path, monkeypatch) -> Path:
    """A folder with a workflow of three jobs, one after the other, none of which has run."""
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    (tmp_path / "given.txt").write_text("given")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def finished(run) -> Path:
    """The same after it ran with a learning rate of 0.1."""
    subprocess.run([sys.executable, "-m", "snakemake", *GIVEN, "lr=0.1", "code=x"], check=True, capture_output=True)
    return run


def why(*given: str) -> dict[str, tuple[str, ...]]:
    return {job.rule: job.why for job in read_plan([*GIVEN, *given]).jobs}


def test_nothing_is_made(run):
    plan = read_plan([*GIVEN, "lr=0.1", "code=x"])
    assert [job[:3] for job in plan.jobs] == [
        ("Snakefile", "train", "a"),
        ("Snakefile", "score", "of/a"),
        ("Snakefile", "collect", ""),
    ]
    assert {job.why for job in plan.jobs} == {("not made yet",)}
    assert not plan.locked
    assert plan.pending == [("train", "a"), ("score", "of/a"), ("collect", "")]
    assert sorted(path.name for path in run.iterdir() if path.name != ".snakemake") == ["Snakefile", "given.txt"]


def test_all_is_made(finished):
    assert why("lr=0.1", "code=x") == {"train": (), "score": (), "collect": ()}


def test_a_parameter_is_named_with_both_values(finished):
    assert why("lr=0.2", "code=x") == {
        "train": ("config.optimizer.lr 0.2, was 0.1",),
        "score": (AFTER,),
        "collect": (AFTER,),
    }
    assert why("lr=0.1", "code=y")["train"] == ("its code",)
    (finished / "results/provenance/train/a.json").write_text(json.dumps({"params": {"config": {"old": 1}}}))
    assert why("lr=0.2", "code=x")["train"] == (
        "config.optimizer.lr 0.2, was –",  # noqa: RUF001
        "config.optimizer.steps 5, was –",  # noqa: RUF001
        "config.old –, was 1",  # noqa: RUF001
        "its code",
    )


def test_files_are_named(finished):
    (finished / "given.txt").write_text("another")
    os.utime(finished / "given.txt")
    assert why("lr=0.1", "code=x") == {"train": (), "score": (), "collect": ("newer or changed: given.txt",)}
    (finished / "results/a.csv").unlink()
    assert why("lr=0.1", "code=x", "--", "results/a.csv") == {"train": ("results/a.csv is not there",)}


def test_a_new_job_has_no_other_reason_than_that(finished):
    new = 'rule read:\n    input: "new.txt"\n    output: "results/d.txt"\n    log: "results/logs/read.log"\n'
    (finished / "Snakefile").write_text(
        SNAKEFILE.replace('"given.txt"', '"results/d.txt"') + f'{new}    shell: "cp {{input}} {{output}}"\n'
    )
    (finished / "new.txt").write_text("newer than the results")
    assert why("lr=0.1", "code=x")["read"] == ("not made yet",)


def test_what_is_asked_for_by_force(finished):
    assert why("lr=0.1", "code=x", "--forcerun", "score")["score"] == ("interrupted, or asked for by force",)


def test_a_job_that_was_killed_is_told_from_one_that_never_ran(finished):
    # As Snakemake marks what it is making; the mark of a job that was killed stays.
    mark = finished / ".snakemake" / "incomplete" / base64.urlsafe_b64encode(b"results/b.txt").decode()
    mark.parent.mkdir(exist_ok=True)
    mark.write_text("")
    found = why("lr=0.1", "code=x", "--rerun-incomplete")
    assert found == {"train": (), "score": ("interrupted, or asked for by force",), "collect": (AFTER,)}


def test_a_lock_is_seen(finished):
    locks = finished / ".snakemake" / "locks"
    locks.mkdir(exist_ok=True)
    (locks / "0.output.lock").write_text("results/b.txt\n")
    plan = read_plan([*GIVEN, "lr=0.1", "code=x"])
    assert plan.locked
    assert "--unlock" in status_text(plan, [])
    assert "--unlock" not in status_text(plan._replace(locked=False), [])


def test_a_plan_that_cannot_be_made_is_said(run, capsys):
    with pytest.raises(SystemExit, match="cannot plan this"):
        read_plan([*GIVEN, "lr=0.1", "code=x", "--", "nothing"])
    assert "No rule to produce nothing" in "".join(capsys.readouterr())


def test_the_folder_of_the_run(run):
    elsewhere = run / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "given.txt").write_text("given")
    plan = read_plan([*GIVEN, "lr=0.1", "code=x", "--directory", "elsewhere"])
    assert plan.folder == Path("elsewhere")
    assert len(plan.pending) == 3
    assert Path.cwd() == run


JOBS = [
    PlannedJob("features", "train_encoder", "a", ()),
    PlannedJob("features", "train_encoder", "b", ("config.lr 2, was 1",)),
    *(PlannedJob("evaluation", "score_nlg", f"c{number}/main", (AFTER,)) for number in range(5)),
    PlannedJob("reporting", "check_claims", "", (AFTER,)),
]
TOOK = [
    {"rule": "train_encoder", "job": "a", "seconds": 60.0},
    {"rule": "train_encoder", "job": "b", "seconds": 90.0},
    {"rule": "score_nlg", "job": "c1/main", "seconds": 5.0},
    {"rule": "score_nlg", "job": "gone/main", "seconds": 1000.0},
]


def rows(text: str) -> dict[tuple[str, ...], list[str]]:
    """The cells of each row of a table in Markdown by its first two cells."""
    cells = [re.split(r" *\| *", line.strip("| ")) for line in text.splitlines() if line.startswith("|")]
    return {(*row[:2],): row[2:] for row in cells}


def test_the_status_counts_times_and_reasons():
    found = rows(status_text(Plan(Path(), JOBS, False), TOOK))
    assert found["features", "2"] == ["1", "0:01:00"]
    assert found["evaluation", "5"] == ["0", "–"]  # noqa: RUF001
    assert found["all", "8"] == ["1", "0:01:00"]
    assert found["train_encoder", "1"] == ["b", "0:01:30", "config.lr 2, was 1"]
    assert found["score_nlg", "5"] == ["c0/main, c1/main, c2/main and 2 more", "0:00:05", AFTER]
    assert found["check_claims", "1"] == ["–", "–", AFTER]  # noqa: RUF001


def test_columns_stand_below_each_other():
    tables = status_text(Plan(Path(), JOBS, False), TOOK).strip().split("\n\n")
    for table in (tables[0], tables[2]):
        bars = [[place.start() for place in re.finditer(r"\|", line)] for line in table.splitlines()]
        assert all(place == bars[0] for place in [bars[0], *bars[2:]])


def test_where_all_is_made_nothing_would_run():
    text = status_text(Plan(Path(), JOBS[:1], False), TOOK)
    assert text.endswith("\nNothing would run.\n")


def test_the_command_asks_snakemake_with_its_arguments_and_reads_times_where_the_run_is(finished, capsys):
    cost = {"rule": "train", "job": "a", "seconds": 75.5, "cpu_seconds": 70.0, "memory_mb": 1.0}
    cost |= {"gpu_seconds": 0.0, "gpu_memory_mb": 0.0, "device": "CPU"}
    cost |= {"requests": 0, "cached_requests": 0, "input_tokens": 0, "output_tokens": 0, "price": 0.0}
    path = finished / "results" / "cost" / "train" / "a.parquet"
    write_table(path, COST, {column: [value] for column, value in cost.items()})
    assert main(["status", "--snakefile", "Snakefile", *GIVEN, "lr=0.2", "code=x"]) == 0
    found = rows(capsys.readouterr().out)
    assert found["Snakefile", "3"] == ["0", "–"]  # noqa: RUF001
    assert found["train", "1"] == ["a", "0:01:16", "config.optimizer.lr 0.2, was 0.1"]
    with pytest.raises(SystemExit) as ended:
        main(["status", "--help"])
    assert ended.value.code == 0
    assert "captionlab status" in capsys.readouterr().out


def test_arguments_that_make_no_plan_are_a_sentence(finished):
    lock = finished / ".snakemake" / "locks" / "0.output.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("results/c.txt")
    with pytest.raises(SystemExit, match="--unlock is no part of a plan"):
        read_plan([*GIVEN, "lr=0.1", "code=x", "--unlock"])
    assert lock.exists()
    with pytest.raises(SystemExit, match=r"plans nothing with .* --list-rules"):
        read_plan([*GIVEN, "lr=0.1", "code=x", "--list-rules"])
