"""A tiny model of the hub that TRL trains in a SLURM job of two nodes, as the profile of docs/clusters.md asks for."""

import subprocess
from pathlib import Path

import pytest
import yaml
from support.hub_models import hub_model
from support.slurm_cluster import SNAKEMAKE, cluster
from support.small import ROOT, kill, start

from captionlab.storage import paths
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow
CONFIG = yaml.safe_load(Path(__file__).with_name("trl.yaml").read_text(encoding="utf-8"))
ACCELERATE = {
    "compute_environment": "LOCAL_MACHINE", "distributed_type": "MULTI_GPU", "num_machines": 2, "num_processes": 2,
    "mixed_precision": "no", "use_cpu": True,
}  # fmt: skip
SETTINGS = ("nodes=2", "gpu=2", "mpi=srun", "tasks_per_node=2")
ON_NODES = ["--profile", str(ROOT / "profiles" / "slurm"), "--retries", "0", "--latency-wait", "5"]
ON_NODES += ["--set-resources", *(f"finetune_with_trl:{setting}" for setting in SETTINGS)]


@pytest.fixture
def slurm(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("slurm"), nodes=2) as running:
        yield running


def ends(process: subprocess.Popen) -> int:
    """Wait for a run, but not for ever, as a job that SLURM holds never ends."""
    try:
        return process.wait(900)
    finally:
        kill(process)


def losses(run: Path, captioner: str) -> list[float]:
    log = read_table(run / paths.captioner("training.parquet", captioner), TRAINING).to_pylist()
    return [row["value"] for row in log if row["statistic"] == "loss"]


def test_two_nodes_have_the_loss_of_one_process(slurm, tmp_path):
    data, run, output = tmp_path / "data", tmp_path / "run", tmp_path / "log.txt"
    hub_model("smolvlm", data / "hub")
    (data / "nodes.yaml").write_text(yaml.safe_dump(ACCELERATE))
    trained = {**CONFIG["captioners"]["smolvlm-sft"], "lora": {"rank": 2, "alpha": 4, "dropout": 0.0}}
    del trained["accelerate"]
    captioners = {
        "smolvlm": CONFIG["captioners"]["smolvlm"],
        "alone": trained,
        "on-nodes": {**trained, "accelerate": "nodes.yaml"},
    }
    config = {**CONFIG, "data": str(data), "captioners": captioners}
    config["evaluations"] = {"main": {**CONFIG["evaluations"]["main"], "captioners": ["alone", "on-nodes"]}}
    here = start(run, config, "--cores", "2", paths.captioner("training.parquet", "alone"), output=output)
    assert ends(here) == 0, output.read_text()[-5000:]
    target, program = paths.captioner("training.parquet", "on-nodes"), ("-c", SNAKEMAKE)
    there = start(run, config, target, *ON_NODES, output=output, environment=slurm.environment, program=program)
    log = run / "results" / "logs" / "finetune_with_trl" / "on-nodes.log"
    assert ends(there) == 0, output.read_text()[-5000:] + (log.read_text()[-5000:] if log.exists() else "")
    [job] = slurm.jobs()
    assert job["NumNodes"] == "2"
    assert "Processes that train: 2, as MULTI_CPU" in log.read_text()
    assert losses(run, "on-nodes") == pytest.approx(losses(run, "alone"), rel=1e-3)
