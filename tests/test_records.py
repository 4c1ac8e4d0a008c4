"""The recording itself, on a small folder of tests in a checkout of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.records import VARIABLE

TESTS = Path(__file__).parent
PROBES = """
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).parents[1] / "results" / "table.csv"

def test_in_this_process():
    FILE.read_text()

def test_in_another_process():
    subprocess.run([sys.executable, "-c", f"open({str(FILE)!r})"], check=True)

def test_elsewhere(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "table.csv").write_text("")

def test_skipped():
    import pytest
    pytest.skip("no such program")
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints of the probes, beside which there are results of a run."""
    checkout = tmp_path_factory.mktemp("checkout")
    (checkout / "results").mkdir()
    (checkout / "results" / "table.csv").write_text("value\n1\n")
    shutil.copytree(TESTS / "support" / "watching", checkout / "tests" / "support" / "watching")
    for name in ("conftest.py", "support/records.py", "support/answers.py"):
        shutil.copy2(TESTS / name, checkout / "tests" / name)
    (checkout / "tests" / "test_probes.py").write_text(PROBES)
    inherited = (VARIABLE, "PYTHONPATH", "PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT")
    environment = {name: value for name, value in os.environ.items() if name not in inherited}
    options = ["-p", "no:cacheprovider", "-o", "pythonpath=tests", "--rootdir", str(checkout), "-rA"]
    command = [sys.executable, "-m", "pytest", *options, "tests"]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("test", ["test_in_this_process", "test_in_another_process"])
def test_a_test_that_opens_results_of_the_checkout_fails_with_the_name_of_the_file(session, test):
    assert f"ERROR tests/test_probes.py::{test}" in session
    assert f"{os.sep}results{os.sep}table.csv" in session


def test_other_tests_pass(session):
    assert "ERROR tests/test_probes.py::test_elsewhere" not in session
    assert "3 passed, 1 skipped, 2 errors" in session


def test_skipped_tests_are_counted_by_reason(session):
    *_, section = session.split("1 tests skipped, by reason")
    assert "    1  no such program" in section
