"""The wheel, in an environment of its own: the toy world's first table in an empty folder of a path with a blank."""

import csv
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml
from support.checkouts import copy_checkout

from captionlab.graph.fingerprints import Fingerprints

pytestmark = pytest.mark.slow

TABLE = "results/tables/discritune_table1_retrieval.md"
# The corner of the toy world that one table of a paper reads; its models come with captionlab.
CONFIG = {
    "name": "corner",
    "seed": 1,
    "spice": "off",
    "corpora": {"coco": {"reader": "toyworld", "domain": "coco", "seed": 2, "images": {"test": 24}}},
    "encoders": {"clip-a": {"run": "resources/toyworld/models/toy-clip-a"}},
    "captioners": {
        "base": {"run": "resources/toyworld/models/toy-clipcap-coco", "encoder": "clip-a"},
        "human": {"family": "human"},
    },
    "decodings": {"greedy": {"kind": "greedy", "max_tokens": 12}},
    "evaluations": {
        "main": {
            "captioners": ["base", "human"],
            "corpora": ["coco"],
            "decoding": "greedy",
            "retrievers": ["clip-a"],
            "candidates": 10,
        }
    },
    "papers": {
        "discritune": {
            "comparable": False,
            "captioners": {"ClipCap-COCO": "base", "Human captions": "human"},
            "corpora": {"COCO": "coco"},
            "retrievers": ["clip-a"],
        }
    },
}


class Installed:
    """captionlab, installed from its wheel, with the other packages of the environment of the tests."""

    def __init__(self, folder: Path):
        self.python, self.work = folder / "env" / "bin" / "python", folder / "an empty folder"
        self.work.mkdir()
        # What tests add to PYTHONPATH would be found before the installed package.
        self.environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        checkout, wheels = copy_checkout(folder / "checkout"), folder / "wheels"
        self("uv", "build", "--quiet", "--wheel", "--no-build-isolation", "--out-dir", wheels, checkout)
        self(sys.executable, "-m", "venv", "--without-pip", folder / "env")
        [packages] = (folder / "env").glob("lib/python*/site-packages")
        (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
        self("uv", "pip", "install", "--quiet", "--no-deps", "--python", self.python, *wheels.glob("*.whl"))
        self.library = packages / "captionlab"

    def __call__(self, *command: str | Path) -> str:
        """Return what a command prints to both streams in the empty folder, if it ends well."""
        words = [str(word) for word in command]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(words, cwd=self.work, env=self.environment, check=False, **options)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def captionlab(self, *words: str | Path) -> str:
        return self(self.python.with_name("captionlab"), *words)

    def files(self) -> dict[Path, int]:
        """Return the files of the installed package, with their times, but for compiled modules."""
        files = [path for path in self.library.rglob("*") if path.is_file() and path.parent.name != "__pycache__"]
        return {path: path.stat().st_mtime_ns for path in files}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    return Installed(tmp_path_factory.mktemp("wheel"))


def test_the_toy_world_is_planned_in_an_empty_folder(installed):
    where = installed(installed.python, "-c", "import captionlab; print(captionlab.__file__)").strip()
    assert Path(where) == installed.library / "__init__.py"
    plan = installed.captionlab("tables", "--dry-run", "--limit", "8", "--quiet", "rules")
    assert f"{installed.library}/project/profiles/default" in plan
    status = installed.captionlab("status", "--config", "limit=8")
    assert "| reporting " in status
    assert not (installed.work / "results").exists()


def test_a_table_is_made_and_nothing_is_written_into_the_package(installed):
    before = installed.files()
    config = installed.work / "my corner.yaml"
    config.write_text(yaml.safe_dump(CONFIG))
    installed.captionlab("tables", "--configfile", "my corner.yaml", "--cores", "2", "--", TABLE)
    table = (installed.work / TABLE).read_text(encoding="utf-8")
    assert "ClipCap-COCO" in table
    assert f"v{installed.captionlab('--version').split()[1]}" in table  # in place of a commit
    status = installed.captionlab("status", "--configfile", "my corner.yaml", "--", TABLE)
    assert "Nothing would run" in status
    assert installed.files() == before


def test_data_and_photographs_are_looked_for_in_the_current_folder(installed):
    (installed.work / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    assert f"is there ({installed.work})" in installed.captionlab("data", "config.yaml")
    photographs = installed.work / "photographs"
    photographs.mkdir()
    with open(photographs / "captions.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "caption", "split"])
        for number in range(4):
            (photographs / f"{number}.ppm").write_bytes(b"P6 2 2 255\n" + bytes([number * 60] * 12))
            rows.writerow([f"{number}.ppm", f"a square of brightness {number}", "test"])
    text = installed.captionlab("try", "photographs", "photographs/captions.csv", "--dry-run")
    assert f"captionlab tables --configfile '{installed.work}/runs/photographs/config.yaml'" in text


def test_fingerprints_are_equal_to_those_of_a_checkout(installed, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    of_wheel, of_checkout = (Fingerprints(root) for root in (installed.library / "project", Path(__file__).parents[2]))
    for job in (("score_nlg",), ("generate_captions", "captionlab.captioners.clipcap.captioner"), ("collect_tables",)):
        assert of_wheel.of(*job) == of_checkout.of(*job)


def test_every_module_is_imported(installed):
    """In the environment of the tests, which has all extras."""
    code = """
import importlib, pkgutil, captionlab
names = [module.name for module in pkgutil.walk_packages(captionlab.__path__, "captionlab.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names))
"""
    assert int(installed(installed.python, "-c", code).split()[-1]) > 300
