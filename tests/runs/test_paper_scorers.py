"""The scorers and regions of config/paper.yaml, each imported and read as the rules do it, on tiny stand-ins."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from stand_in_weights import scorer_weights, sentence
from stand_ins import karpathy, lxmert_regions, vinvl_files

from captionlab.storage.schemas import IMAGES
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.store import load_scorer
from captionlab.storage.tables import write_table
from captionlab.graph.graph import Graph
from captionlab.graph.graph import Graph

ROOT = Path(__file__).parents[2]
IMPORTED = ("uniter", "rosita", "vilbert", "lxmert")


def run(name, params, output, **inputs):
    specification = importlib.util.spec_from_file_location(name, ROOT / "workflow" / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.main(SimpleNamespace(input=SimpleNamespace(**inputs), params=SimpleNamespace(config=params), output=output))


@pytest.fixture(scope="module")
def lab(tmp_path_factory) -> Experiments:
    """The experiments of the paper's config, with stand-ins for its scorers and regions."""
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
    config = yaml.safe_load((ROOT / "config" / "paper.yaml").read_text(encoding="utf-8"))
    stand_ins = yaml.safe_load(Path(__file__).with_name("stand_ins.yaml").read_text(encoding="utf-8"))
    for name, heads in stand_ins["scorers"].items():
        config["scorers"][name] |= heads
    lab = Graph({**config, "data": str(data)}, ROOT)
    named = [*lab.named("regions", "weights", "files"), *lab.named("scorers", "weights", "vocabulary")]
    assert all((data / path).exists() for _, path in named)
    return lab


@pytest.fixture(scope="module")
def regions(lab, tmp_path_factory) -> Path:
    """The table of regions of the six images."""
    folder, ids = tmp_path_factory.mktemp("regions"), [str(100_000 + number) for number in range(6)]
    sizes = {"width": [40 + number % 5 for number in range(6)], "height": [36] * 6}
    empty = {"offset": [None] * 6, "length": [None] * 6, "data": [None] * 6, "image_set": [None] * 6}
    columns = {"image_id": ids, "position": range(6), "split": ["train"] * 6, "path": ids, **sizes, **empty}
    write_table(folder / "images.parquet", IMAGES, columns)
    wildcards = SimpleNamespace(regions="butd-36", corpus="coco")
    files = lab.files_of("regions", "files")(wildcards)
    block = Graph(lab).block("regions", "butd-36", "files", "encoder")
    run("read_regions", block, [folder / "regions.parquet"], images=folder / "images.parquet", files=files)
    return folder / "regions.parquet"


@pytest.mark.parametrize("name", IMPORTED)
def test_scorer(lab, regions, tmp_path, name):
    wildcards = SimpleNamespace(scorer=name)
    run(
        "import_scorer",
        lab.scoring.block(wildcards),
        SimpleNamespace(config=tmp_path / name / "config.json"),
        weights=lab.scoring.file("weights")(wildcards),
        vocabulary=lab.scoring.file("vocabulary")(wildcards),
    )
    scorer = load_scorer(tmp_path / name)
    visual = ScorerImages(scorer, [regions]).visual(["100003", "100000"])
    scores = scorer.score(visual, [sentence(1), sentence(2)])
    assert ((scores > 0) & (scores < 1)).all()
    assert scores[0] != scores[1]
    defaults = {"uniter": (62, False), "rosita": (30, True), "vilbert": (36, True), "lxmert": (20, True)}
    assert (scorer.matching.max_tokens, scorer.matching.lowercase) == defaults[name]


def test_every_scorer_of_the_paper_is_there(lab):
    assert list(lab.scoring.scorers) == [*IMPORTED, "clip"]
    assert lab.scoring.features("clip", "flickr30k") == ["results/features/clip-b32/flickr30k/0-of-1.parquet"]
    assert lab.scoring.features("uniter", "coco") == ["results/regions/butd-36/coco/0-of-1.parquet"]
