"""A corpus in a bucket: fetched by a run that is killed meanwhile and goes on, against the same corpus on the disk."""

import time
from pathlib import Path

import pytest
import yaml
from support.bucket import KEY, SECRET, START_AGAIN, serving_bucket
from support.small import ROOT, kill, start
from support.stand_ins import karpathy

from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow

ARGUMENTS = ("--cores", "2", "--nolock")
# The results are in the same bucket.
IN_BUCKET = ("--default-storage-provider", "s3", "--default-storage-prefix", "s3://bucket/run")
IMAGES_HELD = 300  # so many that a kill meets some of them
CORPUS = "results/corpora/coco/images.parquet"  # people alone are scored, by metrics that see no image
TABLES = tuple(f"results/tables/evaluation.{form}" for form in ("csv", "html", "md"))


def config_of(data, annotations: str, images: str) -> dict:
    """Scores human captions of a corpus."""
    whole = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8"))
    corpus = {**whole["corpora"]["coco"], "annotations": annotations, "images": images}
    return {
        "seed": 1,
        "data": str(data),
        "retrieve": annotations.startswith("s3://"),
        "corpora": {"coco": corpus},
        "captioners": {"people": {"family": "human"}},
        "evaluations": {"main": {"captioners": ["people"], "corpora": ["coco"]}},
        "spice": "off",
    }


def test_a_corpus_in_a_bucket_gives_the_tables_of_the_corpus_on_the_disk(tmp_path):
    local, data = tmp_path / "local", tmp_path / "data"
    karpathy(local, "coco/dataset_coco.json", "coco", {"train": 2, "val": 1, "test": IMAGES_HELD}, lambda split: split)
    configs = {
        "disk": config_of(local, "coco/dataset_coco.json", "coco"),
        "run": config_of(data, "s3://bucket/sets/coco/dataset_coco.json", "s3://bucket/sets/coco/"),
    }
    with serving_bucket(tmp_path / "server.log") as bucket:
        bucket.put(local, "sets/")

        def started(name):
            (tmp_path / name).mkdir(exist_ok=True)
            output = tmp_path / f"{name}.out"
            arguments = (*ARGUMENTS, *(IN_BUCKET if name == "run" else ()), CORPUS, *TABLES)
            return start(tmp_path / name, configs[name], *arguments, output=output, environment=bucket.environment)

        process = started("run")
        deadline = time.monotonic() + 300
        while len(came := [*data.glob(".retrieve/bucket-*/whole/test/*")]) < 20:
            assert process.poll() is None, (tmp_path / "run.out").read_text()[-4000:]
            assert time.monotonic() < deadline
            time.sleep(0.01)
        kill(process)
        times = {path.name: path.stat().st_mtime_ns for path in came}
        assert not (data / "s3/bucket/sets%2Fcoco").exists()
        for name in ("run", "disk"):
            code = started(name).wait(600)
            if code and START_AGAIN in (tmp_path / f"{name}.out").read_text():
                code = started(name).wait(600)
            assert code == 0, (tmp_path / f"{name}.out").read_text()[-4000:]
        stored = bucket.sizes("run/results/")
        made = {Path(name).name: bucket.read(f"run/results/{name}") for name in stored if "tables/evaluation." in name}
    folder = data / "s3/bucket/sets%2Fcoco"
    assert {name: (folder / "test" / name).stat().st_mtime_ns for name in times} == times  # these came before the kill
    images = read_table(tmp_path / "disk" / CORPUS, IMAGES)
    assert images.num_rows == IMAGES_HELD + 3
    tables = {Path(name).name: (tmp_path / "disk" / name).read_bytes() for name in TABLES}
    assert made == tables
    assert not {name for name in stored if "retrieved" in name}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files for secret in (SECRET, KEY) if secret.encode() in path.read_bytes()]
