"""docs/troubleshooting.md: what it says is printed is printed, when that is made to happen to a small run."""

import base64
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.records import python_path
from support.small import ROOT, kill, mounted, process_of, start

from captionlab.jobs import failures

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "troubleshooting.md"
# Human captions of a few images, which need no model.
CONFIG = {
    "name": "small",
    "seed": 1,
    "spice": "off",
    "corpora": {"coco": {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"train": 2, "test": 6}}},
    "captioners": {"people": {"family": "human"}},
    "evaluations": {"main": {"captioners": ["people"], "corpora": ["coco"]}},
}
# As where a package is not installed.
ABSENT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "pyarrow":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
IMAGES = "results/corpora/coco/images.parquet"


class Run:
    """A folder in which that config is run."""

    def __init__(self, folder: Path, **changes: Any):
        self.folder, self.output = folder / "run", folder / "output"
        self.config = {**CONFIG, "data": str(folder), **changes}

    def start(self, *arguments: str, **environment: str) -> subprocess.Popen:
        given = ("--cores", "2", *(arguments or (IMAGES,)))
        return start(self.folder, self.config, *given, output=self.output, environment={**os.environ, **environment})

    def __call__(self, *arguments: str, **environment: str) -> int:
        """Run it to its end, and give its exit status."""
        process = self.start(*arguments, **environment)
        try:
            return process.wait(600)
        finally:
            kill(process)

    def fails(self, *arguments: str, **environment: str) -> str:
        """What a run says that does not end well."""
        assert self(*arguments, **environment) != 0
        return self.output.read_text()

    def locks_its_output(self) -> bool:
        """Whether a lock names what it makes. Inputs are locked before, and a lock is empty at first."""
        return any(IMAGES in lock.read_text() for lock in self.folder.glob(".snakemake/locks/*.output.lock"))

    def killed(self) -> None:
        """Start it, and kill it when its outputs are locked."""
        process = self.start()
        try:
            while process.poll() is None and not self.locks_its_output():
                time.sleep(0.02)
            assert process.poll() is None, self.output.read_text()
        finally:
            kill(process)


def shell(folder: Path, line: str, **environment: str) -> str:
    command = ["/bin/bash", "-c", line]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode != 0
    return done.stdout + done.stderr


def not_activated(folder: Path) -> str:
    return shell(folder, "snakemake --cores all", PATH=str(folder))


def unreachable_packages(folder: Path) -> str:
    for name in ("lab", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return shell(folder, "./lab tables", **{**os.environ, "PIP_INDEX_URL": "http://127.0.0.1:9", "PIP_RETRIES": "0"})


def another_environment(folder: Path) -> str:
    (folder / "sitecustomize.py").write_text(ABSENT)
    return Run(folder).fails(PYTHONPATH=python_path(folder, ROOT / "src"))


def no_cores(folder: Path) -> str:
    line = f"{sys.executable} -m snakemake --snakefile {ROOT / 'Snakefile'} --directory {folder}"
    return shell(folder, line, **os.environ)


def unknown_key(folder: Path) -> str:
    evaluations = {"main": {**CONFIG["evaluations"]["main"], "retriever": ["clip"]}}
    return Run(folder, evaluations=evaluations).fails()


def unreadable_config(folder: Path) -> str:
    (folder / "tab.yaml").write_text("corpora:\n\ttoy: {}\n")
    line = f"{sys.executable} -m snakemake --cores 1 --snakefile {ROOT / 'Snakefile'} --configfile tab.yaml"
    return shell(folder, line, **os.environ)


def no_such_file(folder: Path) -> str:
    corpus = {"reader": "karpathy", "annotations": "coco/dataset_coco.json", "images": "coco"}
    return Run(folder, corpora={"coco": corpus}).fails()


def unknown_target(folder: Path) -> str:
    return Run(folder).fails("results/tables/evalution.csv")


def locked(folder: Path) -> str:
    run = Run(folder)
    run.killed()
    said = run.fails()
    assert run("--unlock") == 0
    assert run() == 0, run.output.read_text()
    return said


def incomplete(folder: Path) -> str:
    run = Run(folder)
    assert run() == 0, run.output.read_text()
    mark = run.folder / ".snakemake" / "incomplete" / base64.urlsafe_b64encode(IMAGES.encode()).decode()
    mark.parent.mkdir(exist_ok=True)
    mark.write_text("")
    said = run.fails("--workflow-profile", "none", "--", IMAGES)
    assert run() == 0, run.output.read_text()  # with our profile it is made again
    return said


def no_conda(folder: Path) -> str:
    return Run(folder).fails("--sdm", "conda", "--", IMAGES, PATH="/usr/bin:/bin")


def no_java(folder: Path) -> str:
    return Run(folder).fails("results/evaluation/references/coco.parquet", JAVA="/opt/java/bin/java")


def no_network(folder: Path) -> str:
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    places = {"XDG_CACHE_HOME": str(folder / "cache"), "M2_REPO": str(folder / "maven")}
    target = "results/evaluation/people/main/spice.parquet"
    return Run(folder, spice="required").fails(target, NO_PROXY="", no_proxy="", **nowhere, **places)


def full_disk(folder: Path) -> str:
    run = Run(folder)
    with mounted(run.folder / "results", "size=40k"):
        return run.fails()


def read_only(folder: Path) -> str:
    run = Run(folder)
    with mounted(run.folder / "results", "ro"):
        return run.fails()


def killed_job(folder: Path) -> str:
    run = Run(folder)
    process = run.start()
    try:
        while process.poll() is None and not (worker := process_of(run.folder, "render_toyworld")):
            time.sleep(0.02)
        assert process.poll() is None, run.output.read_text()
        os.kill(worker, signal.SIGKILL)
        assert process.wait(600) != 0
    finally:
        kill(process)
    return run.output.read_text()


class OutOfMemoryError(RuntimeError):
    """Named as torch names it, on a machine without a GPU."""


def full_gpu(folder: Path) -> str:
    return str(failures.advice(OutOfMemoryError("CUDA out of memory"), None))


CAUSES: dict[str, Callable[[Path], str]] = {
    "The environment is not activated": not_activated,
    "The environment cannot be set up": unreachable_packages,
    "A module is not found": another_environment,
    "No number of cores": no_cores,
    "The config is refused": unknown_key,
    "A config file cannot be read": unreadable_config,
    "A file of data or weights is missing": no_such_file,
    "A target that nothing makes": unknown_target,
    "The folder is locked": locked,
    "Files are incomplete": incomplete,
    "No conda": no_conda,
    "No Java": no_java,
    "No network": no_network,
    "The disk is full": full_disk,
    "A folder may not be written": read_only,
    "A job was killed": killed_job,
    "The GPU is out of memory": full_gpu,
}


def sections() -> dict[str, str]:
    """The text below each heading of the page."""
    _, *found = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(found[::2], found[1::2], strict=True))


def test_every_section_has_its_cause():
    assert [*sections()] == [*CAUSES]


@pytest.mark.parametrize("heading", CAUSES)
def test_the_message_is_printed(heading, tmp_path):
    (message,) = re.findall(r"^```text\n(.*?)^```$", sections()[heading], re.MULTILINE | re.DOTALL)
    said = CAUSES[heading](tmp_path)
    for line in message.splitlines():
        # An ellipsis stands for what differs from one run to another.
        assert re.search(".*".join(map(re.escape, line.split("…"))), said), f"{line!r} is not in\n{said[-4000:]}"
