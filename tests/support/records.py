"""Records of a session of tests: rules that ran, configs of runs, files that were opened, tests that were skipped.

`tests/support/watching/sitecustomize.py` writes the first three, in whatever process they happen.
"""

import json
import os
import runpy
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

VARIABLE = "CAPTIONLAB_RECORDS"
WATCHING = Path(__file__).parent / "watching"


def open_records() -> None:
    """Start to record in this process and in all that it starts, in the folder that VARIABLE names or in a new one."""
    if VARIABLE not in os.environ:
        os.environ[VARIABLE] = tempfile.mkdtemp(prefix="captionlab-records-")
    if str(WATCHING) not in os.environ.get("PYTHONPATH", ""):  # else Python started with the recording
        os.environ["PYTHONPATH"] = python_path(WATCHING)
        runpy.run_path(str(WATCHING / "sitecustomize.py"))


def python_path(*folders: Path | str) -> str:
    """Return a PYTHONPATH for a process that a test starts: these folders first, then the ones that tests need."""
    return os.pathsep.join([*map(str, folders), *filter(None, [os.environ.get("PYTHONPATH")])])


def folder() -> Path:
    """Return the folder of the records."""
    return Path(os.environ[VARIABLE])


def opened(test: str) -> list[str]:
    """Return the files below the checkout's results/, runs/ and data/ that a test has opened."""
    return sorted({path for name, path in _pairs("opened.txt") if name == test})


def executed_rules() -> dict[str, list[str]]:
    """Return the rules that ran to their end, each with the tests that ran it."""
    tests = defaultdict(set)
    for rule, test in _pairs("rules.txt"):
        tests[rule].add(test)
    return {rule: sorted(tests[rule]) for rule in sorted(tests)}


def executed_configs() -> list[dict[str, Any]]:
    """Return the configs of all runs in which a job ran to its end."""
    decoder = json.JSONDecoder()  # two processes may have written one config at the same time
    return [decoder.raw_decode(path.read_text())[0]["config"] for path in sorted(folder().glob("config-*.json"))]


def record_skipped(reports: list[pytest.TestReport]) -> None:
    """Add the skipped tests of this session, counted by reason, to the records."""
    reasons = Counter(report.longrepr[2].removeprefix("Skipped: ") for report in reports)
    if reasons:
        (folder() / f"skipped-{os.getpid()}.json").write_text(json.dumps(reasons))


def skipped() -> list[tuple[str, int]]:
    """Return why tests of all sessions were skipped, and how many for each reason, the most frequent reason first."""
    counts: Counter[str] = Counter()
    for path in folder().glob("skipped-*.json"):
        counts.update(json.loads(path.read_text()))
    return counts.most_common()


def _pairs(name: str) -> list[tuple[str, ...]]:
    path = folder() / name
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()] if path.exists() else []
