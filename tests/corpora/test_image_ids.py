"""Ids of images are the same for all readers, whether a file has them as numbers or as texts."""

import csv
import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.generation.captions import CaptionFileError, file_rows, read_caption_file
from captionlab.judgements.readers.entries import Described
from captionlab.plugins import defined, names
from captionlab.storage.tables import read_table
from captionlab.userfiles.reading import GivenError

# Forms of one id in a file. The last two are absent.
PRESENT = {
    "text": "391895",
    "integer": 391895,
    "whole float": 391895.0,
    "float as text": "391895.0",
    "padded": " 391895 ",
}
ABSENT = {"null": None, "empty": " "}


def write(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")


def karpathy(folder: Path, value: object) -> dict:
    image = {"filename": "a.jpg", "cocoid": value, "split": "test", "sentences": [{"raw": "a dog"}]}
    write(folder / "a.json", {"images": [image]})
    return {"annotations": "a.json", "images": None}


def coco(folder: Path, value: object, other: object = 391895) -> dict:
    """COCO's files, in which the images have another form of the id than captions and boxes."""
    image = {"id": value, "file_name": "a.jpg", "domain": "near-domain"}
    captions = [{"image_id": other, "caption": "a dog"}]
    write(folder / "a.json", {"images": [image], "annotations": captions})
    box = {"image_id": other, "category_id": 1, "bbox": [0, 0, 2, 2]}
    write(folder / "boxes.json", {"categories": [{"id": 1, "name": "dog"}], "annotations": [box]})
    return {"annotations": {"test": "a.json"}, "images": None, "instances": {"test": "boxes.json"}}


def nocaps(folder: Path, value: object) -> dict:
    coco(folder, value)
    return {"annotations": "a.json", "images": None, "domain": "near-domain"}


def vizwiz(folder: Path, value: object) -> dict:
    coco(folder, value)
    return {"annotations": {"test": "a.json"}, "images": None}


def textcaps(folder: Path, value: object) -> dict:
    write(folder / "a.json", {"data": [{"image_id": value, "caption_str": "a dog"}]})
    return {"annotations": {"test": "a.json"}, "images": None}


def localized_narratives(folder: Path, value: object) -> dict:
    write(
        folder / "a.jsonl", {"dataset_id": "mscoco_val2017", "image_id": value, "annotator_id": 1, "caption": "a dog"}
    )
    return {"annotations": {"test": "a.jsonl"}, "images": None}


def huggingface(folder: Path, value: object) -> dict:
    Image.new("RGB", (4, 4)).save(folder / "a.png")
    (folder / "set").mkdir()
    pq.write_table(pa.table({"id": [value], "image": ["../a.png"], "caption": ["a dog"]}), folder / "set/test.parquet")
    return {"folder": "set", "image_id": "id"}


def xm3600(folder: Path, value: object) -> dict:
    (folder / "a.json").write_text(json.dumps({"image/key": value, "en": {"caption": ["a dog"]}}), encoding="utf-8")
    return {"annotations": "a.json", "images": None}


# Readers of files whose fields are ids, with a file and the keys of its corpus.
WITH_IDS = {"karpathy": karpathy, "coco": coco, "nocaps": nocaps, "huggingface": huggingface, "vizwiz": vizwiz}
WITH_IDS |= {"textcaps": textcaps, "localized-narratives": localized_narratives, "xm3600": xm3600}
# The other readers know an image by its file, or by its place in a file.
BY_FILE = {"concadia", "conceptual-captions", "cub", "docci", "flickr8k-token", "folder", "hl", "imagecode", "llava"}
BY_FILE |= {"coco-cn", "multi30k", "pascal-50s", "polaris", "webdataset"}


def read(folder: Path, config: dict) -> dict[str, list[dict]]:
    """The rows of each table of a corpus."""
    outputs = {table: folder / "tables" / f"{table}.parquet" for table in TABLES}
    read_corpus(config, folder, outputs, 1, "mine")
    return {table: read_table(outputs[table], TABLES[table]).to_pylist() for table in TABLES}


def test_every_reader_is_tested_here():
    assert WITH_IDS.keys() | BY_FILE == {*names("corpora.readers")}
    assert not WITH_IDS.keys() & BY_FILE


@pytest.mark.parametrize("reader", WITH_IDS)
@pytest.mark.parametrize("form", PRESENT)
def test_an_id_in_any_form(tmp_path, reader, form):
    tables = read(tmp_path, {"reader": reader, **WITH_IDS[reader](tmp_path, PRESENT[form])})
    assert [row["image_id"] for row in tables["images"]] == ["391895"]
    assert [(row["image_id"], row["caption"]) for row in tables["captions"]] == [("391895", "a dog")]


@pytest.mark.parametrize("reader", WITH_IDS)
@pytest.mark.parametrize("form", ABSENT)
def test_no_id(tmp_path, reader, form):
    config = {"reader": reader, **WITH_IDS[reader](tmp_path, ABSENT[form])}
    if reader == "karpathy":  # of Flickr8k and Flickr30k, images have no number
        assert [row["image_id"] for row in read(tmp_path, config)["images"]] == ["a"]
        return
    with pytest.raises(
        CorpusError, match=r"a\.json.* has no id in a field '(image_|image/)?(id|key)'|row 0 has nothing"
    ):
        read(tmp_path, config)


@pytest.mark.parametrize("reader", WITH_IDS)
@pytest.mark.parametrize("value", [True, 1.5])
def test_a_value_that_is_no_id(tmp_path, reader, value):
    with pytest.raises(GivenError, match=r"(\[0\]|row 0|line 1): '\w*(id|/key)' is "):
        read(tmp_path, {"reader": reader, **WITH_IDS[reader](tmp_path, value)})


@pytest.mark.parametrize("form", PRESENT)
@pytest.mark.parametrize("other", PRESENT)
def test_files_of_coco_have_different_forms(tmp_path, form, other):
    tables = read(tmp_path, {"reader": "coco", **coco(tmp_path, PRESENT[form], PRESENT[other])})
    assert [(row["image_id"], row["label"]) for row in tables["objects"]] == [("391895", "dog")]


def test_boxes_of_other_images_are_refused(tmp_path):
    config = coco(tmp_path, 1, 1)
    coco(tmp_path / "other", 2, 2)
    config["instances"]["test"] = "other/boxes.json"
    with pytest.raises(CorpusError, match=r"a\.json has no image of the file of objects, whose ids are like '2'"):
        read(tmp_path, {"reader": "coco", **config})


def test_two_images_of_coco_with_one_id(tmp_path):
    images = [{"id": 1, "file_name": "a.jpg"}, {"id": "1", "file_name": "b.jpg"}]
    captions = [{"image_id": 1, "caption": "a dog"}]
    write(tmp_path / "a.json", {"images": images, "annotations": captions})
    config = {"reader": "coco", "annotations": {"test": "a.json"}, "images": None}
    with pytest.raises(CorpusError, match=r"images\[1\] has the id '1' and another file than .*images\[0\]"):
        read(tmp_path, config)
    write(tmp_path / "a.json", {"images": [images[0], images[0]], "annotations": captions})
    tables = read(tmp_path, config | {"max_rejected": 0.5})
    assert len(tables["images"]) == len(tables["captions"]) == len(tables["rejects"]) == 1


def test_null_folders_and_names_with_folders(tmp_path):
    sentences = [{"raw": "a dog"}]
    images = [
        {"filename": "airport/1.jpg", "filepath": None, "split": "test", "sentences": sentences},
        {"filename": "beach/1.jpg", "split": "test", "sentences": sentences},
    ]
    write(tmp_path / "a.json", {"images": images})
    tables = read(tmp_path, {"reader": "karpathy", "annotations": "a.json", "images": None})
    assert [row["image_id"] for row in tables["images"]] == ["airport/1", "beach/1"]


def splits_alike(folder: Path) -> dict:
    """A data set of the hub in which the images of both splits have the names 0.png and 1.png."""
    for split in ("train", "test"):
        (folder / split).mkdir(parents=True)
        images = []
        for number in range(2):
            path = folder / split / f"{number}.png"
            Image.new("RGB", (4, 4)).save(path)
            images.append({"bytes": path.read_bytes(), "path": path.name})
        (folder / "set").mkdir(exist_ok=True)
        pq.write_table(pa.table({"image": images, "caption": ["a", "b"]}), folder / "set" / f"{split}.parquet")
    return {"reader": "huggingface", "folder": "set"}


def test_splits_that_number_their_images_alike(tmp_path):
    config = splits_alike(tmp_path)
    with pytest.raises(CorpusError) as raised:
        read(tmp_path, config)
    assert "set corpora.mine.split_in_id: true" in str(raised.value)
    assert "max_rejected:" not in str(raised.value)
    tables = read(tmp_path, config | {"split_in_id": True})
    assert [row["image_id"] for row in tables["images"]] == ["test/0", "test/1", "train/0", "train/1"]
    assert [row["image_id"] for row in tables["captions"]] == ["test/0", "test/1", "train/0", "train/1"]


def test_ids_that_begin_with_their_split_stay(tmp_path):
    (tmp_path / "a.tsv").write_text("a dog\thttp://a/1\n")
    config = {"reader": "conceptual-captions", "annotations": {"test": "a.tsv"}, "images": None, "split_in_id": True}
    assert [row["image_id"] for row in read(tmp_path, config)["images"]] == ["test/00000000"]


def test_dictionary_encoded_columns(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    (tmp_path / "set").mkdir()
    columns = {name: pa.array([text]).dictionary_encode() for name, text in (("image", "../a.png"), ("id", "7"))}
    columns["caption"] = pa.array(["a dog"]).dictionary_encode()
    columns["captions"] = pa.ListArray.from_arrays([0, 2], pa.array(["one", "two"]).dictionary_encode())
    pq.write_table(pa.table(columns), tmp_path / "set/test.parquet")
    config = {"reader": "huggingface", "folder": "set", "image_id": "id", "captions": ["caption", "captions"]}
    tables = read(tmp_path, config)
    assert [(row["image_id"], row["caption"]) for row in tables["captions"]] == [
        ("7", "a dog"), ("7", "one"), ("7", "two"),
    ]  # fmt: skip


# --- files of captions ---


def captions_file(folder: Path, ending: str, values: list[object]) -> Path:
    """A file of captions with one caption for each id."""
    path, rows = folder / f"captions.{ending}", [{"image_id": value, "caption": "a dog"} for value in values]
    with open(path, "w", encoding="utf-8", newline="") as file:
        if ending == "csv":
            writer = csv.DictWriter(file, ["image_id", "caption"])
            writer.writeheader()
            writer.writerows(rows)
        else:
            file.write(json.dumps(rows) if ending == "json" else "\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
@pytest.mark.parametrize("form", PRESENT)
def test_ids_of_captions_in_any_form(tmp_path, ending, form):
    path = captions_file(tmp_path, ending, [PRESENT[form]])
    assert read_caption_file(path) == [("391895", 0, "a dog")]
    assert file_rows(path, ["391895"], ["391895"], "mine")["image_id"] == ["391895"]


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
@pytest.mark.parametrize("form", ABSENT)
def test_captions_without_an_id(tmp_path, ending, form):
    where = {"json": "entry 2", "jsonl": "line 2", "csv": "line 3"}[ending]
    with pytest.raises(CaptionFileError, match=f"{where}: image_id is null or empty"):
        read_caption_file(captions_file(tmp_path, ending, ["1", ABSENT[form]]))


@pytest.mark.parametrize(("index", "number"), [(2, 2), (2.0, 2), ("2", 2), ("2.0", 2), (None, 0), ("", 0)])
def test_index_of_a_caption_in_any_form(tmp_path, index, number):
    write(tmp_path / "a.json", [{"image_id": 1, "caption": "a dog", "caption_index": index}])
    assert read_caption_file(tmp_path / "a.json") == [("1", number, "a dog")]


def test_captions_name_images_by_their_files(tmp_path):
    known = ["391895", "sea/1", "beach", "v1.2"]
    path = captions_file(tmp_path, "json", ["COCO_val2014_000000391895.jpg", "sea/1.jpg", "./beach.HEIC", "v1.2"])
    assert file_rows(path, known, known, "mine")["image_id"] == known
    path = captions_file(tmp_path, "json", ["beach", "beach.jpg"])
    with pytest.raises(CaptionFileError, match=r"1 image ids \('beach'\) have more than one caption"):
        file_rows(path, ["beach"], known, "mine")


# --- judgements ---


@pytest.mark.parametrize("form", PRESENT)
def test_ids_of_judged_captions(tmp_path, form):
    records = [
        {"id": 1, "image_id": PRESENT[form], "caption": text, "foil": text != "a dog"} for text in ("a dog", "a cat")
    ]
    write(tmp_path / "foil.json", {"annotations": records})
    read_foil = defined("judgements.readers", "foil", "read")
    entries = [*read_foil({"annotations": "foil.json", "seed": 1}, tmp_path, Described({}, {}, {}))]
    assert [entry.image_id for entry in entries] == ["391895"]


def test_the_log_says_how_many_boxes_lack_images(tmp_path, caplog):
    """Boxes of images that the captions file does not list are left out, and counted."""
    config = coco(tmp_path, 1, 1)
    document = json.loads((tmp_path / "boxes.json").read_text())
    document["annotations"].append({"image_id": 2, "category_id": 1, "bbox": [0, 0, 2, 2]})
    write(tmp_path / "boxes.json", document)
    with caplog.at_level(logging.INFO):
        read(tmp_path, {"reader": "coco", **config})
    assert any("boxes of 1 images are left out" in message for message in caplog.messages)
