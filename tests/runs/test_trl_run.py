"""A tiny model of the hub that TRL trains through the workflow, in one process and in two."""

import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.torch import load_file
from support.hub_models import hub_model
from support.small import start

from captionlab.captioners.store import load_captioner
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED, TRAINING
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow
CONFIG = yaml.safe_load(Path(__file__).with_name("trl.yaml").read_text(encoding="utf-8"))
TRAINED = {name: block for name, block in CONFIG["captioners"].items() if "objective" in block}
CAPTIONING = CONFIG["evaluations"]["main"]["captioners"]
# As `accelerate config` writes it, for one process and for two on a processor.
ACCELERATE = {"compute_environment": "LOCAL_MACHINE", "num_machines": 1, "mixed_precision": "no", "use_cpu": True}
FILES = {
    "one.yaml": {**ACCELERATE, "distributed_type": "NO", "num_processes": 1},
    "two.yaml": {**ACCELERATE, "distributed_type": "MULTI_GPU", "num_processes": 2},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("run")
    hub_model("smolvlm", folder / "data" / "hub")
    for name, settings in FILES.items():
        (folder / "data" / name).write_text(yaml.safe_dump(settings))
    config, log = {**CONFIG, "data": str(folder / "data")}, folder / "log.txt"
    targets = [
        *(paths.captioner("model.safetensors", name) for name in TRAINED),
        *(paths.captions(name, "main") for name in CAPTIONING),
    ]
    process = start(folder / "work", config, *targets, "--cores", "2", "--quiet", "progress", output=log)
    assert process.wait() == 0, log.read_text()[-5000:]
    return folder / "work"


@pytest.mark.parametrize("captioner", TRAINED)
def test_what_trl_trained(run, captioner):
    log = read_table(run / paths.captioner("training.parquet", captioner), TRAINING).to_pylist()
    losses = [row["value"] for row in log if row["statistic"] == "loss"]
    assert len(losses) == TRAINED[captioner]["optimizer"].get("steps", 8)
    assert np.isfinite(losses).all()
    folder = (run / paths.captioner("config.json", captioner)).parent
    stored = json.loads((folder / "config.json").read_text())
    assert ("lora" in stored) == ("lora" in TRAINED[captioner] and "merge" not in TRAINED[captioner]["lora"])
    if "lora" in stored:
        adapters = load_file(folder / "model.safetensors")
        assert any(value.any() for name, value in adapters.items() if "lora_B" in name), "they start at 0"
    load_captioner(folder)


@pytest.mark.parametrize("captioner", CAPTIONING)
def test_what_trl_trained_captions_every_image(run, captioner):
    assert read_table(run / paths.captions(captioner, "main"), GENERATED).num_rows == 4


def test_accelerate_launched_as_many_processes_as_its_file_says(run):
    logs = run / "results" / "logs" / "finetune_with_trl"
    assert "Processes that train: 2, as MULTI_CPU" in (logs / "smolvlm-sft.log").read_text()
    assert "Processes that train: 1, as NO" in (logs / "smolvlm-rloo.log").read_text()
