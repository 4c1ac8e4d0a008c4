"""What `engine: trl` cannot train is refused in one sentence."""

import copy
from pathlib import Path

import pytest
import yaml

from captionlab.config.whole import ConfigError, checked
from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]
CONFIG = yaml.safe_load((ROOT / "tests" / "runs" / "trl.yaml").read_text(encoding="utf-8"))


def mistakes(path, value, **more):
    """The sentences for the config with another value at a dotted path; ... takes the key away."""
    config = copy.deepcopy(CONFIG)
    for place, content in {path: value, **more}.items():
        *parents, last = place.split(".")
        block = config
        for parent in parents:
            block = block[parent]
        if content is ...:
            del block[last]
        else:
            block[last] = content
    with pytest.raises(ConfigError) as raised:
        checked(config, ROOT)
    return str(raised.value)


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("smolvlm-sft.engine", "captionlab", "smolvlm-sft.accelerate is for `engine: trl`"),
        ("smolvlm.chat", ..., "write `chat` in captioners.smolvlm in place of `prompt`"),
        ("smolvlm-sft.snapshots", [1], "smolvlm-sft.snapshots is nothing that `engine: trl` has"),
        ("smolvlm-sft.use_vllm", True, "smolvlm-sft.use_vllm is for grpo and self-critical"),
        ("smolvlm-sft.optimizer.clip_value", 1.0, "smolvlm-sft.optimizer.clip_value is nothing that `engine: trl` has"),
        ("smolvlm-sft.optimizer.kind", "adam", "smolvlm-sft.optimizer.kind is adam, whose weight decay"),
        ("smolvlm-sft.optimizer.accumulate", 3, "smolvlm-sft.optimizer.batch is 4, and `engine: trl` needs a multiple"),
        ("smolvlm-sft.objective.captions_per_image", 2, "objective.captions_per_image is 2"),
        ("smolvlm-rloo.objective.baseline", "greedy", "smolvlm-rloo.objective.baseline is greedy"),
        ("smolvlm-rloo.objective.log_prob", ..., "smolvlm-rloo.objective.log_prob is None"),
        ("smolvlm-rloo.objective.scale", 2.0, "smolvlm-rloo.objective.scale is 2.0"),
        (
            "smolvlm-rloo.objective",
            {"kind": "reinforce", "reward": {"kind": "cider"}, "baseline": "none", "decoding": "sample"},
            "smolvlm-rloo.objective.kind is 'reinforce', by which `engine: trl` cannot train",
        ),
    ],
)
def test_settings_that_trl_lacks(path, value, sentence):
    assert sentence in mistakes(f"captioners.{path}", value)


def test_a_staircase_and_a_stop_are_refused():
    staircase = {"kind": "adam", "lr": 1e-3, "batch": 4, "steps": 2, "schedule": "staircase"}
    staircase |= {"decay": 0.5, "decay_epochs": 1}
    assert "optimizer.schedule is staircase" in mistakes("captioners.smolvlm-sft.optimizer", staircase)
    stop = {"kind": "sample", "max_tokens": 6, "stop": "."}
    sentence = "captioners.smolvlm-grpo.objective.decoding: decodings.sample.stop is nothing that `engine: trl` has"
    assert sentence in mistakes("decodings.sample", stop)


def test_trl_must_be_installed(monkeypatch):
    monkeypatch.setattr("captionlab.config.engines.find_spec", lambda name: None)
    assert "captioners.smolvlm-sft.engine is trl, which is not installed: pip install trl" in mistakes("seed", 3)


def test_a_captioner_that_reads_a_table_is_refused():
    encoders = {"sees": {"family": "transformers", "weights": "hub/smolvlm"}, "patches": {"patches_of": "sees"}}
    sentence = "captioners.smolvlm-sft.engine is trl, which reads images, and captioners.smolvlm reads a table"
    assert sentence in mistakes("captioners.smolvlm.encoder", "patches", encoders=encoders)


def test_a_file_of_accelerate_is_an_input_and_no_parameter():
    graph = Graph(copy.deepcopy(CONFIG), ROOT)
    assert graph.names_of("captioners", "finetuned") == "smolvlm-dpo-here"
    assert "smolvlm-sft" in graph.names_of("captioners", "finetuned-by-trl").split("|")
    assert "accelerate" not in graph.training("smolvlm-sft")
    assert [Path(file).name for file in graph.files_of("captioners", "smolvlm-sft", "accelerate")] == ["two.yaml"]
