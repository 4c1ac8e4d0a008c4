"""The scripts about regions and scorers, on small tables and on real region features."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from support.running import run_script
from support.scorer_stand_in import build_scorer

from captionlab.encoders.clip.encoder import Clip, build
from captionlab.encoders.embeddings import embedding_rows
from captionlab.regions.batches import RegionTable
from captionlab.scorers.images import ScorerImages
from captionlab.scorers.schemas import MATCHING
from captionlab.scorers.store import load_scorer
from captionlab.storage.schemas import ALIGNMENT, CAPTIONS, GENERATED, IMAGES, OBJECTS, TRAINING, embeddings_schema
from captionlab.storage.tables import read_metadata, read_table, write_table
from captionlab.training.objectives.itm import MatchingObjective
from captionlab.userfiles.ids import coco_number

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"
TRAIN, TEST, DIMENSIONS = 12, 6, 8
CLIP = {
    "embed_dim": DIMENSIONS,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 64, "patch_size": 32},
    "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 1},
}
SIZES = {"positions": 24, "width": 16, "layers": 1, "heads": 2, "feed_forward": 16}
PIECES = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"abcdefghijklmnopqrstuvwxyz.,'",
    *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz"),
]


def run(name, wildcards=None, params=None, output=None, **inputs):
    """Run a script; `output` is a file or names of files in a folder."""
    outputs = output if isinstance(output, dict) else [output]
    settings = {"wildcards": wildcards, "workflow_config": {"checkpoints": {"steps": 1}}, **(params or {})}
    run_script(name, inputs, outputs, **settings)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """In the working directory: a corpus of 12 training and 6 test images with objects, embeddings, and a CLIP."""
    monkeypatch.chdir(tmp_path)
    torch.set_num_threads(1)
    ids, generator = [f"image-{i}" for i in range(TRAIN + TEST)], np.random.default_rng(0)
    data = []
    for _ in ids:
        buffer = io.BytesIO()
        Image.fromarray(generator.integers(0, 256, (30, 40, 3), np.uint8)).save(buffer, "PNG")
        data.append(buffer.getvalue())
    write_table(
        "corpus/images.parquet",
        IMAGES,
        {
            "image_id": ids,
            "position": list(range(len(ids))),
            "split": ["train"] * TRAIN + ["test"] * TEST,
            "path": [None] * len(ids),
            "offset": [None] * len(ids),
            "length": [None] * len(ids),
            "data": data,
            "width": [40] * len(ids),
            "height": [30] * len(ids),
            "image_set": [None] * len(ids),
        },
    )
    texts = [
        (image, rank, f"a {color} ball {i}.")
        for i, image in enumerate(ids)
        for rank, color in enumerate(("red", "big"))
    ]
    write_table("corpus/captions.parquet", CAPTIONS, dict(zip(CAPTIONS.columns, zip(*texts, strict=True), strict=True)))
    objects = [(image, 0, "ball", 1.0, 2.0, 9.0 + i, 9.0, []) for i, image in enumerate(ids) if i % 3]
    write_table("corpus/objects.parquet", OBJECTS, dict(zip(OBJECTS.columns, zip(*objects, strict=True), strict=True)))
    kind, values = embeddings_schema(DIMENSIONS, "float32"), generator.standard_normal((len(ids), DIMENSIONS))
    write_table("embeddings.parquet", kind, embedding_rows(pa.chunked_array([ids]), values, kind, "embeddings"))
    settings = {"architecture": CLIP, "image_mean": [0.5] * 3, "image_std": [1.0] * 3}
    Clip(build(CLIP, seed=1), settings).save("clip")
    Path("vocab.txt").write_text("\n".join(PIECES) + "\n")
    return tmp_path


def extract(shard, output):
    run(
        "extract_regions",
        {"shard": shard},
        {"config": {"source": "boxes"}},
        output,
        images="corpus/images.parquet",
        objects="corpus/objects.parquet",
        encoder_weights=["clip/model.safetensors"],
    )


def test_extract_regions(world):
    """Two shards are the whole, with the boxes of their own images."""
    extract("0-of-1", "whole.parquet")
    extract("0-of-2", "a.parquet")
    extract("1-of-2", "b.parquet")
    whole, parts = RegionTable("whole.parquet"), RegionTable(["a.parquet", "b.parquet"])
    ids = [f"image-{i}" for i in range(TRAIN + TEST)]
    assert "image-8" in RegionTable("a.parquet")
    assert "image-9" not in RegionTable("a.parquet")
    assert whole.batch(ids).counts == [1 + (i % 3 > 0) for i in range(TRAIN + TEST)]
    assert whole.batch(["image-1"]).boxes[0].tolist() == [[0, 0, 40, 30], [1, 2, 10, 9]]
    torch.testing.assert_close(whole.batch(ids).features, parts.batch(ids).features, atol=1e-5, rtol=0)
    assert read_metadata("whole.parquet")["regions"] == {"source": "boxes"}


def test_extract_regions_by_a_detector(world):
    """What a detector with random weights finds in two images, and that a scorer can read it."""
    from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2

    torch.manual_seed(0)
    torch.save(fasterrcnn_resnet50_fpn_v2(weights=None, weights_backbone=None).state_dict(), "detector.pth")
    config = {"source": "detector", "weights": "detector.pth", "count": 5, "size": 32}
    files = {"images": "corpus/images.parquet", "weights": ["detector.pth"]}
    run("extract_regions", {"shard": "1-of-9"}, {"config": config}, "found.parquet", **files)
    table = RegionTable("found.parquet")
    assert [f"image-{i}" in table for i in (1, 2, 3, 4)] == [False, True, True, False]
    batch = table.batch(["image-2", "image-3"])
    assert all(1 <= count <= 5 for count in batch.counts)
    assert batch.features.shape[2] == 1024
    assert batch.sizes.tolist() == [[40, 30]] * 2
    assert read_metadata("found.parquet")["regions"] == config
    scorer = build_scorer({"family": "uniter", "architecture": SIZES, "max_tokens": 20}, "vocab.txt", 1024).eval()
    scores = scorer.score(scorer.encode_image(batch), ["a ball.", "a ball."])
    assert scores[0] != scores[1]


FOLDER = {"config": "config.json", "weights": "model.safetensors", "vocabulary": "vocab.txt"}
TRAINED = {**FOLDER, "training": "training.parquet", "matching": "matching.parquet"}


def within(directory, files):
    return {name: f"{directory}/{file}" for name, file in files.items()}


def pretrain(directory, family="uniter", **changes):
    architecture = {**SIZES, "vocabulary": 80}
    if family == "lxmert":
        architecture |= {"visual_layers": 1, "cross_layers": 1}
    config = {
        "family": family,
        "architecture": architecture,
        "negatives": {"hard": 0.5, "nearest": 0.2},
        "word_embeddings": "encoder",
        "optimizer": {"kind": "adamw", "lr": 1e-2, "batch": 4, "epochs": 3},
        **changes,
    }
    run(
        "pretrain_scorer",
        params={"code": "c", "versions": {}, "config": config, "seed": 3, "split": "test"},
        output=within(directory, TRAINED),
        images="corpus/images.parquet",
        captions="corpus/captions.parquet",
        regions=["whole.parquet"],
        neighbours=["embeddings.parquet"],
        encoder_weights=["clip/model.safetensors"],
    )


def content(directory):
    assert sorted(path.name for path in Path(directory).iterdir()) == sorted(TRAINED.values())
    return {file: Path(directory, file).read_bytes() for file in TRAINED.values()}


@pytest.mark.parametrize("family", ["uniter", "lxmert"])
def test_pretraining(world, monkeypatch, family):
    """A training that is killed in its sixth batch ends with the same bytes."""
    extract("0-of-1", "whole.parquet")
    pretrain("first", family)
    log = read_table("first/training.parquet", TRAINING).to_pandas()
    assert {"loss", "accuracy", "gradient_norm", "learning_rate"} <= set(log.statistic)
    loss = log[log.statistic == "loss"]
    assert loss.step.tolist() == list(range(1, 10))
    assert loss.value.iloc[-1] < loss.value.iloc[0]
    table = read_table("first/matching.parquet", MATCHING).to_pandas()
    assert set(zip(table.split, table.n, strict=True)) == {("test", TEST)}
    assert ((table.ci_low <= table.value) & (table.value <= table.ci_high)).all()
    calls, original = iter(range(5)), MatchingObjective.loss
    with monkeypatch.context() as patch:
        patch.setattr(MatchingObjective, "loss", lambda *given: (next(calls), original(*given))[1])
        with pytest.raises(StopIteration):
            pretrain("second", family)
    assert list(Path("results/state").rglob("*.pt"))
    pretrain("second", family)
    assert content("second") == content("first")
    assert not list(Path("results/state").rglob("*.pt"))
    scorer = load_scorer("first")
    assert scorer.matching.max_tokens == SIZES["positions"]
    assert json.loads(Path("first/config.json").read_text())["origin"]["seed"] == 3


def published_uniter(path: Path, region_size: int) -> None:
    """Random weights under the names of UNITER's authors."""
    torch.manual_seed(1)
    scorer = build_scorer({"family": "uniter", "architecture": SIZES, "max_tokens": 20}, "vocab.txt", region_size)
    names = {"embeddings.": "uniter.embeddings.", "img_embeddings.": "uniter.img_embeddings."}
    names |= {"layer.": "uniter.encoder.layer.", "pooler.": "uniter.pooler.", "head.": "itm_output."}
    state = scorer.network.state_dict().items()
    weights = {
        theirs + k.removeprefix(ours): v for ours, theirs in names.items() for k, v in state if k.startswith(ours)
    }
    save_file(weights, path)


def imported(region_size: int) -> None:
    published_uniter(Path("uniter.safetensors"), region_size)
    run(
        "import_scorer",
        params={"config": {"family": "uniter", "heads": 2, "max_tokens": 20, "scale": 100}},
        output=within("results/scorers/uniter", FOLDER),
        weights="uniter.safetensors",
        vocabulary="vocab.txt",
    )


def adopted(**settings) -> None:
    run(
        "adopt_encoder",
        params={"config": {"family": "clip", **settings}},
        output=within("results/scorers/clip", {"config": "config.json", "weights": "model.safetensors"}),
        config="clip/config.json",
        weights="clip/model.safetensors",
    )


def test_alignment(world, caplog):
    """Every caption by every scorer, in parts, against each scorer asked for one caption."""
    extract("0-of-1", "whole.parquet")
    imported(DIMENSIONS)
    adopted(prompt="A photo depicts ", scale=2.5, clamp=True)
    captions = [
        (f"image-{i}", rank, text)
        for i in (3, 1, 14)
        for rank, text in enumerate(("a ball.", f"red ball {i}" + " and a dog" * (200 if i == 14 else 0)))
    ]
    rows = [("toy", *row, None, None) for row in captions] + [("none", "image-2", 0, "", None, None)]
    write_table("captions.parquet", GENERATED, dict(zip(GENERATED.columns, zip(*rows, strict=True), strict=True)))
    sources = {"uniter": ["whole.parquet"], "clip": ["embeddings.parquet"]}
    run(
        "score_alignment",
        params={"sources": {name: {"toy": paths, "none": paths} for name, paths in sources.items()}},
        output="alignment.parquet",
        scorers=[f"results/scorers/{name}/{file}" for name in sources for file in ("config.json", "model.safetensors")],
        captions="captions.parquet",
    )
    for name in sources:
        assert f"toy: 1 of 6 captions are too long for {name} and are cut, by up to" in caplog.text
    table = read_table("alignment.parquet", ALIGNMENT).to_pylist()
    assert len(table) == 2 * len(rows)
    for row in table:
        scorer = load_scorer(f"results/scorers/{row['scorer']}")
        (caption,) = [r[3] for r in rows if r[:3] == (row["corpus"], row["image_id"], row["caption_index"])]
        visual = ScorerImages(scorer, sources[row["scorer"]]).visual([row["image_id"]])
        assert row["score"] == pytest.approx(float(scorer.score(visual, [caption])[0]), abs=1e-4)
    assert len({row["score"] for row in table if row["scorer"] == "uniter"}) == len(rows)
    assert max(row["score"] for row in table if row["scorer"] == "uniter") > 1
    assert "device" in read_metadata("alignment.parquet")


def test_real_features_from_files_to_scores(world, shared_data):
    """Bottom-up features of eight images of COCO and their captions, through the scripts alone."""
    folder = shared_data / "butd-demo"
    sizes = {coco_number(path.name): Image.open(path).size for path in sorted((folder / "images").iterdir())}
    columns = {"image_id": list(sizes), "position": range(8), "split": ["test"] * 8, "path": ["none"] * 8}
    columns |= {"offset": [None] * 8, "length": [None] * 8, "data": [None] * 8, "image_set": [None] * 8}
    columns |= {side: [size[number] for size in sizes.values()] for number, side in enumerate(("width", "height"))}
    write_table("coco.parquet", IMAGES, columns)
    run(
        "read_regions",
        params={"config": {"source": "files", "format": "rosita-npz"}},
        output="regions.parquet",
        images="coco.parquet",
        files=[str(folder / "features")],
    )
    imported(region_size=2048)
    rows = []
    for path in sorted((folder / "features").glob("*.npz")):
        with np.load(path) as file:
            rows += [
                ("coco", coco_number(path.name), rank, str(text), None, None) for rank, text in enumerate(file["text"])
            ]
    write_table("captions.parquet", GENERATED, dict(zip(GENERATED.columns, zip(*rows, strict=True), strict=True)))
    run(
        "score_alignment",
        params={"sources": {"uniter": {"coco": ["regions.parquet"]}}},
        output="alignment.parquet",
        scorers=["results/scorers/uniter/config.json"],
        captions="captions.parquet",
    )
    scores = read_table("alignment.parquet", ALIGNMENT)["score"].to_numpy()
    assert len(scores) == 40
    assert ((scores > 0) & (scores < 100)).all()
    assert len(set(scores)) > 35  # images and captions matter
