"""Which files jobs wait for, and which files are no results."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.io import is_flagged

from captionlab.config.whole import ConfigError
from captionlab.graph.graph import Graph
from captionlab.graph.models import Models
from captionlab.graph.software import own

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("corpus", "named"),
    [
        ({"reader": "coco", "annotations": {"val": "mini/a.json"}, "images": "mini/i"}, ["mini/a.json", "mini/i"]),
        (
            {"reader": "hl", "annotations": {"test": "hl/test.jsonl"}, "images": None, "text": "scene"},
            ["hl/test.jsonl"],
        ),
        ({"reader": "huggingface", "repository": "a/b", "revision": "c0ffee"}, ["hub/a/b/c0ffee"]),
    ],
)
def test_a_job_waits_for_the_files_of_its_corpus_and_no_others(corpus, named):
    awaited = []
    retrieving = SimpleNamespace(wait_for=lambda paths: awaited.extend(paths))
    config = {"corpora": {"mine": corpus, "other": {"reader": "coco", "annotations": {"val": "b.json"}}}}
    config |= {"evaluations": {}, "limit": None}
    settings = SimpleNamespace(data=".")
    Models(config, settings, Path(), retrieving).input_files("mine")
    assert awaited == named


def test_a_file_that_no_job_makes_is_no_result_in_a_bucket():
    """Snakemake would look for it where results lie."""
    assert is_flagged(own("photos.json"), "local")


def test_addresses_in_buckets_are_fetched_to_places_below_the_data(tmp_path):
    reader = {"reader": "webdataset", "captions": None}
    config = {
        "seed": 1,
        "data": str(tmp_path),
        "retrieve": True,
        "corpora": {
            "mine": {"reader": "karpathy", "annotations": "s3://b/sets/a.json", "images": "s3://b/sets"},
            "web": {**reader, "tars": {"train": "s3://other/train/"}, "evaluation_split": "train"},
        },
    }
    graph = Graph(config, ROOT)
    graph.check_files()  # what will be fetched is not missing
    sources = {source.name: [*source.places] for source in graph.retrieving.retrieval.missing}
    assert sources == {
        "s3://b/sets/a.json": ["s3/b/sets%2Fa.json"],
        "s3://b/sets": ["s3/b/sets"],
        "s3://other/train": ["s3/other/train"],
    }
    corpus = graph.settings.corpora["mine"]
    assert (corpus.annotations, corpus.images) == ("s3/b/sets%2Fa.json", "s3/b/sets")
    with pytest.raises(ConfigError, match=r"s3/b/sets%2Fa\.json"):
        Graph({**config, "retrieve": False}, ROOT).check_files()
