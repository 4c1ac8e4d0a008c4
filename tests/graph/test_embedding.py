"""Which images of a corpus an encoder embeds."""

import pytest
from support.plans import ROOT, config_of

from captionlab.graph.graph import Graph


def splits(planned, config, *of):
    """The split that each of these encoders embeds of a corpus."""
    graph = Graph(config, ROOT)
    plan = planned(config, *(path for encoder, corpus in of for path in graph.features_of(encoder, corpus)))
    found = {}
    for job in plan.of("embed_images"):
        found.setdefault((job.wildcards["encoder"], job.wildcards["corpus"]), set()).add(job.params["split"])
    return [found[place] for place in of]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "paper",
            {
                ("clip-b32", "coco"): None,  # ClipCap reads these features, and CLIP's reward
                ("clip-b32", "flickr30k"): "test",
                ("clip-b32", "nocaps-near"): "val",
                ("blip-grid", "concadia-captions"): "test",
                ("blip-grid", "coco"): None,
                ("blip-grid", "flickr30k"): "test",
            },
        ),
        ("flickr8k", {("clip-a", "flickr8k"): None, ("clip-b", "flickr8k"): "test"}),  # clip-b judges
        ("hl", {("clip-b32", "hl-scenes"): "test"}),  # captioners that learnt of it elsewhere
        (
            "config",
            {
                ("toy-clip-b", "toy-coco"): "test",
                ("toy-clip-a", "toy-coco"): None,  # negatives of scorers, and FC captioners
                ("toy-clip-a", "toy-study"): "test",
                ("toy-clip-b", "simulated"): "judged",
            },
        ),
    ],
)
def test_what_nothing_learns_of_is_embedded_for_its_evaluation_split(planned, name, expected):
    assert splits(planned, config_of(name), *expected) == [{split} for split in expected.values()]


def test_an_encoder_that_gives_a_reward_embeds_what_the_reward_is_for(planned):
    config = config_of("flickr8k")
    config["captioners"]["discritune"]["objective"]["reward"]["retriever"] = "clip-b"
    assert splits(planned, config, ("clip-b", "flickr8k"), ("clip-b", "coco-mini")) == [{None}, {"val"}]
