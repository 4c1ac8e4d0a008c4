"""The whole DAG on a machine that fails: killed at any moment, a full disk, a locked folder, a lost process."""

import filecmp
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.small import SMALL, kill, mounted, process_of, start

from captionlab.storage import paths

pytestmark = pytest.mark.slow

KILLS = 2
READ = ("corpora", "encoders", "features", "captioners", "captions", "evaluation")
SUMMARY = "results/reporting/summary.parquet"
CAPTIONS = "results/captions/base/main.parquet"


class Run:
    """A folder in which the small DAG is run, perhaps several times."""

    def __init__(self, folder: Path, **checkpoints: float):
        self.folder, self.output = folder, folder.with_name(f"{folder.name}.out")
        self.config = {**SMALL, "checkpoints": checkpoints}

    def start(self, *arguments: str) -> subprocess.Popen:
        # Snakemake, when killed, leaves its lock behind; a person would take it away by --unlock.
        arguments = ("--cores", "2", "--nolock", *(arguments or (SUMMARY,)))
        return start(self.folder, self.config, *arguments, output=self.output)

    def __call__(self, *arguments: str) -> int:
        process = self.start(*arguments)
        try:
            return process.wait(900)
        finally:
            kill(process)

    def said(self) -> str:
        return self.output.read_text()[-8000:]

    def checkpoints(self) -> list[Path]:
        return list((self.folder / "results" / "state").rglob("*.pt"))

    def resumed(self) -> set[str]:
        """Trainings that went on from a checkpoint when they were last started."""
        logs = (self.folder / "results" / "logs").glob("*/*.log")
        return {path.stem for path in logs if "Going on from the checkpoint" in path.read_text()}

    def differing(self, other: Path) -> list[str]:
        """Return the files that differ from those of another run."""
        pairs = ((name, self.folder / "results" / name, other / "results" / name) for name in files_of(self.folder))
        return [str(name) for name, mine, theirs in pairs if not filecmp.cmp(mine, theirs, shallow=False)]


def files_of(folder: Path) -> set[Path]:
    """Return the names of results, but the config, logs and what says how long jobs took."""
    passing, results = ("config.yaml", "logs", "state", "cost"), folder / "results"
    files = [path for path in results.rglob("*") if path.is_file() and path.name != ".snakemake_timestamp"]
    return {name for name in (path.relative_to(results) for path in files) if name.parts[0] not in passing}


def test_killed_at_random_moments_it_ends_with_the_same_results(small_run, tmp_path):
    seconds = small_run.seconds
    moments, run, interrupted, resumed = random.Random(20), Run(tmp_path / "run", steps=1), 0, set()
    process, runs = run.start(), [run]
    try:  # not at random, or by chance no training would have to go on
        while process.poll() is None and not run.checkpoints():
            time.sleep(0.02)
    finally:
        kill(process)
    for number in range(2 * KILLS):
        if interrupted == KILLS:
            break
        process = run.start()
        try:
            assert process.wait(moments.uniform(0, 0.4) * seconds) == 0, run.said()
            # Where all is done, nothing more can be interrupted. It was faster than the undisturbed run, which may have
            # had other tests beside it; so the next moments come sooner.
            seconds /= 2
            run = Run(tmp_path / f"run-{number}", steps=1)
            runs.append(run)
        except subprocess.TimeoutExpired:
            interrupted += 1
        finally:
            kill(process)
        resumed.update(*(each.resumed() for each in runs))
    assert interrupted == KILLS
    assert run() == 0, run.said()
    assert resumed | run.resumed()
    for each in runs:
        assert (each.folder / SUMMARY).exists()
        assert each.differing(small_run.folder) == []
        # The summary is made from all of these; cards are made for tables.
        read = {name for name in files_of(small_run.folder) if name.parts[0] in READ and name.name != paths.CARD}
        assert read <= files_of(each.folder)
        assert not each.checkpoints()
    run.config["checkpoints"] = {"seconds": 60, "steps": 7}
    assert run("--dry-run", SUMMARY) == 0
    assert "Nothing to be done" in run.said()


def test_a_full_disk_is_named_and_the_next_run_finishes(small_run, tmp_path):
    run = Run(tmp_path / "run")
    # Enough for the corpus and not for the encoder.
    with mounted(run.folder / "results", "size=4m"):
        assert run() != 0
        assert "is full" in run.said()
        assert "Make room and run again" in run.said()
        assert not (run.folder / SUMMARY).exists()
        assert not list((run.folder / "results").rglob("*.partial"))
        subprocess.run(["mount", "-o", "remount,size=200m", str(run.folder / "results")], check=True)
        assert run(CAPTIONS) == 0, run.said()
        assert run.differing(small_run.folder) == []


def test_a_read_only_folder_is_named(tmp_path):
    run = Run(tmp_path / "run")
    with mounted(run.folder / "results", "ro"):
        assert run() != 0
        assert f"{run.folder}/results may not be written or read. Change its permissions" in run.said()
        assert not list((run.folder / "results").iterdir())


def test_a_lost_process_is_started_again(tmp_path):
    run = Run(tmp_path / "run")
    process = run.start("--retries", "1", "results/encoders/clip-a/model.safetensors")
    try:
        while process.poll() is None and not (worker := process_of(run.folder, "train_encoder")):
            time.sleep(0.02)
        assert process.poll() is None, run.said()
        os.kill(worker, signal.SIGKILL)
        assert process.wait(600) == 0, run.said()
    finally:
        kill(process)
    assert "Trying to restart job" in run.said()
    assert (run.folder / "results/encoders/clip-a/model.safetensors").is_file()


def test_a_damaged_shard_is_named_and_gives_no_captions(small_run, tmp_path):
    run = Run(tmp_path / "run")
    shutil.copytree(small_run.folder / "results", run.folder / "results")
    shard = run.folder / "results/features/clip-a/coco/0-of-1.parquet"
    damaged = bytearray(shard.read_bytes())
    damaged[len(damaged) // 2] ^= 4
    shard.write_bytes(damaged)
    (run.folder / CAPTIONS).unlink()
    assert run("--rerun-triggers", "mtime", "--", CAPTIONS) != 0
    assert "results/features/clip-a/coco/0-of-1.parquet cannot be read to its end" in run.said()
    assert "delete it and run again" in run.said()
    assert not (run.folder / CAPTIONS).exists()
