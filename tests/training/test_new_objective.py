"""An objective is one folder: the example of docs/extending.md is accepted in a config, and trains."""

from pathlib import Path

import pytest
from support.checkouts import copy_checkout
from support.running import run_python
from support.templates import install

# Two configs are checked: the example, and the example with a key that it does not have. The fingerprint of a
# training by another objective stands before and after.
PLAN = """
import sys
from pathlib import Path
import yaml
from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph

def graph(objective):
    config = yaml.safe_load(Path("config/config.yaml").read_text())
    config["decodings"]["drawn"] = {"kind": "sample", "max_tokens": 20}
    reward = config["captioners"]["toy-fc-clip"]["objective"]["reward"]
    if objective:
        mine = {**config["captioners"]["toy-fc-clip"], "objective": {"reward": reward, **objective}}
        config["captioners"]["mine"] = mine
    return Graph(config, Path("."))

def code(graph, name):
    return graph.software("finetune_captioner", "torch", loads=graph.modules("training", name))["code"](None)

print(code(graph({}), "toy-fc-clip"))
if len(sys.argv) > 1:
    made = graph({"kind": "best-of", "decoding": "drawn"})
    print(made.training("mine")["objective"]["samples"], "torch" in sys.modules)
    try:
        graph({"kind": "best-of", "decoding": "drawn", "sample": 3})
    except ConfigError as error:
        print(error)
"""
# The share of words that are "red" is the reward; the captioner has seen nothing.
TRAINING = """
import torch
from captionlab.captioners.newfc.captioner import NewFC
from captionlab.config.evaluations import read_decoding
from captionlab.networks.tokenizer import Tokenizer
from captionlab.training.loop.batches import ImageBatches
from captionlab.training.objectives.best_of.objective import BestOf

torch.manual_seed(0)
tokenizer = Tokenizer.train(["a red ball"] * 5, 270)
captioner = NewFC(6, width=6, input_width=5, vocabulary=tokenizer.size, dropout=0.0)

def reward(batch, captions):
    return torch.tensor([caption.count("red") / 3 for caption in captions]), {}

objective = BestOf(tokenizer, read_decoding({"kind": "sample", "max_tokens": 3}), reward, samples=8)
optimizer = torch.optim.Adam(captioner.parameters(), lr=0.1)
batches = ImageBatches(torch.randn(8, 6), size=8, seed=1)
for step in range(60):
    loss, statistics = objective.loss(captioner, batches[step])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step in (0, 59):
        print(float(statistics["reward"]))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_checkout(tmp_path_factory.mktemp("new_objective"))


def test_an_objective_is_one_folder(checkout):
    before = run_python(checkout, PLAN)
    install(checkout, "training/objectives/best_of")
    code, samples, *mistakes = run_python(checkout, PLAN, "with").splitlines()
    assert code == before.strip()
    assert len(code) > 10
    assert samples == "4 False"
    assert "captioners.mine.objective has no key 'sample'; did you mean 'samples'?" in "\n".join(mistakes)
    first, last = map(float, run_python(checkout, TRAINING).split())
    assert first < 0.2
    assert last > 0.8
