"""Which files a corpus names, so that its job waits for these and no others."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from captionlab.graph.graph import Graph

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
def test_a_corpus_names_files_and_not_its_reader(corpus, named):
    lab = SimpleNamespace(corpora={"mine": corpus}, root=ROOT)
    assert Experiments.corpus_paths(lab, "mine") == named
