"""The scorers and regions of config/paper.yaml, each imported and read as the rules do it, on tiny stand-ins."""

from pathlib import Path

import pytest
import yaml
from support.plans import ROOT, Plan, config_of, plan
from support.running import run_script
from support.stand_in_weights import scorer_weights, sentence
from support.stand_ins import karpathy, lxmert_regions, vinvl_files

from captionlab.graph.graph import Graph
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import load_scorer
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import write_table

IMPORTED = ("uniter", "rosita", "vilbert", "lxmert")
REGIONS = "results/regions/butd-36/coco/0-of-1.parquet"


@pytest.fixture(scope="module")
def jobs(tmp_path_factory) -> Plan:
    """The jobs that import the scorers and read regions, with stand-ins for the files of these."""
    data = tmp_path_factory.mktemp("data")
    karpathy(
        data,
        "coco/dataset_coco.json",
        "coco",
        {"train": 2, "val": 1, "test": 3},
        lambda s: "train2014" if s == "train" else "val2014",
    )
    scorer_weights(data)
    lxmert_regions(data)
    vinvl_files(data, images=1)
    config = config_of("paper")
    stand_ins = yaml.safe_load(Path(__file__).with_name("stand_ins.yaml").read_text(encoding="utf-8"))
    for name, heads in stand_ins["scorers"].items():
        config["scorers"][name] |= heads
    there = {path for path in data.rglob("*") if path.is_file()}
    targets = [REGIONS, *(f"results/scorers/{name}/config.json" for name in IMPORTED)]
    found = plan(config, tmp_path_factory.mktemp("run"), *targets, data=data)
    assert {Path(path) for job in found.of("import_scorer") for path in job.reads} <= there
    assert {Path(path) for path in found.job("read_regions").inputs["files"]} <= there
    return found


@pytest.fixture(scope="module")
def regions(jobs, tmp_path_factory) -> Path:
    """The table of regions of the six images."""
    folder, ids = tmp_path_factory.mktemp("regions"), [str(100_000 + number) for number in range(6)]
    sizes = {"width": [40 + number % 5 for number in range(6)], "height": [36] * 6}
    empty = {"offset": [None] * 6, "length": [None] * 6, "data": [None] * 6, "image_set": [None] * 6}
    columns = {"image_id": ids, "position": range(6), "split": ["train"] * 6, "path": ids, **sizes, **empty}
    write_table(folder / "images.parquet", IMAGES, columns)
    job = jobs.job("read_regions", regions="butd-36", corpus="coco")
    inputs = {"images": folder / "images.parquet", "files": job.inputs["files"]}
    run_script("read_regions", inputs, [folder / "regions.parquet"], config=job.params["config"])
    return folder / "regions.parquet"


@pytest.mark.parametrize("name", IMPORTED)
def test_scorer(jobs, regions, tmp_path, name):
    job = jobs.job("import_scorer", scorer=name)
    outputs = {"config": tmp_path / name / "config.json"}
    run_script("import_scorer", job.inputs, outputs, config=job.params["config"])
    scorer = load_scorer(tmp_path / name)
    visual = ScorerImages(scorer, [regions]).visual(["100003", "100000"])
    scores = scorer.score(visual, [sentence(1), sentence(2)])
    assert ((scores > 0) & (scores < 1)).all()
    assert scores[0] != scores[1]
    defaults = {"uniter": (62, False), "rosita": (30, True), "vilbert": (36, True), "lxmert": (20, True)}
    assert (scorer.matching.max_tokens, scorer.matching.lowercase) == defaults[name]


def test_every_scorer_of_the_paper_is_there():
    graph = Graph(config_of("paper"), ROOT)
    assert [*graph.settings.scorers] == [*IMPORTED, "clip"]
    assert graph.images_for("scorers", "clip", "flickr30k") == ["results/features/clip-b32/flickr30k/0-of-1.parquet"]
    assert graph.images_for("scorers", "uniter", "coco") == [REGIONS]
