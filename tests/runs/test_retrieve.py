"""`retrieve: true` in a run, and `./lab data`: what is fetched, once, before the jobs that read it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.file_server import serving
from support.records import python_path
from support.stand_in_sources import checkout_for
from support.stand_ins import karpathy, nocaps

from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table

ROOT = Path(__file__).parents[2]
TARGETS = ["results/corpora/coco/images.parquet", "results/corpora/nocaps-near/images.parquet"]
pytestmark = pytest.mark.slow


class Run:
    """A run that reads two corpora, in a checkout whose sources are on the loopback."""

    def __init__(self, folder: Path, server):
        self.folder, self.server, self.data = folder, server, folder / "data"
        elsewhere = folder / "elsewhere"
        karpathy(elsewhere, "coco/dataset_coco.json", "coco", {"train": 2, "val": 1, "test": 3}, self.part)
        nocaps(elsewhere, near=2, out=1)
        self.checkout = checkout_for(server, elsewhere, folder / "checkout")
        whole = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8"))
        self.config = {
            "seed": 1,
            "data": str(self.data),
            "retrieve": True,
            "corpora": {name: whole["corpora"][name] for name in ("coco", "nocaps-near")},
            "captioners": {"people": {"family": "human"}},
            "evaluations": {"main": {"captioners": ["people"], "corpora": ["coco"]}},
        }

    @staticmethod
    def part(split: str) -> str:
        return "train2014" if split == "train" else "val2014"

    def config_file(self) -> str:
        (self.folder / "config.yaml").write_text(yaml.safe_dump(self.config))
        return str(self.folder / "config.yaml")

    def command(self, *command: str) -> subprocess.CompletedProcess:
        environment = {
            **os.environ,
            "PYTHONPATH": python_path(self.checkout / "src"),
            "HF_ENDPOINT": self.server.address,
        }
        return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, check=False)

    def __call__(self, *arguments: str) -> str:
        command = ["-m", "snakemake", "--cores", "2", "--snakefile", str(self.checkout / "Snakefile")]
        command += ["--configfile", self.config_file(), "--directory", str(self.folder / "run"), *TARGETS, *arguments]
        done = self.command(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    with serving() as server:
        yield Run(tmp_path_factory.mktemp("retrieve"), server)


def test_a_plan_fetches_nothing_and_names_the_job(run):
    said = run("--dry-run")
    assert "fetch missing files below" in said
    assert "read the corpus coco" in said
    assert not run.data.exists()


def test_what_is_missing_is_fetched_once_before_it_is_read(run):
    mine = run.data / "nocaps/validation"
    mine.mkdir(parents=True)
    shutil.copytree(run.folder / "elsewhere/nocaps/validation", mine, dirs_exist_ok=True)
    run()
    images = read_table(run.folder / "run" / TARGETS[0], IMAGES).to_pylist()
    assert len(images) == 6
    assert {path.name for path in (run.data / "coco").iterdir()} == {"dataset_coco.json", "train2014", "val2014"}
    # Neither what somebody had put there, nor what no corpus names.
    assert set(run.server.gets()) == {"/karpathy-splits", "/coco-train2014", "/coco-val2014", "/nocaps-captions"}
    assert not (run.data / "flickr30k").exists()
    assert not (run.data / ".retrieve").exists()
    assert {"karpathy-splits", "coco-val2014"} <= json.loads((run.data / "sources.lock.json").read_text()).keys()
    log = (run.folder / "run/results/logs/retrieve.log").read_text()
    assert "To be fetched into" in log
    assert "licence: Flickr's terms" in log


def test_then_there_is_nothing_to_be_done(run):
    asked = len(run.server.asked)
    assert "Nothing to be done" in run()
    run.config["retrieve"] = False
    assert "Nothing to be done" in run()
    run.config["retrieve"] = True
    assert len(run.server.asked) == asked


def test_data_outlive_a_run_that_is_made_anew(run):
    before = {path: path.stat().st_mtime_ns for path in run.data.rglob("*") if path.is_file()}
    run("--forceall")
    run("--delete-all-output")
    assert {path: path.stat().st_mtime_ns for path in run.data.rglob("*") if path.is_file()} == before


def test_what_was_lost_is_fetched_again_and_again(run):
    for _ in range(2):
        (run.data / "nocaps/nocaps_val_4500_captions.json").unlink()
        shutil.rmtree(run.folder / "run/results/corpora/nocaps-near", ignore_errors=True)
        run.server.asked.clear()
        run()
        assert run.server.gets() == {"/nocaps-captions": 1}


def test_lab_data_lists_first_and_fetches_when_told(run, tmp_path):
    data = ("-m", "captionlab", "data")
    run.server.asked.clear()
    listed = run.command(*data, run.config_file(), "--data", str(tmp_path))
    assert listed.returncode == 1, listed.stderr
    assert (
        "coco-val2014: images of COCO's validation part of 2014 (size unknown; licence: Flickr's terms)"
        in listed.stdout
    )
    assert listed.stdout.endswith("Nothing was fetched; with --yes it is, without a question.\n")
    assert run.server.asked == []
    done = run.command(*data, run.config_file(), "--data", str(tmp_path), "--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "coco/val2014/image_000002.jpg").exists()
    again = run.command(*data, run.config_file(), "--data", str(tmp_path), "--yes")
    assert (again.returncode, again.stdout) == (0, f"Everything that the config names is there ({tmp_path}).\n")
