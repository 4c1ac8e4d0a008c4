"""Paths of results, on the disk and in Snakemake's local copy of a bucket."""

import pytest

from captionlab.storage import paths

COPY = ".snakemake/storage/s3/bucket/run/"


@pytest.mark.parametrize("where", ["", COPY])
def test_a_job_has_the_same_names_wherever_its_results_are(where):
    assert paths.job_of(f"{where}results/logs/read_corpus/coco.log") == "coco"
    assert paths.job_of(f"{where}results/logs/collect_cost.log") == ""
    assert str(paths.results_of(f"{where}results/logs/a/b.log")) == f"{where}results"
    assert paths.in_results(f"{where}results/corpora/coco/images.parquet") == "results/corpora/coco/images.parquet"


def test_other_paths_are_left_as_they_are():
    assert paths.in_results("data/images") == "data/images"
