"""Which images of a corpus an encoder embeds."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]


def split(config, encoder, corpus):
    lab = Graph(config, ROOT)
    return lab.embedded_split(SimpleNamespace(encoder=encoder, corpus=corpus))


def config_of(name):
    return yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())


@pytest.mark.parametrize(
    ("config", "encoder", "corpus", "expected"),
    [
        ("paper", "clip-b32", "coco", None),  # ClipCap reads these features, and CLIP's reward
        ("paper", "clip-b32", "flickr30k", "test"),
        ("paper", "clip-b32", "nocaps-near", "val"),
        ("paper", "blip-grid", "concadia-captions", "test"),
        ("paper", "blip-grid", "coco", None),
        ("paper", "blip-grid", "flickr30k", "test"),
        ("flickr8k", "clip-a", "flickr8k", None),
        ("flickr8k", "clip-b", "flickr8k", "test"),  # a judge
        ("hl", "clip-b32", "hl-scenes", "test"),  # captioners that learnt of it elsewhere
        ("config", "toy-clip-b", "toy-coco", "test"),
        ("config", "toy-clip-a", "toy-coco", None),  # negatives of scorers, and FC captioners
        ("config", "toy-clip-a", "toy-study", "test"),
        ("config", "toy-clip-b", "simulated", "judged"),
    ],
)
def test_what_nothing_learns_of_is_embedded_for_its_evaluation_split(config, encoder, corpus, expected):
    assert split(config_of(config), encoder, corpus) == expected


def test_an_encoder_that_gives_a_reward_embeds_what_the_reward_is_for():
    config = config_of("flickr8k")
    config["captioners"]["discritune"]["objective"]["reward"]["retriever"] = "clip-b"
    assert split(config, "clip-b", "flickr8k") is None
    assert split(config, "clip-b", "coco-mini") == "val"
