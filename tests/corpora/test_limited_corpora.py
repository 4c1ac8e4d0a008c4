"""The first images of each split: rejects are passed over, and files that are not needed are not opened."""

import json

import pytest
from corpora.test_own_files import photograph
from corpora.test_webdataset import make_tar, sample

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.storage.tables import read_table


def read(folder, config, threads=2):
    outputs = {table: folder / "tables" / f"{table}.parquet" for table in TABLES}
    read_corpus(config, folder, outputs, threads, "mine")
    return {name: read_table(outputs[name], TABLES[name]).to_pylist() for name in TABLES}


def ids(tables):
    return [row["image_id"] for row in tables["images"]]


@pytest.fixture
def karpathy(tmp_path):
    """Thirty images of three splits in turn. Of every ten the first is broken."""
    images = []
    for number in range(30):
        name = f"{number:02d}.jpg"
        photograph(tmp_path / "images" / name, number)
        if number % 10 == 0:
            (tmp_path / "images" / name).write_bytes(b"no image")
        split = ("train", "val", "test")[number % 3]
        images.append({"filename": name, "imgid": number, "split": split, "sentences": [{"raw": f"caption {number}"}]})
    (tmp_path / "captions.json").write_text(json.dumps({"images": images}))
    return {"reader": "karpathy", "annotations": "captions.json", "images": "images", "max_rejected": 0.01}


def test_the_first_images_that_can_be_used_of_each_split(tmp_path, karpathy):
    limited = {**karpathy, "limit": 2}
    tables = read(tmp_path, limited)
    # 0 (train) and 10 (val) are broken; 10 comes after val is full.
    assert ids(tables) == ids(read(tmp_path, {**karpathy, "max_rejected": 0.9}))[:6]
    assert [row["split"] for row in tables["images"]].count("train") == 2
    assert [row["position"] for row in tables["rejects"]] == [0]
    assert [row["caption"] for row in tables["captions"]] == [f"caption {n}" for n in (1, 2, 3, 4, 5, 6)]


def test_the_same_whatever_the_number_of_threads(tmp_path, karpathy):
    found = [read(tmp_path, {**karpathy, "limit": 4}, threads) for threads in (1, 3, 16)]
    assert found[0] == found[1] == found[2]


def test_a_limit_above_all_images_changes_nothing_but_the_share_of_rejects(tmp_path, karpathy):
    with pytest.raises(CorpusError, match="max_rejected"):
        read(tmp_path, karpathy)
    assert read(tmp_path, {**karpathy, "limit": 100}) == read(tmp_path, {**karpathy, "max_rejected": 0.9})


def test_no_usable_image_is_an_error_with_a_limit_too(tmp_path, karpathy):
    for path in (tmp_path / "images").iterdir():
        path.write_bytes(b"no image")
    with pytest.raises(CorpusError, match="30 of 30 images"):
        read(tmp_path, {**karpathy, "limit": 2})


def test_tars_behind_the_first_images_of_a_split_are_not_opened(tmp_path):
    for split in ("train", "test"):
        make_tar(tmp_path / split / "0.tar", [one for n in range(12) for one in sample(f"{split}{n:02d}", n)])
        (tmp_path / split / "1.tar").write_bytes(b"no tar")
    config = {"reader": "webdataset", "tars": {"train": "train", "test": "test"}}
    found = ids(read(tmp_path, {**config, "limit": 2}, threads=1))  # a thread has eight images ahead
    assert found == ["train00", "train01", "test00", "test01"]
    with pytest.raises(CorpusError, match=r"1\.tar"):
        read(tmp_path, config)
