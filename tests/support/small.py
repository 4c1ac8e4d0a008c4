"""A DAG for tests of the engine: the smallest config cut down to one corpus, so that a whole run is a minute."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def small_config(captioners: Sequence[str], encoders: Sequence[str]) -> dict:
    """Trains these encoders and captioners, captions one corpus and scores the captions; nothing else."""
    config = yaml.safe_load((Path(__file__).parents[1] / "runs" / "config.yaml").read_text())
    config["name"] = "small"
    config["corpora"] = {"coco": config["corpora"]["coco"]}
    config["encoders"] = {name: {**config["encoders"][name], "corpus": "coco"} for name in encoders}
    config["captioners"] = {name: config["captioners"][name] for name in captioners}
    config["evaluations"] = {
        "main": {
            **config["evaluations"]["main"],
            "captioners": list(captioners),
            "corpora": ["coco"],
            "retrievers": list(encoders),
        }
    }
    del config["evaluations"]["main"]["scorers"]
    for section in ("regions", "scorers", "questions", "language", "papers", "study", "validity"):
        del config[section]
    return config


# What tests of several files run. Its trainings are so long that kills hit them.
SMALL = small_config(["base", "human"], ["clip-a"])
SMALL["encoders"]["clip-a"]["optimizer"]["steps"] = 100
SMALL["captioners"]["base"]["optimizer"]["steps"] = 300


def start(
    folder: Path, config: dict, *arguments: str, output: Path, environment=os.environ, program=("-m", "snakemake")
):
    """Start Snakemake as a process group of its own, with `folder` as its working directory."""
    file = folder.with_name(f"{folder.name}.yaml")
    file.write_text(yaml.safe_dump(config, sort_keys=False))
    command = [sys.executable, *program, "--snakefile", str(ROOT / "Snakefile"), "--configfile", str(file)]
    command += ["--directory", str(folder), *arguments]
    library = os.pathsep.join([str(ROOT / "src"), environment.get("PYTHONPATH", "")])
    with open(output, "w", encoding="utf-8") as log:
        return subprocess.Popen(
            command, env={**environment, "PYTHONPATH": library}, stdout=log, stderr=log, start_new_session=True
        )


def kill(process: subprocess.Popen) -> None:
    """Kill a process group and wait until none of its processes is left."""
    try:
        while True:
            os.killpg(process.pid, signal.SIGKILL)
            process.poll()
            time.sleep(0.05)
    except ProcessLookupError:
        process.wait()


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A file system in memory at `folder`; the test is skipped where nobody may mount one."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "captionlab-test", str(folder)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        pytest.skip(f"a file system cannot be mounted here: {result.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def process_of(folder: Path, script: str) -> int | None:
    """The process that runs a script of a run in that folder."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command, place = (entry / "cmdline").read_bytes().decode(), os.readlink(entry / "cwd")
            except OSError:
                continue
            if place == str(folder) and script in command and "snakemake\0" not in command:
                return int(entry.name)
    return None
