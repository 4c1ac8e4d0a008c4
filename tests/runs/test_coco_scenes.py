"""config/coco_scenes.yaml up to a table and the figures of the scenes paper: on real images with annotated boxes."""

import csv
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from support.interval_ranges import intervals_outside
from support.records import python_path

from captionlab.ablation.schemas import ABLATED, CHOSEN, COVERAGE, LABELS, PMI
from captionlab.probes.schemas import SCORES
from captionlab.regions.tags import TAGS
from captionlab.storage import paths
from captionlab.storage.schemas import OBJECTS
from captionlab.storage.tables import read_table

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow
# One job draws all figures of the paper.
FIGURE = "results/figures/scenes_figure9_probes.png"


@pytest.fixture(scope="module")
def results(shared_data, tmp_path_factory) -> Path:
    """The results of a finished run."""
    folder = tmp_path_factory.mktemp("coco_scenes")
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--configfile", str(ROOT / "config" / "coco_scenes.yaml"), "--directory", str(folder)]
    command += [paths.table("scenes_table3_objects.csv"), FIGURE, "--config", f"data={shared_data}"]
    environment = {**os.environ, "PYTHONPATH": python_path(ROOT / "src")}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, (result.stdout + result.stderr)[-6000:]
    return folder / "results"


def test_annotated_objects_are_tags(results):
    objects = read_table(results / "corpora" / "coco-mini" / "objects.parquet", OBJECTS)
    tags = read_table(results / "tags" / "objects" / "coco-mini" / "tags.parquet", TAGS)
    assert Counter(tags["label"].to_pylist()) == Counter(objects["label"].to_pylist())
    assert tags.num_rows == 2196


def test_objects_that_tell_a_scene(results):
    chosen = read_table(results / "ablation" / "chosen.parquet", CHOSEN).to_pylist()
    assert all(row["images"] >= 10 for row in chosen)
    labels = read_table(results / "ablation" / "labels.parquet", LABELS).to_pylist()
    tags = read_table(results / "tags" / "objects" / "coco-mini" / "tags.parquet", TAGS).to_pylist()
    with_toilet = {row["image_id"] for row in tags if row["label"] == "toilet"}
    bathrooms = {row["image_id"] for row in labels if row["scene"] == "bathroom"}
    information = read_table(results / "ablation" / "pmi.parquet", PMI).to_pylist()
    found = {(row["scene"], row["label"]): row for row in information}
    toilet = found["bathroom", "toilet"]
    assert (toilet["together"], toilet["with_object"]) == (len(with_toilet & bathrooms), len(with_toilet))
    assert toilet["rank"] <= 3
    assert found["kitchen", "oven"]["rank"] <= 5
    assert all(row["together"] >= 3 for row in information)


def test_regions_are_the_boxes_of_the_tags(results):
    coverage = read_table(results / "ablation" / "coverage.parquet", COVERAGE).to_pylist()
    # All but the whole image, which is a region of every image and the first one.
    assert sum(row["tagged"] >= row["regions"] - 1 for row in coverage) == len(coverage)


def test_ablation_and_probes(results):
    for captioner in ("vinvl", "vinvl-longer"):
        rows = read_table(results / "ablation" / captioner / "captions.parquet", ABLATED).to_pylist()
        assert {row["objects"] for row in rows} == {0, 1, 2, 3}
        assert {row["split"] for row in rows} == {"train", "val"}
        assert all(row["caption"] and 0 < row["confidence"] <= 1 for row in rows)
        scores = read_table(results / "probes" / captioner / "scores.parquet", SCORES).to_pylist()
        f1 = {
            classes: [
                row["f1"]
                for row in scores
                if (row["probe"], row["classes"], row["average"], row["objects"])
                == ("random-forest", classes, "micro", 0)
            ]
            for classes in ("scenes", "shuffled")
        }
        # Real objects tell real scenes: not by memory alone.
        assert min(f1["scenes"]) > max(f1["shuffled"])


def test_a_table_and_a_figure_of_the_run(results):
    with open(results / "tables" / "scenes_table3_objects.csv", encoding="utf-8", newline="") as file:
        assert {row["scene"] for row in csv.DictReader(file)} >= {"kitchen", "bathroom"}
    assert (results.parent / FIGURE).read_bytes().startswith(b"\x89PNG")


def test_no_interval_lies_outside_of_the_range_of_its_measure(results):
    found, intervals = intervals_outside(results)
    assert found == []
    assert intervals > 50
