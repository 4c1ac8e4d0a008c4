"""Tiny models of four types of the hub through the whole workflow, and what was trained of them in transformers."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from PIL import Image
from support.decodings import decoding_of
from support.hub_models import hub_model
from support.interval_ranges import intervals_outside
from support.small import start

from captionlab.captioners.pictures import Pictures
from captionlab.captioners.prompts import Prompter
from captionlab.captioners.store import load_captioner
from captionlab.generation.decoding import decode
from captionlab.networks import hub
from captionlab.storage import paths
from captionlab.storage.schemas import GENERATED, TRAINING
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow
CONFIG = yaml.safe_load(Path(__file__).with_name("hub.yaml").read_text(encoding="utf-8"))
TRAINED = {name: block for name, block in CONFIG["captioners"].items() if "objective" in block}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("run")
    for kind in ("git", "blip-2", "llava", "qwen2_5_vl"):
        hub_model(kind, folder / "data" / "hub")
    exported = [paths.export(name) for name in ("llava-learns", "qwen-learns", "git")]
    log = folder / "log.txt"
    process = start(
        folder / "work",
        {**CONFIG, "data": str(folder / "data")},
        *(paths.table("evaluation.csv"), *exported, "--cores", "2", "--quiet", "progress"),
        output=log,
    )
    assert process.wait() == 0, log.read_text()[-5000:]
    return folder / "work"


@pytest.mark.parametrize("captioner", CONFIG["evaluations"]["main"]["captioners"])
def test_a_captioner_is_evaluated(run, captioner):
    captions = read_table(run / paths.captions(captioner, "main"), GENERATED)
    assert captions.num_rows == 16
    assert all(value < 0 for value in captions["log_prob"].to_pylist())
    assert captioner in (run / paths.table("evaluation.csv")).read_text()


def test_no_interval_lies_outside_of_the_range_of_its_measure(run):
    found, intervals = intervals_outside(run / "results")
    assert found == []
    assert intervals > 50


@pytest.mark.parametrize("captioner", TRAINED)
def test_what_was_trained(run, captioner):
    """Losses are in the log; adapters alone are stored."""
    log = read_table(run / paths.captioner("training.parquet", captioner), TRAINING).to_pydict()
    losses = [value for name, value in zip(log["statistic"], log["value"], strict=True) if name == "loss"]
    assert len(losses) == TRAINED[captioner]["optimizer"]["steps"]
    assert np.isfinite(losses).all()
    folder = (run / paths.captioner("config.json", captioner)).parent
    stored = json.loads((folder / "config.json").read_text())
    lora = TRAINED[captioner].get("lora", {"merge": True})
    assert ("lora" in stored) is not lora.get("merge", False)
    if "lora" in stored:
        from safetensors.torch import load_file

        adapters = load_file(folder / "model.safetensors")
        assert all("lora_" in name for name in adapters)
        assert any(value.any() for name, value in adapters.items() if "lora_B" in name), "they start at 0"
        assert stored["parent"]["captioner"] == TRAINED[captioner]["parent"]


@pytest.fixture(scope="module")
def image():
    return Image.fromarray(np.random.default_rng(0).integers(0, 255, (40, 60, 3), dtype=np.uint8))


def pictures_of(captioner, processor, image):
    """Return an image as a captioner of ours reads it by pixels."""
    prompter = Prompter(processor, captioner.architecture["block"], captioner.architecture["reads_prompt"])
    return Pictures([image], prompter, torch.device("cpu"))


@pytest.mark.parametrize("captioner", ["qwen-learns", "git"])
def test_plain_transformers_reads_what_was_exported_and_says_the_same(run, image, captioner):
    ours, tokenizer = load_captioner((run / paths.captioner("config.json", captioner)).parent)
    model, processor = hub.read_folder(run / paths.export(captioner))
    pictures = pictures_of(ours, processor, image)
    decoded = decode(ours, pictures, decoding_of("greedy", 8), tokenizer)
    words = pictures.inputs["input_ids"].shape[1]
    found = model.generate(**pictures.inputs, max_new_tokens=8, do_sample=False)[0, words:].tolist()
    assert found == decoded.tokens[0, : decoded.lengths[0]].tolist()


def test_plain_peft_reads_adapters_that_were_exported(run, image):
    from peft import PeftModel

    ours, _ = load_captioner((run / paths.captioner("config.json", "llava-learns")).parent)
    base, processor = hub.read_folder(run.parent / "data" / "hub" / "llava")
    model = PeftModel.from_pretrained(base, str(run / paths.export("llava-learns"))).eval()
    pictures, tokens = pictures_of(ours, processor, image), torch.tensor([[5, 6, 7]])
    inputs = dict(pictures.inputs)
    with torch.no_grad():
        features = torch.stack([*hub.image_features(base, inputs).pooler_output])
        found = ours.log_probs(features, tokens, torch.ones(1, 3))
        inputs["input_ids"] = torch.cat([inputs["input_ids"], tokens[:, :-1]], dim=1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        logits = model(**inputs).logits[0, -3:]
    torch.testing.assert_close(found[0], logits.log_softmax(-1).gather(1, tokens.T)[:, 0], atol=1e-5, rtol=1e-5)
