"""The corpora of config/domains.yaml on real files: read, described by people, embedded and searched."""

import json
import runpy
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.encoders.clip.encoder import MEAN, STD, Clip, build
from captionlab.storage.schemas import GENERATED, IMAGES, RETRIEVAL
from captionlab.storage.tables import read_table

ROOT = Path(__file__).parents[2]
CORPORA = ("imagecode", "concadia-descriptions", "concadia-captions")
ARCHITECTURE = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "patch_size": 16, "layers": 1, "width": 32, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 1},
}


def job(script: str, **parts: object) -> None:
    runpy.run_path(str(ROOT / "workflow" / "scripts" / f"{script}.py"))["main"](SimpleNamespace(**parts))


@pytest.fixture(scope="module")
def made(shared_data, tmp_path_factory) -> Path:
    """A folder with the tables of each corpus, the captions of people and their ranks by a retriever nobody trained."""
    folder = tmp_path_factory.mktemp("domains")
    corpora = yaml.safe_load((ROOT / "config" / "domains.yaml").read_text(encoding="utf-8"))["corpora"]
    tables = {name: {table: str(folder / name / f"{table}.parquet") for table in TABLES} for name in corpora}
    config = {"architecture": ARCHITECTURE, "image_mean": list(MEAN), "image_std": list(STD)}
    Clip(build(ARCHITECTURE), config).save(folder / "clip")
    weights, features = str(folder / "clip" / "model.safetensors"), []
    for name, block in corpora.items():
        (folder / name).mkdir()
        read_corpus(block, shared_data, tables[name], 2, name)
        features.append(str(folder / "features" / "clip" / name / "0-of-1.parquet"))
        job(
            "embed_images",
            params=SimpleNamespace(family="clip", patches=False, split=None),
            input=SimpleNamespace(weights=weights, images=tables[name]["images"]),
            output=features[-1:],
            wildcards=SimpleNamespace(shard="0-of-1"),
            threads=2,
        )
    images, references = ([tables[name][table] for name in corpora] for table in ("images", "captions"))
    of_corpora = {"corpora": list(corpora), "splits": [block["evaluation_split"] for block in corpora.values()]}
    captions = str(folder / "generated.parquet")
    job(
        "import_captions",
        params=SimpleNamespace(config={"family": "human", "reference": "first"}, **of_corpora),
        input=SimpleNamespace(images=images, captions=references),
        output=[captions],
    )
    searched = {"candidates": 100, "candidate_sets": "file-order"}
    job(
        "retrieve_images",
        params=SimpleNamespace(config=searched, retrievers=["clip"], seed=1, **of_corpora),
        input=SimpleNamespace(
            captions=captions,
            images=images,
            configs=[str(folder / "clip" / "config.json")],
            features=features,
            bag_features=[],
        ),
        output=[str(folder / "retrieval.parquet")],
    )
    return folder


def test_every_image_is_read_and_embedded(made):
    images = {name: read_table(made / name / "images.parquet", IMAGES).to_pylist() for name in CORPORA}
    assert {name: len(rows) for name, rows in images.items()} == {
        "imagecode": 620,
        "concadia-descriptions": 300,
        "concadia-captions": 300,
    }
    sets = Counter(row["image_set"] for row in images["imagecode"])
    assert len(sets) == 62
    assert set(sets.values()) == {10}


def test_people_describe_what_was_annotated(made, shared_data):
    rows = read_table(made / "generated.parquet", GENERATED).to_pylist()
    assert Counter(row["corpus"] for row in rows) == {CORPORA[0]: 142, CORPORA[1]: 300, CORPORA[2]: 300}
    captions = {(row["corpus"], row["image_id"]): row["caption"] for row in rows}
    annotated = json.loads((shared_data / "concadia" / "wiki_split.json").read_text(encoding="utf-8"))["images"]
    different = 0
    for image in annotated:
        name = Path(image["filename"]).stem
        texts = {kind: " ".join(image[kind]["raw"][:200].split()) for kind in ("description", "caption")}
        assert captions["concadia-descriptions", name] == texts["description"]
        assert captions["concadia-captions", name] == texts["caption"]
        different += texts["description"] != texts["caption"]
    assert different > 200
    described = json.loads((shared_data / "imagecode" / "data" / "valid_data.json").read_text(encoding="utf-8"))
    for image_set, texts in described.items():
        for rank, text in texts.items():
            assert captions["imagecode", f"{image_set}/{rank}"] == " ".join(text.split())


def test_candidates_are_the_set_or_a_block_and_the_whole_split(made):
    rows = read_table(made / "retrieval.parquet", RETRIEVAL).to_pylist()
    assert Counter((row["corpus"], row["protocol"], row["candidates"]) for row in rows) == {
        ("imagecode", "set", 10): 142,
        ("imagecode", "full", 620): 142,
        **{(name, "file-order", 100): 300 for name in CORPORA[1:]},
        **{(name, "full", 300): 300 for name in CORPORA[1:]},
    }
    assert all(1 <= row["rank"] <= row["candidates"] for row in rows)
    # A retriever that knows nothing finds one image in ten: 14.2 of 142, with a standard deviation of 3.6.
    first = sum(row["rank"] == 1 for row in rows if row["protocol"] == "set")
    assert 3 <= first <= 30
