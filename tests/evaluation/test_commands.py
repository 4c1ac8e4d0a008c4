"""A metric that is a command: what goes out and comes back, and commands that misbehave, each by its sentence."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.conda_stand_in import write_conda
from support.running import run_script

from captionlab.evaluation.environments import DONE
from captionlab.evaluation.exchange import ExchangeError
from captionlab.evaluation.metrics.command.metric import SCORES, of_captions, results
from captionlab.evaluation.processes import CommandError, run
from captionlab.evaluation.summary import Job, comparison_columns, summary_columns
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES
from captionlab.storage.tables import read_table, write_table
from captionlab.userfiles.reading import GivenError

# What a caption is worth to the dummy: its words, and how many of them the first reference has.
DUMMY = """
import json, sys

captions, scores = sys.argv[1:]
rows = [json.loads(line) for line in open(captions, encoding="utf-8")]
with open(scores, "w", encoding="utf-8") as file:
    for row in reversed(rows):
        words = row["caption"].split()
        shared = sum(word in row["references"][0].split() for word in words) if row["references"] else 0
        file.write(json.dumps({"id": row["id"], "score": len(words) + shared / 10}) + "\\n")
print("scored", len(rows))
"""
CAPTIONED = [
    ("world", "a/1", 0, "a red ball"),
    ("world", "a/1", 1, "a ball on the grass"),
    ("world", "b", 0, "ein Bär \u2028 «hier»"),
    ("texts", "b", 0, "two words"),
]
REFERENCES = {
    "world": [("a/1", 1, "the second"), ("a/1", 0, "a ball lies here"), ("b", 0, "ein Bär"), ("c", 0, "of another")],
    "texts": [("b", 0, "two of them")],
}


def png(colour):
    data = BytesIO()
    Image.new("RGB", (3, 2), colour).save(data, "PNG")
    return data.getvalue()


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Tables of two corpora, of which one is text only, and of captions of their images."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    Path("b.png").write_bytes(png("blue"))
    images = {
        "world": [("a/1", None, png("red")), ("b", "b.png", None), ("c", None, png("green"))],
        "texts": [("b", None, None)],
    }
    for corpus in images:
        same = {"split": "test", "offset": None, "length": None, "width": 3, "height": 2, "image_set": None}
        rows = [
            {"image_id": image, "position": number, "path": path, "data": data, **same}
            for number, (image, path, data) in enumerate(images[corpus])
        ]
        write_table(f"{corpus}-images.parquet", IMAGES, rows)
        keys = ("image_id", "caption_index", "caption")
        rows = [dict(zip(keys, row, strict=True)) for row in REFERENCES[corpus]]
        write_table(f"{corpus}-captions.parquet", CAPTIONS, rows)
    keys = ("corpus", "image_id", "caption_index", "caption")
    rows = [{**dict(zip(keys, row, strict=True)), "log_prob": None, "confidence": None} for row in CAPTIONED]
    write_table("captions.parquet", GENERATED, rows)
    return tmp_path


def score(command, files=(), environment=(), references=True, time_limit=1.0, references_per_image=None):
    run_script(
        "score_by_command",
        {
            "captions": "captions.parquet",
            "images_of_corpora": ["world-images.parquet", "texts-images.parquet"],
            "captions_of_corpora": ["world-captions.parquet", "texts-captions.parquet"] if references else [],
            "files": list(files),
            "environment": list(environment),
        },
        ["scores.parquet"],
        wildcards={"captioner": "me", "evaluation": "main", "metric": "dummy"},
        resources={"time_limit": time_limit},
        corpora=["world", "texts"],
        splits=["test", "test"],
        references_per_image=references_per_image,
        people=False,
        settings={"command": command, "version": "1", "references": references},
        files=[Path(file).name for file in files],
    )
    return read_table("scores.parquet", SCORES).to_pylist()


def program(text, name="score.py"):
    Path(name).write_text(text, encoding="utf-8")
    return name


def test_a_command_that_works(world, capfd):
    script = program(DUMMY)
    rows = score(f"{shlex.quote(sys.executable)} {script}", [script])
    found = {(row["corpus"], row["image_id"], row["caption_index"]): row["score"] for row in rows}
    assert found == {("world", "a/1", 0): 3.2, ("world", "a/1", 1): 5.2, ("world", "b", 0): 3.2, ("texts", "b", 0): 2.1}
    assert {row["metric"] for row in rows} == {"dummy"}
    assert "scored 4" in capfd.readouterr().out
    # Without references, as they would be for a metric that reads none.
    assert [row["score"] for row in score(f"{sys.executable} {script}", [script], references=False)] == [3, 5, 3, 2]


def test_what_goes_out(world):
    script = program(f"import shutil\nshutil.copytree('.', {str(world / 'kept')!r})\nopen('litter', 'w')\n{DUMMY}")
    score(f"{sys.executable} {script}", [script], references_per_image=1)
    out = [json.loads(line) for line in (world / "kept" / "captions.jsonl").read_bytes().splitlines()]
    assert [(row["corpus"], row["image_id"], row["caption_index"], row["caption"]) for row in out] == CAPTIONED
    assert [row["id"] for row in out] == ["world/a/1/0", "world/a/1/1", "world/b/0", "texts/b/0"]
    assert [row["references"] for row in out] == [["a ball lies here"]] * 2 + [["ein Bär"], ["two of them"]]
    assert out[2]["image"] == str(world / "b.png")
    assert out[3]["image"] is None
    # Only an image that has its bytes in the table and is captioned was written, for as long as the command ran.
    (written,) = (world / "kept" / "images").rglob("*.*")
    assert written.read_bytes() == png("red")
    place = Path(out[0]["image"])
    assert place.is_absolute()
    assert place.parts[-3:] == ("images", "world", written.name)
    assert out[1]["image"] == out[0]["image"]
    assert not place.parents[2].exists()
    assert not (world / "litter").exists()


def test_values_and_intervals(tmp_path):
    generator = np.random.default_rng(0)
    values = generator.normal(0.4, 0.2, size=(60, 2))
    rows = [
        {"corpus": "world", "image_id": f"{image:02}", "caption_index": index, "metric": "dummy", "score": value}
        for (image, index), value in np.ndenumerate(values)
    ]
    write_table(tmp_path / "scores.parquet", SCORES, rows)
    job = Job("me", "main", "greedy", {"world": "test"}, factors={"metrics.dummy": 10.0})
    found = summary_columns(results(job, str(tmp_path / "scores.parquet"), 0), {})
    assert found["metric"] == ["dummy"]
    assert found["n"] == [60]
    assert found["value"] == pytest.approx([10 * values.mean()])
    # The mean of images is as far from its own as the standard error says, 1.96 times.
    error = 10 * values.mean(axis=1).std() / np.sqrt(60)
    assert found["ci_low"] == pytest.approx([10 * values.mean() - 1.96 * error], abs=0.2 * error)
    assert found["ci_high"] == pytest.approx([10 * values.mean() + 1.96 * error], abs=0.2 * error)
    (single,) = of_captions(str(tmp_path / "scores.parquet"), job.factors)
    assert (single.metric, single.scorer) == ("dummy", None)
    by_key = dict(zip(single.keys, single.values, strict=True))
    assert by_key == {("world", f"{image:02}", index): value for (image, index), value in np.ndenumerate(values)}


def test_a_metric_that_is_called_as_another(tmp_path, answers):
    row = {"corpus": "world", "image_id": "1", "caption_index": 0, "metric": "length", "score": 1.0}
    write_table(tmp_path / "scores.parquet", SCORES, [row])
    job = Job("me", "main", "greedy", {"world": "test"}, factors={"metrics.length": 1.0})
    found = [*results(job, str(tmp_path / "scores.parquet"), 0), *results(job, str(tmp_path / "scores.parquet"), 0)]
    for columns in (lambda: summary_columns(found, {}), lambda: comparison_columns(found, {}, {}, {})):
        with pytest.raises(ValueError, match="two metrics") as error:
            columns()
        answers.hold("metrics: the name of another metric of the evaluation", error.value, "'length'")


# What a command does with its scores instead, and what its answer names.
MISBEHAVING = {
    "writes nothing": ("", "wrote no scores"),
    "leaves a caption out": ("put(rows[1:])", "1 of 4 captions have no score, the first is 'world/a/1/0'"),
    "scores a caption twice": ("put([*rows, rows[0]])", "line 5 of its scores: 'world/a/1/0' has a score already"),
    "makes an id up": ("put([{'id': 'world/d/0'}, *rows])", "there is no caption 'world/d/0'"),
    "gives NaN": ("put(rows, float('nan'))", "line 1 of its scores: the score of 'world/a/1/0' is nan"),
    "gives infinity": ("put(rows, float('-inf'))", "is -inf; it must be a finite number"),
    "gives what no float can be": ("put(rows, 10**400)", "it must be a finite number"),
    "gives a word": ("put(rows, '0.5')", "is '0.5'; it must be a finite number"),
    "gives true": ("put(rows, True)", "is True; it must be a finite number"),
    "writes a list of numbers": ("file.write('0.1\\n0.2\\n')", "line 1 of its scores: '0.1' is no score"),
    "gives a number of 5,000 digits": ("file.write('1' * 5000)", "line 1 of its scores: '1111"),
    "nests lists too deeply": ("put(rows[1:]); file.write('[' * 10**6)", "line 4 of its scores: '[[[["),
    "writes what is no text": ("put(rows[1:]); file.flush(); file.buffer.write(b'\\xe4')", "line 4 of its scores is"),
    "stops in the middle of a line": ("put(rows); file.seek(file.tell() - 8); file.truncate()", "line 4 of its scores"),
    "fails": ("print('no weights'); sys.exit(3)", "ended with exit status 3; the last that it said: no weights"),
    "is killed": ("os.kill(os.getpid(), 9)", "ended with signal 9 (Killed); memory may have run out, raise `mem_mb`"),
    "is ended by a real-time signal": ("os.kill(os.getpid(), 40)", "ended with signal 40 (Real-time signal 6)"),
    "hangs": ("print('loading', flush=True); time.sleep(600)", "after its time limit of 0.02 minutes"),
}
HEAD = """
import json, os, sys, time

rows = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]


def put(rows, score=0.5):
    for row in rows:
        file.write(json.dumps({"id": row["id"], "score": score}) + "\\n")
"""


@pytest.mark.parametrize("what", MISBEHAVING)
def test_a_command_that_misbehaves(world, answers, what):
    does, names = MISBEHAVING[what]
    opened = 'file = open(sys.argv[2], "w", encoding="utf-8")\n' if "put" in does or "file" in does else ""
    script = program(f"{HEAD}\n{opened}{does}\n")
    with pytest.raises((ExchangeError, CommandError, GivenError)) as error:
        score(f"{sys.executable} {script}", [script], time_limit=1.2 / 60 if what == "hangs" else 1)
    answers.hold(f"a command that {what}", error.value, names)
    assert not (world / "scores.parquet").exists()


def test_a_command_that_is_not_there(world, answers):
    for command in ("no-such-program --fast", "./captions.parquet"):
        with pytest.raises(CommandError) as error:
            score(command)
        answers.hold(f"command: `{command}`", error.value, command.split()[0])


def test_nothing_of_a_command_outlives_its_time_limit(tmp_path, monkeypatch):
    """Neither a child that it started nor one that does not listen."""
    child = f"trap '' TERM; echo $$ > {tmp_path}/child; while true; do sleep 0.1; done"
    monkeypatch.setattr("captionlab.evaluation.processes.GRACE", 0.5)
    with pytest.raises(CommandError, match="time limit"):
        run(["bash", "-c", f"bash -c {shlex.quote(child)} & wait"], tmp_path, 2.0, "dummy")
    assert is_gone(int((tmp_path / "child").read_text()))


def test_a_command_of_another_user_may_not_be_ended(tmp_path, monkeypatch):
    """Its time limit is what is said of it, all the same."""

    def refuse(group, number):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.killpg", refuse)
    with pytest.raises(CommandError, match="time limit"):
        run(["sleep", "1"], tmp_path, 0.2, "dummy")
    run(["true"], tmp_path, 60.0, "dummy")


def test_nothing_of_a_command_outlives_a_job_that_is_stopped(tmp_path):
    """As Snakemake and SLURM stop one, by SIGTERM, which a script turns into SystemExit."""
    job = stoppable_job(tmp_path, "echo $$ > child; sleep 600")
    try:
        job.terminate()
        assert job.wait(30) == 128 + signal.SIGTERM
        assert is_gone(int((tmp_path / "child").read_text()))
    finally:
        job.kill()


def test_a_job_that_is_stopped_twice_ends_a_command_that_does_not_listen(tmp_path):
    """The second signal comes while the command has its time to end."""
    job = stoppable_job(tmp_path, "trap '' TERM; echo $$ > child; while true; do sleep 0.1; done")
    try:
        job.terminate()
        time.sleep(1)
        job.terminate()
        assert job.wait(30) == 128 + signal.SIGTERM
        assert is_gone(int((tmp_path / "child").read_text()))
    finally:
        job.kill()


def stoppable_job(folder, command):
    """A process that runs a command of bash as a script does, once the command has written its number to `child`."""
    code = (
        "from captionlab.jobs.scripting import _stoppable\nfrom captionlab.evaluation.processes import run\n"
        "from pathlib import Path\n"
        "with _stoppable():\n"
        f"    run(['bash', '-c', {command!r}], Path({str(folder)!r}), 600.0, 'dummy')\n"
    )
    job = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    while not (folder / "child").exists() or not (folder / "child").read_text():
        time.sleep(0.05)
    return job


def is_gone(process):
    """Whether a process ends within a few seconds."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):  # it may end between two looks, and while it is looked at
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_virtual_environment(world):
    """Its programs come first, and our library is none of its own."""
    tool = Path("venv/bin/judge")
    tool.parent.mkdir(parents=True)
    Path("venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    tool.write_text(f'#!/bin/sh\necho "$VIRTUAL_ENV:$PYTHONPATH" > {world}/seen\nexec {sys.executable} "$@"\n')
    tool.chmod(0o755)
    script = program(DUMMY)
    assert len(score(f"judge {script}", [script], ["venv/pyvenv.cfg"])) == 4
    assert (world / "seen").read_text() == f"{world}/venv:\n"


@pytest.fixture
def conda(world, monkeypatch):
    """The folder in which a stand-in for conda, found on PATH, notes what it is told."""
    monkeypatch.setenv("PATH", str(write_conda(world)), prepend=os.pathsep)
    Path("env.yaml").write_text("dependencies: [judge]\n")
    return world


def test_an_environment_of_conda_is_made_once(conda):
    script = program(DUMMY)
    for _ in range(2):
        assert len(score(f"{sys.executable} {script}", [script], ["env.yaml"])) == 4
    made, *ran = (conda / "said").read_text().splitlines()
    (folder,) = (path.parent for path in (conda / "cache").rglob(DONE))
    assert made == f"env create --quiet --prefix {folder} --file {conda}/env.yaml"
    assert [line.split(sys.executable)[0] for line in ran] == [f"run --no-capture-output --prefix {folder} "] * 2
    # Another file is another environment; one that was begun and not made to its end is made anew.
    Path("env.yaml").write_text("dependencies: [judge, jury]\n")
    score(f"{sys.executable} {script}", [script], ["env.yaml"])
    (folder / DONE).unlink()
    Path("env.yaml").write_text("dependencies: [judge]\n")
    score(f"{sys.executable} {script}", [script], ["env.yaml"])
    began = [line.split()[0] for line in (conda / "said").read_text().splitlines()]
    assert began == ["env", "run", "run", "env", "run", "env", "run"]


def test_an_environment_that_cannot_be_made(conda, answers, monkeypatch):
    (conda / "broken").touch()
    with pytest.raises(CommandError) as error:
        score("judge", environment=["env.yaml"])
    answers.hold("conda: a file that conda refuses", error.value, "no such package: dependencies: [judge]")
    assert not list((conda / "cache").rglob(DONE))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CommandError) as error:
        score("judge", environment=["env.yaml"])
    answers.hold("conda: without conda on PATH", error.value, "no `conda` on PATH")


def test_an_environment_has_no_place_without_a_home(conda, answers, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(CommandError) as error:
        score("judge", environment=["env.yaml"])
    answers.hold("conda: a user without a home", error.value, "set XDG_CACHE_HOME")
