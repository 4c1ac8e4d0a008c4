"""A script's log holds what was said and what went wrong; its cost is written; it ends when it is asked to."""

import ast
import os
import platform
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from support.records import python_path

from captionlab.jobs.alone import job_alone
from captionlab.storage.schemas import CAPTIONS, COST
from captionlab.storage.tables import read_table

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
CONFIG = Path(__file__).parents[1] / "runs" / "config.yaml"


@pytest.fixture(autouse=True)
def gpus(monkeypatch):
    """Two GPUs seem to be there."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,7")


def test_prints_and_threads(script):
    code, log = script("print('said', os.environ['OMP_NUM_THREADS'])")
    assert code == 0
    assert "said 2" in log


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("raise ValueError('row 7 of x.csv has no caption')", "row 7 of x.csv has no caption"),
        (
            "from captionlab.texts.tagging import TaggerError\nraise TaggerError('the spaCy model is not installed')",
            "the spaCy model is not installed",
        ),
        (
            "from captionlab.generation.captions import read_caption_file\nread_caption_file('mine.txt')",
            "mine.txt: captions are read from .json, .jsonl, .csv, .tsv files, not .txt",
        ),
        (
            "raise PermissionError(13, 'Permission denied', 'results/x')",
            "results/x may not be written or read. Change its permissions or use another --directory, and run again. "
            "([Errno 13] Permission denied: 'results/x')",
        ),
        (
            "os.mkdir('a.tsv'); open('a.tsv')",
            "a.tsv is a folder, and a file is wanted; name that. ([Errno 21] Is a directory: 'a.tsv')",
        ),
    ],
)
def test_what_is_wrong_with_input_is_a_sentence_first_and_last(script, tmp_path, answers, body, sentence):
    code, log = script("print('read 3 files')\n" + body)
    assert code == 1
    assert (log.splitlines()[0], log.splitlines()[-1]) == (sentence, sentence)
    assert "read 3 files" in log
    assert "job failed in " in log
    assert "Traceback" not in log
    assert (tmp_path / "stderr").read_text() == f"{sentence}\n"
    answers.hold(f"a job of which the script runs `{body.splitlines()[-1]}`", sentence, sentence[:20])


@pytest.mark.parametrize("body", ["int('wide')", "import json; json.loads('{')", "[][0]", "assert 1 > 2, 'sizes'"])
def test_a_bug_keeps_its_traceback(script, tmp_path, body):
    code, log = script(body)
    assert code != 0
    assert "Traceback" in log
    assert body.split("; ")[-1] in log
    assert "Traceback" in (tmp_path / "stderr").read_text()


def test_progress_in_a_log_is_whole_lines(script):
    code, log = script("for _ in progress(range(1000), 'captions', total=1000): pass")
    assert code == 0
    assert "captions: 1000 of 1000" in log
    assert len(log.splitlines()) < 10
    assert "\r" not in log.replace("\r\n", "").strip("\r\n") or log.count("\r") < 10


def test_counts_end_a_log(script):
    body = """
        from captionlab.jobs.progress import count
        for number in range(5): count("images of one kind" if number < 3 else "images of another")
    """
    for ending in ("", "raise ValueError"):
        log = script(textwrap.dedent(body) + ending)[1]
        assert [line.split("progress: ")[1] for line in log.splitlines() if "progress: " in line] == [
            "images of another: 2", "images of one kind: 3"
        ]  # fmt: skip


def test_cost_of_what_went_well(script, tmp_path):
    script("raise ValueError")
    path = tmp_path / "results" / "cost" / "job" / "of" / "it.parquet"
    assert not path.exists()
    busy = "import time; until = time.process_time() + 0.4\nwhile time.process_time() < until: pass\n"
    assert script(f"{busy}subprocess.run(['{sys.executable}', '-c', {busy!r}])\ntime.sleep(0.3)")[0] == 0
    (row,) = read_table(path, COST).to_pylist()
    assert 1.1 < row.pop("seconds") < 30
    assert 0.8 < row.pop("cpu_seconds") < 10  # of the program that it started, too
    assert 5 < row.pop("memory_mb") < 2000
    name = f"CPU ({platform.machine()})"
    unused = {"requests": 0, "cached_requests": 0, "input_tokens": 0, "output_tokens": 0, "price": 0.0}
    assert row == {"rule": "job", "job": "of/it", "gpu_seconds": 0.0, "gpu_memory_mb": 0.0, "device": name, **unused}


def test_cost_where_results_live_in_a_bucket(tmp_path):
    from captionlab.jobs.scripting import measured

    results = tmp_path / ".snakemake" / "storage" / "s3" / "logs" / "run" / "results"
    with measured("job", results / "logs" / "job" / "logs" / "v1.5.log"):
        pass
    (row,) = read_table(results / "cost" / "job" / "logs" / "v1.5.parquet", COST).to_pylist()
    assert row["job"] == "logs/v1.5"


def test_a_script_sees_the_gpus_of_its_rule(script):
    shown = "print('sees', os.environ['CUDA_VISIBLE_DEVICES'])"
    assert "sees \n" in script(shown)[1]
    assert "sees 4\n" in script(shown, gpu=1)[1]
    assert "sees 4\n" in script(shown, gpu=2)[1]


@pytest.mark.skipif(sys.platform != "linux", reason="processes end with the launcher on Linux only")
def test_several_gpus_are_several_processes(script, start, tmp_path):
    body = """
        import torch, torch.distributed
        print("first of", torch.distributed.get_world_size())
        open(os.environ["RANK"], "w").write(os.environ["CUDA_VISIBLE_DEVICES"])
        open("pid" + os.environ["RANK"], "w").write(str(os.getpid()))
        total = torch.ones(1)
        torch.distributed.all_reduce(total)
        assert total == 2
    """
    code, log = script(body, parallel=True, gpu=2)
    assert code == 0, log
    assert log.count("first of 2") == 1
    assert [(tmp_path / rank).read_text() for rank in "01"] == ["4", "7"]
    (row,) = read_table(tmp_path / "results" / "cost" / "job" / "of" / "it.parquet", COST).to_pylist()
    assert row["cpu_seconds"] is None
    code, log = script(body + "    assert os.environ['RANK'] == '0', 'wrong in one'\n", parallel=True, gpu=2)
    assert code != 0
    assert "AssertionError: wrong in one" in log
    # Asked to stop, and killed without a chance to ask its processes.
    for number in (signal.SIGTERM, signal.SIGKILL):
        for rank in "01":
            (tmp_path / f"pid{rank}").unlink()
        process = start(body + "    time.sleep(600)\n", parallel=True, gpu=2)
        workers = [int(wait_for(tmp_path / f"pid{rank}")) for rank in "01"]
        process.send_signal(number)
        assert process.wait(60) != 0
        for worker in workers:
            wait_for_end(worker)


def test_asked_to_stop_it_leaves_no_child(start, tmp_path):
    """A program that is waited for, as the tokeniser is, and one that is talked to, as METEOR is."""
    body = """
        from contextlib import ExitStack
        with ExitStack() as stack:
            talks = subprocess.Popen(["sleep", "600"])
            stack.callback(talks.kill)
            open("talks", "w").write(str(talks.pid))
            subprocess.run(["sh", "-c", "echo $$ > waits; exec sleep 600"])
    """
    process = start(body)
    children = [int(wait_for(tmp_path / name)) for name in ("talks", "waits")]
    process.terminate()
    assert process.wait(30) == 128 + signal.SIGTERM
    for child in children:
        wait_for_end(child)


def wait_for(path):
    for _ in range(600):
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.1)
    raise TimeoutError(path)


def wait_for_end(process):
    for _ in range(300):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise TimeoutError(f"process {process} lives on")


@pytest.mark.parametrize("script", sorted(SCRIPTS.glob("*.py")), ids=lambda path: path.stem)
def test_main_is_the_last_of_a_script_of_a_rule(script):
    """It runs where it is defined, so what stands below it would not be there."""
    body = ast.parse(script.read_text()).body
    decorated = [node for node in body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    marks = ("script", "parallel_script", "launching_script")
    mains = [node for node in decorated if ast.unparse(node.decorator_list[0]) in marks]
    assert mains in ([], [body[-1]])
    by_hand = {"compare_models", "estimate_cost", "pack_models"}
    assert mains or script.stem in by_hand


def test_without_snakemake_it_runs_the_job_of_its_arguments(tmp_path):
    command = [sys.executable, str(SCRIPTS / "render_toyworld.py"), "corpus=coco", f"config={CONFIG}"]
    environment = {**os.environ, "PYTHONPATH": python_path(SCRIPTS.parents[1] / "src")}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    results = tmp_path / "results"
    assert read_table(results / "corpora/coco/captions.parquet", CAPTIONS).num_rows > 0
    assert (results / "logs/render_toyworld/coco.log").is_file()
    assert (results / "provenance/render_toyworld/coco.json").is_file()


@pytest.mark.parametrize(
    ("script", "arguments", "named"),
    [
        ("render_toyworld", ["coco"], "'coco' is no KEY=VALUE"),
        ("render_toyworld", [], "render_toyworld needs the wildcard corpus"),
        ("tokenize_references", ["corpus=coco"], "tokenize_references reads results/corpora/coco/"),
        ("generate_captions", ["captioner=base"], "generate_captions, generate_shard"),
        ("estimate_cost", [], "estimate_cost.py is run by no rule"),
    ],
)
def test_without_snakemake_it_says_which_argument_is_wrong(tmp_path, monkeypatch, script, arguments, named):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", python_path(SCRIPTS.parents[1] / "src"))
    with pytest.raises(SystemExit, match=re.escape(named)):
        job_alone(SCRIPTS / f"{script}.py", [*arguments, f"config={CONFIG}"])
