"""A script's log holds what was said and what went wrong, and stays readable."""

import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def script(tmp_path):
    """Run a main() as Snakemake would; gives the exit code and the text of the log."""

    def start(body):
        log = tmp_path / "job.log"
        code = f"""
from types import SimpleNamespace
from captionlab.progress import progress
from captionlab.scripting import run
import os
def main(snakemake):
{textwrap.indent(textwrap.dedent(body), "    ")}
run(main, {{"snakemake": SimpleNamespace(log=[{str(log)!r}], threads=2, rule="job")}})
"""
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        return result.returncode, log.read_text()

    return start


def test_prints_and_threads(script):
    code, log = script("print('said', os.environ['OMP_NUM_THREADS'])")
    assert code == 0
    assert "said 2" in log


def test_an_error_is_in_the_log_and_fails_the_job(script):
    code, log = script("raise ValueError('row 7 of x.csv')")
    assert code != 0
    assert "row 7 of x.csv" in log
    assert "Traceback" in log


def test_progress_in_a_log_is_whole_lines(script):
    code, log = script("for _ in progress(range(1000), 'captions', total=1000): pass")
    assert code == 0
    assert "captions: 1000 of 1000" in log
    assert len(log.splitlines()) < 10
    assert "\r" not in log.replace("\r\n", "").strip("\r\n") or log.count("\r") < 10


def test_without_snakemake_it_says_so():
    from captionlab.scripting import run

    with pytest.raises(SystemExit, match="run by Snakemake"):
        run(lambda snakemake: None, {})
