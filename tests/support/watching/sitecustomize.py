"""Record for the tests which rules run, under which config, and which files of the checkout's own runs are opened.

Python imports a module of this name when it starts, so the recording also works in the processes that a test starts:
the folder of this file is on PYTHONPATH while tests run. `tests/support/records.py` reads the folder that
CAPTIONLAB_RECORDS names.
"""

import hashlib
import json
import os
import sys

FOLDER = os.environ.get("CAPTIONLAB_RECORDS")
CHECKOUT = os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))
# Folders of the checkout in which its user works. A test that reads there depends on what the user ran before.
CLOSED = tuple(os.path.join(CHECKOUT, name) + os.sep for name in ("results", "runs", "data"))


def record(event: str, arguments: tuple) -> None:
    """Record an opened file if it is closed to tests, and a job if the file is its provenance."""
    if event != "open" or not isinstance(arguments[0], str | bytes | os.PathLike):
        return
    path = os.path.abspath(os.fsdecode(arguments[0]))
    if path.startswith(CLOSED):
        append("opened.txt", f"{test()}\t{path}\n")
    elif path.endswith(".json.partial") and f"{os.sep}results{os.sep}provenance{os.sep}" in path:
        record_job()


def record_job() -> None:
    """Record the rule of a job that has ended, with the test that ran it, and the config of its run."""
    job = getattr(sys.modules["__main__"], "snakemake", None)
    if hasattr(job, "config"):  # a test of scripts gives them a job that is part of no run
        config = json.dumps(job.config, sort_keys=True, default=str)
        name = f"config-{hashlib.sha256(config.encode()).hexdigest()[:16]}.json"
        if not os.path.exists(os.path.join(FOLDER, name)):
            append(name, json.dumps({"test": test(), "config": job.config}, default=str))
        append("rules.txt", f"{job.rule}\t{test()}\n")


def append(name: str, text: str) -> None:
    """Append a text to a record in one write, as several processes record at once."""
    descriptor = os.open(os.path.join(FOLDER, name), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def test() -> str:
    """Return the test that runs now, as pytest tells all processes that it starts."""
    return os.environ.get("PYTEST_CURRENT_TEST", "no test (").rpartition(" (")[0]


if FOLDER:
    sys.addaudithook(record)
