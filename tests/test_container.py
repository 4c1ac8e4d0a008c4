"""The image of the Dockerfile: linted, and made step by step in a folder, as no container tool need be here."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from support.checkouts import ROOT, copy_checkout

DOCKERFILE = ROOT / "Dockerfile"
MADE = "results/corpora/coco/captions.parquet"


def steps() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, each with its arguments on one line."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE.read_text(), flags=re.MULTILINE)
    lines = re.sub(r" *\\\n *", " ", text).strip().splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line]


def build(root: Path, checkout: Path, environment: dict[str, str]) -> dict[str, str]:
    """Do below `root`, as if it was /, what the Dockerfile says; returns the environment of a container."""

    def inside(text: str) -> str:
        return text.replace("/opt/", f"{root}/opt/").replace("/workdir", f"{root}/workdir")

    for instruction, given in steps():
        match instruction:
            case "FROM" | "LABEL":
                pass
            case "COPY":
                source, target = inside(given).split()
                Path(target).mkdir(parents=True)
                (Path(target) / source).write_bytes((checkout / source).read_bytes())
            case "ENV":
                for key, value in (setting.split("=", 1) for setting in inside(given).split()):
                    environment = {**environment, key: value.replace("$PATH", environment["PATH"])}
            case "RUN":
                command = re.sub(r"--mount=\S+ ", "", inside(given))
                done = subprocess.run(["sh", "-ec", command], env=environment, capture_output=True, text=True)
                assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
            case "WORKDIR":
                Path(inside(given)).mkdir()
            case _:
                raise AssertionError(f"this test cannot do {instruction}")
    return environment


def test_the_file_is_well_formed():
    done = subprocess.run(["hadolint", DOCKERFILE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.slow
def test_its_steps_make_an_environment_in_which_a_pod_runs_jobs():
    # Thousands of files, which pytest would keep for three runs. Hard links to uv's cache, so on its file system.
    cache = Path(os.environ.get("UV_CACHE_DIR", Path.home() / ".cache" / "uv"))
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent) as folder:
        root = Path(folder)
        ours = ("PYTHON", "VIRTUAL_ENV", "XDG_")
        machine = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        path = os.pathsep.join([str(Path(sys.base_prefix, "bin")), os.defpath])
        container = build(root, ROOT, {**machine, "PATH": path, "UV_CACHE_DIR": str(cache)})
        pod = copy_checkout(root / "workdir")
        command = ["python", "-m", "snakemake", MADE, "--cores", "2", "--configfile", "tests/runs/config.yaml"]
        done = subprocess.run(command, cwd=pod, env=container, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert (pod / MADE).exists()
        there = subprocess.run(["python", "-m", "pip", "list"], env=container, capture_output=True, text=True).stdout
        assert "snakemake-storage-plugin-s3" in there
        assert not re.search(r"^captionlab ", there, re.MULTILINE)
