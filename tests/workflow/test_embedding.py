"""Which images of a corpus an encoder embeds."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from captionlab.workflow.experiments import Experiments

ROOT = Path(__file__).parents[2]


def split(config, encoder, corpus):
    lab = Experiments(config, ROOT)
    return lab.embedding.split(SimpleNamespace(encoder=encoder, corpus=corpus))


@pytest.mark.parametrize(
    ("encoder", "corpus", "expected"),
    [
        ("clip-b32", "coco", None),  # both train
        ("clip-b32", "flickr30k", "test"),  # a corpus that evaluations alone name, with their tables and languages
        ("clip-b32", "nocaps-near", "val"),
        ("blip-grid", "concadia-captions", "test"),
        ("blip-grid", "coco", None),
        ("clip-b32", "hl-scenes-val", None),
    ],
)
def test_of_a_corpus_that_is_only_evaluated_on_one_split_is_embedded(encoder, corpus, expected):
    config = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text())
    for block in config["corpora"].values():
        block.setdefault("evaluation_split", "test")
    assert split(config, encoder, corpus) == expected


def test_of_an_encoder_that_only_judges_one_split_of_each_corpus_is_embedded():
    config = yaml.safe_load((ROOT / "config" / "flickr8k.yaml").read_text())
    for block in config["corpora"].values():
        block.setdefault("evaluation_split", "test")
    assert split(config, "clip-b", "flickr8k") == "test"
    assert split(config, "clip-a", "flickr8k") is None
    config["captioners"]["discritune"]["objective"]["reward"]["retriever"] = "clip-b"
    assert split(config, "clip-b", "flickr8k") is None
