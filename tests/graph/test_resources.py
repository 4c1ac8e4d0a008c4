"""The memory that a job asks for grows with its inputs and with its attempts."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from support.plans import config_of, plan

from captionlab.graph.graph import Graph
from captionlab.graph.resources import distinct, memory, rows_of

ROOT = Path(__file__).parents[2]


def test_memory(tmp_path):
    for name, size in (("a", 3_000_000), ("b", 5_000_000), ("c", 7_000_000)):
        (tmp_path / name).write_bytes(bytes(size))
    a, b, c = (str(tmp_path / name) for name in "abc")
    mem_mb = memory(100, features=2, images=0.5)
    assert mem_mb(None, {"features": [a, b], "images": c, "config": "none"}, 1) == 100 + 2 * 8 + 3
    assert mem_mb(None, {"features": [a, b], "images": c}, 3) == 3 * 119
    assert mem_mb(None, {"features": [a], "images": a}, 1) == 101
    with pytest.raises(FileNotFoundError) as missing:
        mem_mb(None, {"features": ["none"], "images": a}, 1)
    assert missing.value.filename == "none"


def test_memory_for_what_is_held_beside_the_inputs(tmp_path):
    (tmp_path / "a").write_bytes(bytes(3_000_000))
    given = {"images": str(tmp_path / "a")}
    mem_mb = memory(100, lambda wildcards, input: wildcards["n"] * len(input) * 1_000_000, images=2)
    assert mem_mb({"n": 7}, given, 1) == 100 + 7 + 6
    assert mem_mb({"n": 7}, given, 2) == 2 * 113


@pytest.mark.parametrize("factor", [0.1, 1.0, 1.2])
def test_regions_are_never_held_as_a_whole(tmp_path, monkeypatch, factor):
    regions, tags = Graph(config_of("config"), ROOT).images_for("captioners", "toy-scened", "toy-scenes")
    monkeypatch.chdir(tmp_path)
    for path, size in ((regions, 400_000_000_000), (tags, 3_000_000)):
        Path(path).parent.mkdir(parents=True)
        with open(path, "wb") as file:
            file.truncate(size)
    assert memory(8000, features=factor)(None, {"features": [regions, tags]}, 1) == 8000 + 30


def test_an_encoder_holds_all_images_that_it_is_trained_on(tmp_path):
    """Once the corpus is there; before that, a plan cannot say how much memory the job needs."""
    config = yaml.safe_load((ROOT / "tests" / "runs" / "config.yaml").read_text())
    corpus = tmp_path / "run" / "results" / "corpora" / config["encoders"]["clip-a"]["corpus"]
    corpus.mkdir(parents=True)
    for table in ("images", "captions", "objects", "scene_captions", "rejects"):
        pq.write_table(pa.table({"image_id": ["a"] * 1000}), corpus / f"{table}.parquet")
    job = plan(config, tmp_path, "results/encoders/clip-a/config.json").job("train_encoder", encoder="clip-a")
    assert job.resources["mem_mb"] == int(6000 + 1000 * 3 * 64 * 64 / 1e6)


def test_rows_of_a_table_are_counted(tmp_path):
    pq.write_table(pa.table({"image_id": ["a"] * 30 + ["b"] * 20}), tmp_path / "images.parquet")
    assert rows_of(tmp_path / "images.parquet") == 50
    assert distinct(tmp_path / "images.parquet", "image_id") == 2


@pytest.mark.parametrize(
    ("file", "rule", "inputs"),
    [
        ("features", "train_encoder", "bytes_of_pixels, images=2, captions=20"),
        ("features", "import_encoder", "weights=4"),
        ("captioners", "import_captioner", "files=4"),
        ("scorers", "import_scorer", "weights=4"),
    ],
)
def test_what_reads_large_files_asks_for_memory_by_their_size(file, rule, inputs):
    text = (ROOT / "workflow" / "rules" / f"{file}.smk").read_text()
    body = re.search(rf"^rule {rule}:\n((?:[ \n].*\n?)*)", text, re.MULTILINE)[1]
    assert re.search(rf"mem_mb=graph\.memory\(\d+, {re.escape(inputs)}\)", body)
