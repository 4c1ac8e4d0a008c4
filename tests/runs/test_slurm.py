"""A small DAG through a real SLURM: `profiles/slurm`, one node, one declared GPU; a job cancelled on the way."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from support.slurm_cluster import SNAKEMAKE, Cluster, cluster
from support.small import ROOT, small_config, start

pytestmark = pytest.mark.slow

GPU = ("train_encoder", "embed_images", "pretrain_captioner", "generate_shard", "retrieve_images")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


class Run:
    """A run of the smallest config with one corpus and one captioner, whose training is long enough to be cancelled."""

    def __init__(self, folder: Path, slurm: Cluster):
        self.slurm, self.folder = slurm, folder / "run"
        self.config = small_config(["base"], ["clip-a"])
        self.config["corpora"]["coco"]["shards"] = 2
        [evaluation] = self.config["evaluations"].values()
        evaluation["shards"] = 2
        self.config["captioners"]["base"]["optimizer"]["steps"] = 1000

    def start(self, output: Path) -> subprocess.Popen:
        arguments = ["--profile", str(ROOT / "profiles" / "slurm"), "--retries", "0", "--latency-wait", "5"]
        return start(
            self.folder,
            self.config,
            *arguments,
            "results/tables",
            output=output,
            environment=self.slurm.environment,
            program=("-c", SNAKEMAKE),
        )

    def jobs(self, rule: str) -> list[dict[str, str]]:
        return [job for job in self.slurm.jobs() if job["Comment"].startswith(f"rule_{rule}")]


@contextmanager
def running(run: Run, output: Path) -> Iterator[subprocess.Popen]:
    process = run.start(output)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(scope="module")
def run(slurm, tmp_path_factory):
    """The DAG in two runs: in the first, the training of the captioner is cancelled once it is under way."""
    folder = tmp_path_factory.mktemp("small")
    run = Run(folder, slurm)
    log = run.folder / "results" / "logs" / "pretrain_captioner" / "base.log"
    with running(run, folder / "first.out") as first:
        while first.poll() is None and not (log.exists() and "updates" in log.read_text()):
            time.sleep(0.2)
        assert first.poll() is None, (folder / "first.out").read_text()[-6000:]
        slurm.ask("scancel", *(job["JobId"] for job in run.jobs("pretrain_captioner")))
        run.first_code = first.wait(600)
    run.first = (folder / "first.out").read_text()
    run.log_when_cancelled = log.read_text()
    run.tables_when_cancelled = (run.folder / "results" / "tables").exists()
    with running(run, folder / "second.out") as second:
        assert second.wait(900) == 0, (folder / "second.out").read_text()[-6000:]
    return run


def test_a_cancelled_job_is_an_error_and_leaves_no_table(run):
    assert run.first_code != 0
    assert "status is: 'CANCELLED'" in run.first
    assert not run.tables_when_cancelled


def test_the_next_run_goes_on_from_its_checkpoint(run):
    assert [job["JobState"] for job in run.jobs("pretrain_captioner")] == ["CANCELLED", "COMPLETED"]
    assert "Stopped by SIGTERM" in run.log_when_cancelled
    log = (run.folder / "results" / "logs" / "pretrain_captioner" / "base.log").read_text()
    assert "Going on from the checkpoint of step" in log
    assert not list((run.folder / "results" / "state").rglob("*.pt"))


def test_every_table_is_there(run):
    assert {"evaluation.csv", "index.html"} <= {path.name for path in (run.folder / "results" / "tables").iterdir()}


def test_jobs_on_the_gpu_run_one_after_the_other(run):
    jobs = [job for job in run.slurm.jobs() if "gpu" in job.get("TresPerJob", "")]
    assert {job["Comment"].split("_wildcards")[0].removeprefix("rule_") for job in jobs} == set(GPU)
    spans = sorted((job["StartTime"], job["EndTime"]) for job in jobs)
    assert all(ends <= starts for (_, ends), (starts, _) in pairwise(spans))
    # Both shards were ready at the same moment, so it was the one GPU that made one of them wait.
    first, second = sorted(run.jobs("embed_images"), key=lambda job: job["StartTime"])
    assert second["SubmitTime"] < first["EndTime"]


def test_small_jobs_are_submitted_in_groups(run):
    comments = {job["Comment"].split("_wildcards")[0] for job in run.slurm.jobs() if "TresPerJob" not in job}
    assert comments == {
        "rule_corpora_render_toyworld",
        "rule_references_tokenize_references",
        "rule_captions_join_captions_tokenize_captions",
        "rule_score_nlg",  # of all captioners
        "rule_build_browser",  # it copies pictures of all images
        "rule_summary_summarise_evaluation",  # the browser reads it
        # and write_answer, write_model_cards and write_training_pages; Snakemake names five rules of a group
        "rule_reporting_collect_checklist_collect_cost_collect_evaluation_collect_tables_make_table_page_...",
    }
