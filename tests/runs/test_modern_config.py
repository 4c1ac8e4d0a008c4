"""config/modern.yaml on tiny stand-ins in the published formats, on COCO alone, with a model of SmolVLM's type."""

import csv
import shutil
from pathlib import Path

import pytest
import yaml
from safetensors.torch import load_file
from support.hub_models import hub_model
from support.small import ROOT, start
from support.stand_in_weights import clip_grid_weights, clip_weights
from support.stand_ins import coco

from captionlab.storage import paths
from captionlab.storage.schemas import TRAINING
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow
LEARNT = {"smolvlm-reinforce": "reinforce", "smolvlm-grpo": "grpo"}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """The folder of a finished run."""
    folder = tmp_path_factory.mktemp("modern")
    data = folder / "data"
    coco(data)
    clip_weights(data / "weights/clip-vit-b-32-openai.safetensors")
    clip_grid_weights(data / "weights/clip-rn50x16-openai.safetensors")
    config = yaml.safe_load((ROOT / "config" / "modern.yaml").read_text(encoding="utf-8"))
    place = data / config["captioners"]["smolvlm"]["weights"]
    place.parent.mkdir(parents=True)
    shutil.move(hub_model("smolvlm", folder), place)
    config["data"] = str(data)
    del config["evaluations"]["modern"]  # it is as the other one, on other corpora
    config["corpora"] = {"coco": {**config["corpora"]["coco"], "shards": 2}}  # as few as show that there are several
    for decoding in config["decodings"].values():
        decoding["max_tokens"] = 8  # a model with random weights says more without an end
    log = folder / "log.txt"
    process = start(
        folder / "run", config, paths.table("evaluation.csv"), "--cores", "2", "--quiet", "progress", output=log
    )
    assert process.wait() == 0, log.read_text(encoding="utf-8")[-5000:]
    return folder / "run"


@pytest.mark.parametrize("captioner", LEARNT)
def test_adapters_are_trained_by_the_reward(run, captioner):
    adapters = load_file(run / paths.captioner("model.safetensors", captioner))
    assert any(value.any() for name, value in adapters.items() if "lora_B" in name), "they start at 0"
    log = read_table(run / paths.captioner("training.parquet", captioner), TRAINING).to_pydict()
    assert "reward" in log["statistic"]
    assert ("kl" in log["statistic"]) is (LEARNT[captioner] == "grpo")


def test_both_retrievers_say_how_often_captions_find_their_images(run):
    with open(run / paths.table("evaluation.csv"), encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["metric"] == "P@1"]
    assert {row["captioner"] for row in found} == {"smolvlm", *LEARNT, "human"}
    assert {row["corpus"] for row in found} == {"coco"}
    assert {row["retriever"] for row in found} == {"clip-b32", "clip-rn50x16"}
    assert all(row["ci_low"] and row["ci_high"] for row in found)
