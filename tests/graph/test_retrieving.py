"""Which files jobs wait for, and which files are no results."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from snakemake.io import is_flagged

from captionlab.graph.models import Models
from captionlab.graph.software import own


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
