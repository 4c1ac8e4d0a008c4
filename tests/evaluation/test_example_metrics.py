"""The examples of docs/metrics.md, each with a stand-in for its package that has the functions of it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from PIL import Image
from snakemake.utils import update_config

from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "metrics"
# The published signature; the value is the largest share of a reference's words.
BERT_SCORE = """
import numpy as np


def score(cands, refs, model_type=None, num_layers=None, verbose=False, idf=False, device=None, batch_size=64,
          nthreads=4, all_layers=False, lang=None, return_hash=False, rescale_with_baseline=False, baseline_path=None):
    assert lang == "en" and rescale_with_baseline
    shares = [max(len({*c.split()} & {*r.split()}) / len({*r.split()}) for r in rs) for c, rs in zip(cands, refs)]
    return np.zeros(len(cands)), np.ones(len(cands)), np.array(shares)
"""
POLOS = """
def download_model(model, saving_directory=None):
    return f"/weights/{model}"


def load_checkpoint(checkpoint):
    assert checkpoint == "/weights/polos"
    return Model()


class Model:
    def predict(self, samples, batch_size=8, cuda=False):
        assert all(sample["img"].mode == "RGB" for sample in samples)
        red = [sample["img"].getpixel((0, 0))[0] for sample in samples]
        scores = [r + len(s["mt"]) / 100 + len(s["refs"]) / 1000 for r, s in zip(red, samples)]
        return samples, scores
"""
# The published signatures; the value is the share of a reference's words, averaged over references. As in the package,
# scores are in the order of the references, and captions or references without a sentence cannot be parsed.
CAPTURE = """
class CAPTURE:
    def __init__(self, alpha=0.5, beta=0.5, gamma=0.2, synonym_matching=True, soft_matching=True, stop_words=True,
                 eps=1e-6):
        assert soft_matching and synonym_matching

    def compute_score(self, gts, res, prev_gt_parsed=None, prev_cand_parsed=None, return_parse_results=False):
        assert gts.keys() == res.keys()
        scores = []
        for key, references in gts.items():
            (caption,) = res[key]
            assert caption.strip() and all(text.strip() for text in references)
            shares = [len({*caption.split()} & {*text.split()}) / len({*text.split()}) for text in references]
            scores.append(sum(shares) / len(shares))
        return sum(scores) / len(scores), scores
"""


@pytest.fixture
def captions(tmp_path):
    """A file of captions as it goes out, with an image that is not of RGB."""
    rows = []
    for number in range(70):
        image = tmp_path / f"{number}.png"
        Image.new("L", (2, 2), number).save(image)
        references = ["a b c d", "e f"][: number % 2 + 1]
        key = {"corpus": "world", "image_id": str(number), "caption_index": 0, "image": str(image)}
        rows.append({"id": f"world/{number}/0", "caption": "a b e", "references": references, **key})
    file = tmp_path / "captions.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def run(name, captions, package, source):
    """The scores that an example writes, in the order of its lines, with this module as the package."""
    module = captions.parent / "packages" / package
    module.parent.mkdir(parents=True)
    module.write_text(source)
    scores = captions.with_name("scores.jsonl")
    command = [sys.executable, EXAMPLES / f"score_{name}.py", captions, scores]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(captions.parent / "packages")})
    return {row["id"]: row["score"] for row in map(json.loads, scores.read_text().splitlines())}


def test_bertscore(captions):
    found = run("bertscore", captions, "bert_score.py", BERT_SCORE)
    # The second reference has half of its words in the caption, as the first one has.
    assert found == {f"world/{number}/0": 0.5 for number in range(70)}


def test_polos(captions):
    found = run("polos", captions, "polos/models.py", POLOS)
    wanted = {f"world/{number}/0": number + 0.05 + (number % 2 + 1) / 1000 for number in range(70)}
    assert found == pytest.approx(wanted)


def test_capture(captions):
    empty = {"id": "world/empty/0", "corpus": "world", "image_id": "empty", "caption_index": 0, "image": None}
    with captions.open("a") as file:
        file.write(json.dumps({**empty, "caption": " ", "references": ["a b"]}) + "\n")
    found = run("capture", captions, "capture_metric/capture.py", CAPTURE)
    assert [*found] == [*(f"world/{number}/0" for number in range(70)), "world/empty/0"]
    assert {*found.values()} == {0.5, 0.0}
    assert found["world/empty/0"] == 0


def test_the_config_names_files_that_are_there():
    config = yaml.safe_load((ROOT / "tests" / "runs" / "config.yaml").read_text())
    update_config(config, yaml.safe_load((EXAMPLES / "config.yaml").read_text()))
    Graph(config, ROOT).check_files()
    assert [*config["metrics"]] == ["bertscore", "polos", "capture"]
    for name, block in config["metrics"].items():
        environment = yaml.safe_load((ROOT / block["conda"]).read_text())
        pinned = [package for item in environment["dependencies"] if isinstance(item, dict) for package in item["pip"]]
        assert any(re.match(r"[\w-]+ ==", package) and package.endswith(f"=={block['version']}") for package in pinned)
        assert (EXAMPLES / f"score_{name}.py").is_file()
