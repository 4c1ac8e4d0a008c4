"""The scripts of the scenes paper, one after the other, on a small corpus in which objects tell scenes."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.decodings import decoding_of
from support.running import run_script
from support.scenes_run import PER_SCENE, PLACES, TELLING, make

from captionlab.ablation.schemas import ABLATED, CHOSEN, COVERAGE, EFFECTS, LABELS, MATCHES, PMI, SPLITS
from captionlab.ablation.tables import read_scenes
from captionlab.attention.schemas import (
    BLOCKS,
    CORRELATIONS,
    DENSITIES,
    DIFFERENCES,
    MATRICES,
    OVERLAPS,
    RANKINGS,
    RECEIVED,
    SHARES,
)
from captionlab.captioners.store import load_captioner
from captionlab.generation.captioning import caption_images
from captionlab.generation.captions import evaluated_images
from captionlab.probes.schemas import SCORES, SEARCH, encodings_schema
from captionlab.regions.tags import TAGS
from captionlab.storage.schemas import CAPTIONS, SCENE_CAPTIONS, TRAINING
from captionlab.storage.tables import TableError, read_table, write_table


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every script ran."""
    folder = tmp_path_factory.mktemp("scenes")
    make(folder)
    return folder


def men(run: Path, *splits: str) -> int:
    """Restaurants of some splits with a man."""
    labels = read_table(run / "labels.parquet", LABELS).to_pylist()
    restaurants = {row["image_id"] for row in labels if row["scene"] == "restaurant" and row["split"] in splits}
    tags = read_table(run / "tags.parquet", TAGS).to_pylist()
    return len({row["image_id"] for row in tags if row["label"] == "man"} & restaurants)


def test_tags(run):
    rows = read_table(run / "tags.parquet", TAGS).to_pylist()
    assert [row["label"] for row in rows if row["image_id"] == "0"][:2] == ["boat", "sky"]
    regions = {"regions": [run / "regions.parquet"]}
    run_script("read_tags", regions, [run / "tags_of_regions.parquet"], config={"source": "regions"})
    same = read_table(run / "tags_of_regions.parquet", TAGS).to_pylist()
    assert [(row["image_id"], row["label"]) for row in same] == [(row["image_id"], row["label"]) for row in rows]


def test_scenes(run):
    labels = read_table(run / "labels.parquet", LABELS).to_pylist()
    assert {row["scene"] for row in labels} == {"sea", "road", "restaurant"}
    assert [(row["scene"], row["captions"]) for row in labels if row["image_id"] == "0"] == [("road", 1), ("sea", 2)]
    assert {row["split"] for row in labels if int(row["image_id"]) % 3 == 0} == {"test"}
    chosen = read_table(run / "chosen.parquet", CHOSEN).to_pylist()
    assert [(row["scene"], row["images"]) for row in chosen] == [("restaurant", 12), ("road", 12), ("sea", 12)]


def test_captions_without_nouns(run, tmp_path):
    rows = read_table(run / "scene_captions.parquet", SCENE_CAPTIONS).to_pydict()
    silent = {**rows, "caption": ["it is there"] * len(rows["caption"])}
    write_table(tmp_path / "scene_captions.parquet", SCENE_CAPTIONS, silent)
    with pytest.raises(
        ValueError, match=r"scene_captions.parquet: none of the 108 captions has a noun, so no image has a scene"
    ):
        run_script(
            "label_scenes",
            {"images": run / "images.parquet", "captions": tmp_path / "scene_captions.parquet"},
            {"labels": tmp_path / "labels.parquet", "chosen": tmp_path / "chosen.parquet"},
            tagger="en_ewt_sm",
            config={"number": 3, "min_captions": 2, "table": "scene_captions"},
        )


def test_a_split_without_images(run):
    scenes = read_scenes(run / "labels.parquet", run / "chosen.parquet", min_count=2)
    assert sum(map(len, scenes.depicting(["test"]).values())) == PER_SCENE
    with pytest.raises(ValueError, match="no image of the split 'tset' has a scene label, images of test, train have"):
        scenes.depicting(["train", "tset"])
    with pytest.raises(ValueError, match="'tset' has a scene label"):
        scenes.classes(3, ["tset"])


def test_information(run):
    first = {row["scene"]: row["label"] for row in read_table(run / "pmi.parquet", PMI).to_pylist() if row["rank"] == 1}
    assert first == {"sea": "boat", "road": "car", "restaurant": "wine glass"}


def test_regions_have_the_tags_of_their_boxes(run):
    coverage = read_table(run / "coverage.parquet", COVERAGE).to_pydict()
    assert coverage["regions"] == coverage["tagged"]
    matches = read_table(run / "matches.parquet", MATCHES).to_pylist()
    assert {(row["region_index"], row["tag_index"]) for row in matches} >= {(0, 0), (1, 1), (2, 2)}
    assert all(row["overlap"] >= 0.6 or row["inside"] >= 0.8 for row in matches)


def test_attention(run):
    for name in ("pretrained", "finetuned"):
        blocks = read_table(run / name / "blocks.parquet", BLOCKS).to_pydict()
        assert Counter(Counter(blocks["relation"]).values()) == {8: 4}
        assert read_table(run / name / "received.parquet", RECEIVED).num_rows > 20
        assert read_table(run / name / "shares.parquet", SHARES).num_rows == 8 * 2 * 4 * 3
        assert read_table(run / name / "matrices.parquet", MATRICES).num_rows == 2 * 2  # of both layers
    samples = [
        {*read_table(run / name / "blocks.parquet", BLOCKS)["image_id"].to_pylist()}
        for name in ("pretrained", "finetuned")
    ]
    assert samples[0] == samples[1]


def test_densities_and_differences(run):
    densities = read_table(run / "densities.parquet", DENSITIES).to_pylist()
    assert len(densities) == 2 * 4 * 20 * 20
    inside = [row for row in densities if row["captioner"] == "finetuned" and row["relation"] == "all"]
    highest = max(inside, key=lambda row: row["density"])
    assert highest["enclosed"] == min(row["enclosed"] for row in inside)
    assert max(row["enclosed"] for row in inside) == pytest.approx(1)
    blocks = {
        name: read_table(run / name / "blocks.parquet", BLOCKS).to_pylist() for name in ("pretrained", "finetuned")
    }
    for row in read_table(run / "differences.parquet", DIFFERENCES).to_pylist():
        means = [
            np.mean([b[row["statistic"]] for b in blocks[name] if b["relation"] == row["relation"]])
            for name in ("pretrained", "finetuned")
        ]
        assert row["difference"] == pytest.approx(means[1] - means[0])
        assert row["ci_low"] <= row["difference"] <= row["ci_high"]
        assert row["n"] == 8


def counts(run: Path, scene: str, *splits: str) -> list[str]:
    """The objects of images of a scene in some splits, those of most images first; equal ones by name."""
    labels = read_table(run / "labels.parquet", LABELS).to_pylist()
    images = {
        row["image_id"] for row in labels if row["scene"] == scene and row["captions"] > 1 and row["split"] in splits
    }
    tags = {(row["image_id"], row["label"]) for row in read_table(run / "tags.parquet", TAGS).to_pylist()}
    number = Counter(label for image, label in tags if image in images)
    return sorted(number, key=lambda label: (-number[label], label))


def ranked(rankings: Path, ranking: str, scene: str) -> list[str]:
    rows = read_table(rankings, RANKINGS).sort_by("rank").to_pylist()
    return [row["label"] for row in rows if (row["ranking"], row["scene"]) == (ranking, scene)]


def test_rankings(run):
    for scene in TELLING:
        # Attention is that of the test split, and objects are counted in the others.
        assert ranked(run / "rankings.parquet", "frequent", scene) == counts(run, scene, "train")
        # No object is on an image twice, so where every tag receives the same, the number of images decides.
        assert ranked(run / "rankings.parquet", "uniform", scene) == counts(run, scene, "test")
    overlaps = read_table(run / "overlaps.parquet", OVERLAPS).to_pylist()
    assert len(overlaps) == 3 * 3 * 3
    assert {(row["attended"], row["counted"]) for row in overlaps} == {(PER_SCENE // 3, 2 * PER_SCENE // 3)}
    assert read_table(run / "correlations.parquet", CORRELATIONS)["degrees"].to_pylist() == [7, 7]


def rank(run: Path, folder: Path, labels: Path, frequent: str) -> None:
    inputs = {name: run / name / "received.parquet" for name in ("pretrained", "finetuned")}
    run_script(
        "rank_objects",
        {**inputs, "labels": labels, "chosen": run / "chosen.parquet", "tags": [run / "tags.parquet"]},
        {name: folder / f"{name}.parquet" for name in ("rankings", "overlaps", "correlations")},
        split="test",
        seed=1,
        config={"min_captions": 2, "frequent": frequent, "mean": False, "depths": [1, 2, 3]},
    )


def test_objects_of_all_splits_are_counted_on_request(run, tmp_path):
    rank(run, tmp_path, run / "labels.parquet", "all-splits")
    for scene in TELLING:
        assert ranked(tmp_path / "rankings.parquet", "frequent", scene) == counts(run, scene, "test", "train")
        assert ranked(tmp_path / "rankings.parquet", "uniform", scene) == counts(run, scene, "test")
    overlaps = read_table(tmp_path / "overlaps.parquet", OVERLAPS).to_pylist()
    assert {(row["attended"], row["counted"]) for row in overlaps} == {(PER_SCENE // 3, PER_SCENE)}


def test_objects_of_other_splits_need_one(run, tmp_path):
    labels = read_table(run / "labels.parquet", LABELS).to_pydict()
    write_table(tmp_path / "labels.parquet", LABELS, {**labels, "split": ["test"] * len(labels["split"])})
    with pytest.raises(
        ValueError, match=r"only images of the split 'test', .* set scene_analysis.ranking.frequent: all-splits"
    ):
        rank(run, tmp_path, tmp_path / "labels.parquet", "other-splits")


def test_ablation(run):
    rows = read_table(run / "pretrained" / "captions.parquet", ABLATED).to_pylist()
    # Two objects of a restaurant are a glass and a man, who is in some of them only.
    assert Counter(row["objects"] for row in rows) == {0: 36, 1: 36, 2: 24 + men(run, "test", "train")}
    assert {tuple(row["labels"]) for row in rows if row["scene"] == "sea"} >= {("boat",)}
    effects = read_table(run / "effects.parquet", EFFECTS).to_pylist()
    share = next(
        row for row in effects
        if (row["captioner"], row["split"], row["objects"], row["statistic"]) == ("pretrained", "test", 1, "changed")
    )  # fmt: skip
    assert share["n"] == 12
    assert share["ci_low"] <= share["value"] <= share["ci_high"]
    assert read_table(run / "splits.parquet", SPLITS).num_rows == 2


def test_probes(run):
    kind = encodings_schema(16)
    rows = read_table(run / "finetuned" / "encodings.parquet", kind).to_pydict()
    assert Counter(zip(rows["scene"], rows["objects"], strict=True)) == {(s, k): 10 for s in TELLING for k in (0, 1)}
    assert rows["objects"].count(0) == 30  # the 36 images that have the object, downsampled
    whole, without = (
        [e for e, k in zip(rows["encoding"], rows["objects"], strict=True) if k == number] for number in (0, 1)
    )
    assert all(a != b for a, b in zip(whole, without, strict=True))
    scores = read_table(run / "finetuned" / "scores.parquet", SCORES).to_pylist()
    assert {row["captioner"] for row in scores} == {"finetuned"}
    assert {row["objects"] for row in scores} == {0, 1}
    assert read_table(run / "finetuned" / "search.parquet", SEARCH)["rank"].to_pylist() == [1, 2, 3, 4]
    (unsearched,) = read_table(run / "pretrained" / "search.parquet", SEARCH).to_pylist()
    assert unsearched == {"captioner": "pretrained", "rank": 1, "hidden": [16], "alpha": 1.0, "macro_f1": None}


def encode(run: Path, encodings: Path, **probing: Any) -> Counter[str]:
    """Encode probed images of scenes anew, and count the whole ones of each scene."""
    here = run / "finetuned"
    inputs = {name: run / f"{name}.parquet" for name in ("labels", "chosen", "pmi", "matches")}
    run_script(
        "encode_scenes",
        {
            **inputs,
            "config": here / "config.json",
            "features": [str(run / f"{n}.parquet") for n in ("regions", "tags")],
        },
        [encodings],
        splits=["test", "train"],
        seed=1,
        config={"min_captions": 2, "scenes": 3, "images": 100, "mask": "kept", **probing},
    )
    rows = read_table(encodings, encodings_schema(16)).to_pylist()
    return Counter(row["scene"] for row in rows if not row["objects"])


def test_probed_images_have_all_telling_objects(run, tmp_path):
    """A restaurant is told by a glass, which all have, and a man, who is in some of them only."""
    encodings = tmp_path / "encodings.parquet"
    every = {"sea": PER_SCENE, "road": PER_SCENE, "restaurant": PER_SCENE}
    assert encode(run, encodings, selection="all", objects=2) == every
    some = encode(run, encodings, selection="diagnostic-objects", objects=2)
    assert some == {**every, "restaurant": men(run, "test", "train")}
    assert 1 < some["restaurant"] < PER_SCENE
    with pytest.raises(
        ValueError, match=r"fewer than two have two images .* lower scene_analysis.probes.objects, or set"
    ):
        encode(run, encodings, selection="diagnostic-objects", objects=9)


def train(run: Path, rule: str, directory: Path, params: dict[str, Any], **inputs: Path) -> None:
    files = {
        "config": "config.json",
        "weights": "model.safetensors",
        "tokenizer": "tokenizer.json",
        "training": "log.parquet",
        "training_captions": "captions.parquet",
        "snapshots": "snapshots",
    }
    tables = {"images": run / "images.parquet", "captions": [run / "captions.parquet"]}
    features = {"features": [run / "tags.parquet", run / "regions.parquet"]}
    outputs = {name: directory / file for name, file in files.items()}
    run_script(rule, {**tables, **features, **inputs}, outputs, code="c", versions={}, seed=3, **params)


def test_training_and_captions(run, tmp_path, monkeypatch):
    """From scratch on captions that say the scene, then on others, with masked tokens; and what it then says."""
    monkeypatch.chdir(tmp_path)
    scenes = read_table(run / "scene_captions.parquet", SCENE_CAPTIONS).to_pylist()
    rows = {name: [row[name] for row in scenes] for name in ("image_id", "caption")}
    write_table(run / "captions.parquet", CAPTIONS, {**rows, "caption_index": [row["scene_index"] for row in scenes]})
    config = {
        "family": "vinvl",
        "architecture": {
            "vocabulary": 80, "positions": 40, "width": 32, "layers": 2, "heads": 2, "feed_forward": 64,
            "tag_position": 16, "max_pieces": 8, "dropout": 0.0,
        },
        "objective": {"kind": "mlm", "smoothing": 0.1, "drop_worst": 0.2, "drop_after": 50, "freeze_embeddings": False},
        "optimizer": {"kind": "adamw", "lr": 0.004, "batch": 24, "steps": 120, "schedule": "linear"},
    }  # fmt: skip
    train(run, "pretrain_captioner", tmp_path / "base", {"config": config})
    log = read_table(tmp_path / "base" / "log.parquet", TRAINING).to_pylist()
    accuracy = [row["value"] for row in log if row["statistic"] == "masked_accuracy"]
    assert np.mean(accuracy[-10:]) > 0.9 > np.mean(accuracy[:10])
    captioner, tokenizer = load_captioner(tmp_path / "base")
    assert captioner.architecture["region_size"] == 3 + 6
    assert captioner.architecture["vocabulary"] == tokenizer.size
    # Labels of tags are words of the vocabulary too.
    assert len(tokenizer.encode(["wine glass"])[0]) == 2
    ids = evaluated_images(run / "images.parquet", "corpus", "test")
    decoding = decoding_of("beam", 12, rules="oscar")
    features = [str(run / "tags.parquet"), str(run / "regions.parquet")]
    found = caption_images(captioner, tokenizer, ids, features, decoding, "corpus", seed=0, batch=5)
    right = [PLACES[list(TELLING)[int(image) // PER_SCENE]] for image in ids]
    assert np.mean([a == b for a, b in zip(found["caption"], right, strict=True)]) > 0.7
    assert all(0 < confidence <= 1 for confidence in found["confidence"])
    parent = {
        f"parent_{name}": tmp_path / "base" / file
        for name, file in (("config", "config.json"), ("weights", "model.safetensors"))
    }
    short = {
        "objective": {"kind": "mlm", "freeze_embeddings": True},
        "optimizer": {"kind": "adamw", "lr": 0.001, "batch": 24, "epochs": 1},
    }
    train(
        run, "finetune_captioner", tmp_path / "child", {"config": short, "reward_models": {}}, bag_features=[], **parent
    )
    child, _ = load_captioner(tmp_path / "child")
    name = "bert.embeddings.word_embeddings.weight"
    assert torch.equal(child.state_dict()[name], captioner.state_dict()[name])
    assert not torch.equal(child.cls.predictions.bias, captioner.cls.predictions.bias)
    assert read_table(tmp_path / "child" / "log.parquet", TRAINING)["step"].to_pylist()[-1] == 3  # 72 captions


def test_a_tag_detectors_file(run, tmp_path):
    (tmp_path / "x.label.tsv").write_text('0\t[{"class": "boat", "conf": 0.9, "rect": [1, 2, 3, 4]}]\n')
    inputs = {"images": run / "images.parquet", "files": [tmp_path / "x.label.tsv"]}
    run_script("read_tags", inputs, [tmp_path / "tags.parquet"], config={"source": "files"})
    assert read_table(tmp_path / "tags.parquet", TAGS).to_pylist()[0]["label"] == "boat"
    with pytest.raises(TableError):
        read_table(run / "labels.parquet", TAGS)
