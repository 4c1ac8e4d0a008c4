"""Readers of data sets in the files of their authors; captions are invented."""

import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from captionlab.corpora.inputs import CorpusError, check_inputs
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.storage.tables import read_table
from captionlab.userfiles.reading import GivenError


@pytest.fixture
def read(tmp_path, caplog):
    """Read a corpus of the test's folder; gives the rows of each table."""

    def read(config: dict) -> dict[str, list[dict]]:
        caplog.clear()
        outputs = {table: tmp_path / "tables" / f"{table}.parquet" for table in TABLES}
        with caplog.at_level(logging.INFO):
            read_corpus(config, tmp_path, outputs, 2, "mine")
        return {name: read_table(outputs[name], TABLES[name]).to_pylist() for name in TABLES}

    return read


def captions(tables: dict[str, list[dict]]) -> dict[str, list[str]]:
    """The captions of each image."""
    found = {row["image_id"]: [] for row in tables["images"]}
    for row in tables["captions"]:
        found[row["image_id"]].append(row["caption"])
    return found


def splits(tables: dict[str, list[dict]]) -> dict[str, str]:
    return {row["image_id"]: row["split"] for row in tables["images"]}


def images(folder: Path, *names: str) -> None:
    for number, name in enumerate(names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 6), (number, 0, 0)).save(folder / name)


def write(path: Path, *lines: object) -> None:
    """Write lines; what is no text is written as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")


# --- the published forms ---

TOKEN = ("1_a.jpg#0\tA dog runs .", "1_a.jpg#1\tA brown dog .", "2_b.jpg#0\tTwo men .", "3_c.jpg.1#0\tA cat .")


def test_flickr8k_token_with_its_lists(tmp_path, read, caplog):
    write(tmp_path / "Flickr8k.token.txt", *TOKEN, "2_b.jpg#1\tTwo men # 1 sit .", "")
    write(tmp_path / "train.txt", "2_b.jpg", "")
    write(tmp_path / "test.txt", "1_a.jpg")
    images(tmp_path / "images", "1_a.jpg", "2_b.jpg")
    config = {"reader": "flickr8k-token", "annotations": "Flickr8k.token.txt", "images": "images"}
    tables = read({**config, "splits": {"train": "train.txt", "test": "test.txt"}})
    assert captions(tables) == {"1_a": ["A dog runs .", "A brown dog ."], "2_b": ["Two men .", "Two men # 1 sit ."]}
    assert splits(tables) == {"1_a": "test", "2_b": "train"}
    assert "left out 1 images with their captions, which no list of `splits` has" in caplog.text
    assert splits(read({**config, "images": None})) == {"1_a": "test", "2_b": "test", "3_c.jpg.1": "test"}


def test_flickr30k_token_with_lists_without_endings(tmp_path, read):
    write(tmp_path / "results_20130124.token", "1000.jpg#0\tTwo friends .", "1001.jpg#0\tA tall tree .")
    write(tmp_path / "val.txt", "1001")
    write(tmp_path / "test.txt", "1000", "1002")
    config = {"reader": "flickr8k-token", "annotations": "results_20130124.token", "images": None, "max_rejected": 0.5}
    tables = read({**config, "splits": {"val": "val.txt", "test": "test.txt"}})
    assert splits(tables) == {"1000": "test", "1001": "val"}
    assert [(row["image_id"], row["reason"]) for row in tables["rejects"]] == [("1002", "no-caption")]


def vizwiz(tmp_path: Path) -> None:
    """Image 1 has one usable caption of four, image 2 none, and image 3 has no marks."""
    marks = [(1, False, False), (1, True, False), (1, False, True), (1, True, True), (2, True, False)]
    annotations = [
        {"id": n, "image_id": image, "caption": f"text {n}", "is_rejected": rejected, "is_precanned": precanned}
        for n, (image, rejected, precanned) in enumerate(marks)
    ]
    annotations.append({"id": 9, "image_id": 3, "caption": "text 9", "text_detected": True})
    document = {"images": [{"id": n, "file_name": f"VizWiz_val_{n:08d}.jpg"} for n in (1, 2, 3)]}
    write(tmp_path / "val.json", {**document, "annotations": annotations})
    images(tmp_path / "val", *(f"VizWiz_val_{n:08d}.jpg" for n in (1, 2, 3)))


@pytest.mark.parametrize("reader", ["vizwiz", "coco"])
def test_marked_captions_are_left_out_and_counted(tmp_path, read, caplog, reader):
    vizwiz(tmp_path)
    tables = read({"reader": reader, "annotations": {"val": "val.json"}, "images": {"val": "val"}})
    assert captions(tables) == {"1": ["text 0"], "3": ["text 9"]}
    assert not tables["rejects"]
    said = "left out 1 captions marked is_precanned and 3 captions marked is_rejected"
    assert f"{said}, and 1 images that have no other captions" in caplog.text


@pytest.mark.parametrize(
    ("keep", "expected"),
    [
        (["rejected"], {"1": ["text 0", "text 1"], "2": ["text 4"], "3": ["text 9"]}),
        (["precanned"], {"1": ["text 0", "text 2"], "3": ["text 9"]}),
        (["rejected", "precanned"], {"1": [f"text {n}" for n in range(4)], "2": ["text 4"], "3": ["text 9"]}),
    ],
)
def test_marked_captions_that_the_config_keeps(tmp_path, read, keep, expected):
    vizwiz(tmp_path)
    assert captions(read({"reader": "vizwiz", "annotations": {"val": "val.json"}, "images": "val", "keep": keep})) == (
        expected
    )


def test_textcaps_by_references_or_by_captions(tmp_path, read, caplog):
    both = ["A bottle of Ale .", "A green bottle ."]
    records = [
        {"image_id": "0a1b", "caption_str": text, "reference_strs": both, "image_width": 9, "caption_tokens": ["a"]}
        for text in both
    ]
    write(tmp_path / "TextCaps_0.1_train.json", {"dataset_name": "textcaps", "data": records})
    plain = [{"image_id": "2c", "caption_str": f"A sign , {n} ."} for n in range(2)]
    write(tmp_path / "TextCaps_0.1_val.json", {"data": [*plain, {"image_id": "3d", "caption_str": "A clock ."}]})
    write(tmp_path / "TextCaps_0.1_test.json", {"data": [{"image_id": "4e"}, {"image_id": "5f"}]})
    images(tmp_path / "train_images", "0a1b.jpg", "2c.jpg", "3d.jpg")
    files = {split: f"TextCaps_0.1_{split}.json" for split in ("train", "val", "test")}
    tables = read({"reader": "textcaps", "annotations": files, "images": "train_images"})
    assert captions(tables) == {"0a1b": both, "2c": ["A sign , 0 .", "A sign , 1 ."], "3d": ["A clock ."]}
    assert splits(tables) == {"0a1b": "train", "2c": "val", "3d": "val"}
    assert "TextCaps_0.1_test.json: left out all 2 records, as none has a caption" in caplog.text


def test_localized_narratives_of_coco_and_of_flickr(tmp_path, read):
    narrative = {"dataset_id": "mscoco_val2017", "image_id": "137576", "annotator_id": 93, "caption": "There are cows."}
    other = {**narrative, "image_id": "42", "caption": "There is a boat."}
    second = {**narrative, "annotator_id": 7, "caption": "Cows eat.", "traces": [[{"x": 0.1, "y": 0, "t": 0.1}]]}
    write(tmp_path / "coco_val_captions.jsonl", narrative, other, second)
    flickr = {"dataset_id": "Flick30k_test", "image_id": "1009434119", "annotator_id": 1, "caption": "A dog."}
    write(tmp_path / "flickr30k_test_captions.jsonl", flickr)
    images(tmp_path / "val2017", "000000137576.jpg", "000000000042.jpg")
    images(tmp_path / "flickr", "1009434119.jpg")
    files = {"val": "coco_val_captions.jsonl", "test": "flickr30k_test_captions.jsonl"}
    folders = {"val": "val2017", "test": "flickr"}
    tables = read({"reader": "localized-narratives", "annotations": files, "images": folders})
    expected = {"137576": ["There are cows.", "Cows eat."], "42": ["There is a boat."], "1009434119": ["A dog."]}
    assert captions(tables) == expected
    assert tables["images"][0]["path"].endswith("val2017/000000137576.jpg")


def conversation(*turns: str) -> list[dict]:
    """Turns of a person and of the model, one after the other."""
    return [{"from": ("human", "gpt")[n % 2], "value": text} for n, text in enumerate(turns)]


def test_llava_takes_the_turns_of_the_model(tmp_path, read, caplog):
    records = [
        {
            "id": "7",
            "image": "coco/7.jpg",
            "conversations": conversation("What is it?\n<image>", "A cat.", "And?", "Rug"),
        },
        {"id": "8", "image": "vg/8.png", "conversations": conversation("<image>\nDescribe.", "<image>\nA red bus.")},
        {"id": "text", "conversations": conversation("Write a poem.", "No.")},
        {"id": "7", "image": "coco/7.jpg", "conversations": conversation("<image>\nIn detail?", "A black cat sits.")},
        {"id": "none", "image": None, "conversations": []},
    ]
    write(tmp_path / "llava.json", records)
    images(tmp_path / "images", "coco/7.jpg", "vg/8.png")
    tables = read({"reader": "llava", "annotations": {"train": "llava.json"}, "images": "images"})
    assert captions(tables) == {"coco/7": ["A cat.", "Rug", "A black cat sits."], "vg/8": ["A red bus."]}
    assert "llava.json: left out 2 records without an image" in caplog.text
    assert "llava.json: left out 1 <image> in turns of gpt, 4 turns of human" in caplog.text


def test_docci(tmp_path, read):
    lines = [
        {"example_id": f"{split}_{n}", "split": split, "image_file": f"{split}_{n}.jpg", "description": f"A tree, {n}."}
        for n, split in enumerate(("train", "test", "qual_dev", "qual_test"))
    ]
    write(tmp_path / "docci_descriptions.jsonlines", *lines, lines[0])
    images(tmp_path / "images", *(line["image_file"] for line in lines))
    config = {"reader": "docci", "annotations": "docci_descriptions.jsonlines", "images": "images"}
    tables = read({**config, "max_rejected": 0.3})
    assert splits(tables) == {line["example_id"]: line["split"] for line in lines}
    assert captions(tables)["qual_dev_2"] == ["A tree, 2."]
    assert [row["reason"] for row in tables["rejects"]] == ["duplicate"]


CUB = {"reader": "cub", "annotations": "images.txt", "splits": "split.txt", "captions": "text_c10", "images": None}


def cub(tmp_path: Path) -> None:
    write(tmp_path / "images.txt", "1 001.Auk/Auk_0001_9.jpg", "2 001.Auk/Auk_0002_8.jpg", "3 002.Owl/Owl_0001_7.jpg")
    write(tmp_path / "split.txt", "1 0", "2 1", "3 1")
    write(tmp_path / "text_c10/001.Auk/Auk_0001_9.txt", *(f"a black bird {n}" for n in range(10)))
    write(tmp_path / "text_c10/001.Auk/Auk_0002_8.txt", "a bird with a white belly")


def test_cub(tmp_path, read):
    cub(tmp_path)
    images(tmp_path / "images", *(f"{name}.jpg" for name in ("001.Auk/Auk_0001_9", "001.Auk/Auk_0002_8")))
    images(tmp_path / "images", "002.Owl/Owl_0001_7.jpg")
    tables = read({**CUB, "images": "images", "max_rejected": 0.4})
    assert splits(tables) == {"001.Auk/Auk_0001_9": "test", "001.Auk/Auk_0002_8": "train"}
    assert captions(tables)["001.Auk/Auk_0001_9"] == [f"a black bird {n}" for n in range(10)]
    assert [(row["image_id"], row["reason"]) for row in tables["rejects"]] == [("002.Owl/Owl_0001_7", "no-caption")]


def test_rsicd_is_in_karpathys_format(tmp_path, read):
    sentences = [
        {"tokens": ["many", "planes"], "raw": "many planes are parked .", "imgid": 0, "sentid": n} for n in range(5)
    ]
    image = {"sentids": [0, 1], "imgid": 0, "sentences": sentences, "split": "train", "filename": "airport_1.jpg"}
    other = {**image, "imgid": 1, "split": "test", "filename": "bridge_2.tif"}
    write(tmp_path / "dataset_rsicd.json", {"images": [image, other], "dataset": "rsicd"})
    images(tmp_path / "RSICD_images", "airport_1.jpg", "bridge_2.tif")
    tables = read({"reader": "karpathy", "annotations": "dataset_rsicd.json", "images": "RSICD_images"})
    assert splits(tables) == {"airport_1": "train", "bridge_2": "test"}
    assert captions(tables)["bridge_2"] == ["many planes are parked ."] * 5


# --- captions in Parquet that are none ---


def parquet(tmp_path: Path, columns: dict) -> dict:
    images(tmp_path / "images", "a.jpg", "b.jpg")
    (tmp_path / "hub").mkdir()
    pq.write_table(pa.table({"image": ["a.jpg", "b.jpg"], **columns}), tmp_path / "hub" / "test.parquet")
    return {"reader": "huggingface", "folder": "hub", "images": "images"}


def chat(speaker: str, text: str, *turns: tuple[str, str]) -> list[dict]:
    return [{speaker: who, text: what} for who, what in turns]


@pytest.mark.parametrize("image_id", [{}, {"image_id": "id"}])
@pytest.mark.parametrize(("speaker", "text", "model"), [("from", "value", "gpt"), ("role", "content", "assistant")])
def test_turns_of_people_in_parquet_are_no_captions(tmp_path, read, caplog, speaker, text, model, image_id):
    column = [
        chat(speaker, text, ("system", "Be brief."), ("user", "<image>\nWhat?"), (model, "A cat."), (model, None)),
        chat(speaker, text, ("user", "<image>"), (model, "A dog."), ("user", "Where?"), (model, "At home.")),
    ]
    config = parquet(tmp_path, {"conversations": column, "id": ["a", "b"]})
    tables = read({**config, "captions": f"conversations.{text}", **image_id})
    assert captions(tables) == {"a": ["A cat."], "b": ["A dog.", "At home."]}
    assert "hub: left out 1 turns of system, 3 turns of user" in caplog.text


def test_turns_in_a_struct_of_lists(tmp_path, read, caplog):
    column = [{"from": ["human", "gpt"], "value": ["What?", name]} for name in ("A cat.", "A dog.")]
    tables = read({**parquet(tmp_path, {"talk": column}), "captions": "talk.value"})
    assert captions(tables) == {"a": ["A cat."], "b": ["A dog."]}
    assert "left out 2 turns of human" in caplog.text


MARKED = [[False, True, None], [True, False, False]]


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"caption": [["a 0", "a 1", "a 2"], ["b 0", "b 1", "b 2"]], "is_rejected": MARKED}, "caption"),
        (
            {
                "notes": [
                    [{"text": f"{name} {n}", "is_rejected": mark} for n, mark in enumerate(marks)]
                    for name, marks in zip("ab", MARKED, strict=True)
                ]
            },
            "notes.text",
        ),
    ],
)
def test_marked_captions_in_parquet(tmp_path, read, caplog, columns, name):
    tables = read({**parquet(tmp_path, columns), "captions": name})
    assert captions(tables) == {"a": ["a 0", "a 2"], "b": ["b 1", "b 2"]}
    assert "hub: left out 2 captions marked is_rejected" in caplog.text


def test_a_mark_of_a_row(tmp_path, read):
    columns = {"caption": ["a cat", "a dog"], "is_precanned": [False, True]}
    assert captions(read(parquet(tmp_path, columns))) == {"a": ["a cat"]}


# --- captions in tables that are none, or several ---


def folder(tmp_path: Path, *lines: object, name: str = "captions.csv") -> dict:
    images(tmp_path / "images", "a.jpg", "b.jpg")
    write(tmp_path / name, *lines)
    return {"reader": "folder", "images": "images", "captions": name, "max_rejected": 0.5}


@pytest.mark.parametrize("value", ["True", "true", "1", "1.0"])
def test_marked_captions_in_csv(tmp_path, read, caplog, value):
    rows = [
        "file,caption,is_rejected",
        f"a.jpg,spam,{value}",
        "a.jpg,a cat,False",
        f"b.jpg,spam,{value}",
        "b.jpg,a dog,",
    ]
    assert captions(read(folder(tmp_path, *rows))) == {"a": ["a cat"], "b": ["a dog"]}
    assert "captions.csv: left out 2 captions marked is_rejected" in caplog.text


def test_marked_captions_in_json_lines(tmp_path, read):
    rows = [{"file": "a.jpg", "caption": "a cat"}, {"file": "b.jpg", "caption": ["no", "none"], "is_precanned": True}]
    assert captions(read(folder(tmp_path, *rows, name="captions.jsonl"))) == {"a": ["a cat"]}


# Rows of image, caption and mark. Image a has a usable caption; of b all captions are marked.
ROWS = [("a", "a cat", False), ("b", "spam", True), ("a", "more spam", True), ("b", "spam", True)]


def marked_in_coco(tmp_path: Path) -> dict:
    document = {
        "images": [{"id": name, "file_name": f"{name}.jpg"} for name in "ab"],
        "annotations": [{"image_id": i, "caption": text, "is_rejected": mark} for i, text, mark in ROWS],
    }
    write(tmp_path / "coco.json", document)
    return {"reader": "coco", "annotations": {"test": "coco.json"}}


def marked_in_folder(tmp_path: Path) -> dict:
    write(tmp_path / "rows.csv", "file,caption,is_rejected", *(f"{i}.jpg,{text},{mark}" for i, text, mark in ROWS))
    return {"reader": "folder", "captions": "rows.csv"}


def marked_in_parquet(tmp_path: Path) -> dict:
    """A row for each caption, of which `image_id` gathers the captions of an image."""
    (tmp_path / "hub").mkdir()
    ids, texts, marks = ([*column] for column in zip(*ROWS, strict=True))
    columns = {"image": [f"{i}.jpg" for i in ids], "id": ids, "caption": texts, "is_rejected": marks}
    pq.write_table(pa.table(columns), tmp_path / "hub" / "test.parquet")
    return {"reader": "huggingface", "folder": "hub", "image_id": "id"}


@pytest.mark.parametrize("corpus", [marked_in_coco, marked_in_folder, marked_in_parquet])
def test_an_image_with_marked_captions_only_is_left_out_and_no_reject(tmp_path, read, caplog, corpus):
    images(tmp_path / "images", "a.jpg", "b.jpg")
    tables = read({**corpus(tmp_path), "images": "images", "max_rejected": 0})
    assert captions(tables) == {"a": ["a cat"]}
    assert not tables["rejects"]
    assert "left out 3 captions marked is_rejected, and 1 images that have no other captions" in caplog.text


# --- captions in other languages ---

XM3600 = {
    "image/key": "00a1",
    "image/locale": "de",
    "de": {"caption": ["Ein Hund läuft.", "Hund am Strand"], "caption/tokenized": ["Ein Hund läuft ."]},
    "zh": {"caption": ["一只狗在跑。"], "caption/tokenized": ["一 只 狗 在 跑 。"]},
}


@pytest.mark.parametrize("language", ["de", "zh"])
def test_xm3600_in_one_language(tmp_path, read, language):
    write(tmp_path / "captions.jsonl", XM3600, {**XM3600, "image/key": "00b2"})
    images(tmp_path / "images", "00a1.jpg", "00b2.jpg")
    tables = read({"reader": "xm3600", "language": language, "annotations": "captions.jsonl", "images": "images"})
    assert captions(tables) == dict.fromkeys(("00a1", "00b2"), XM3600[language]["caption"])
    assert splits(tables) == {"00a1": "test", "00b2": "test"}


def multi30k(tmp_path: Path) -> dict:
    write(tmp_path / "train.txt", "1.jpg", "2.jpg")
    write(tmp_path / "train.1.de", "Ein Hund.", "Zwei Männer.")
    write(tmp_path / "train.2.de", "Hund am Meer.", "Männer auf einem Dach.")
    write(tmp_path / "coco.txt", "COCO_val2014_000000000042.jpg#420462")
    write(tmp_path / "coco.de", "Eine Katze.")
    return {
        "reader": "multi30k",
        "language": "de",
        "lists": {"train": "train.txt", "test": "coco.txt"},
        "annotations": {"train": ["train.1.de", "train.2.de"], "test": ["coco.de"]},
        "images": {"train": "flickr", "test": "coco"},
    }


def test_multi30k(tmp_path, read):
    images(tmp_path, "flickr/1.jpg", "flickr/2.jpg", "coco/COCO_val2014_000000000042.jpg")
    tables = read(multi30k(tmp_path))
    assert captions(tables) == {
        "1": ["Ein Hund.", "Hund am Meer."],
        "2": ["Zwei Männer.", "Männer auf einem Dach."],
        "COCO_val2014_000000000042": ["Eine Katze."],
    }
    assert splits(tables) == {"1": "train", "2": "train", "COCO_val2014_000000000042": "test"}


def test_multi30k_names_each_of_its_files(tmp_path, answers):
    config = {**multi30k(tmp_path), "images": None}
    (tmp_path / "train.2.de").unlink()
    with pytest.raises(CorpusError) as raised:
        check_inputs(config, tmp_path, "mine")
    answers.hold("multi30k: a file of captions that is not there", raised.value, "corpora.mine.annotations.train.1")


def test_multi30k_with_a_line_too_few(tmp_path, read, answers):
    config = {**multi30k(tmp_path), "images": None}
    write(tmp_path / "train.2.de", "Hund am Meer.")
    with pytest.raises(CorpusError) as raised:
        read(config)
    answers.hold("multi30k: a line too few", raised.value, "train.2.de has 1 lines")


def test_coco_cn(tmp_path, read):
    write(
        tmp_path / "imageid.human-written-caption.txt",
        "COCO_train2014_000000000101#0\t一只猫坐在椅子上",
        "COCO_val2014_000000000042#0\t两个人骑马",
        "COCO_val2014_000000000042#1\t有人在骑马",
        "COCO_val2014_000000000077#0\t一座桥",
    )
    write(tmp_path / "train.txt", "COCO_train2014_000000000101")
    write(tmp_path / "test.txt", "COCO_val2014_000000000042")
    images(tmp_path / "coco", "train2014/COCO_train2014_000000000101.jpg", "val2014/COCO_val2014_000000000042.jpg")
    tables = read(
        {
            "reader": "coco-cn",
            "annotations": "imageid.human-written-caption.txt",
            "splits": {"train": "train.txt", "test": "test.txt"},
            "images": "coco",
        }
    )
    assert captions(tables) == {"101": ["一只猫坐在椅子上"], "42": ["两个人骑马", "有人在骑马"]}
    assert splits(tables) == {"101": "train", "42": "test"}
    assert not tables["rejects"]


# --- files that cannot be read ---

FILES = {
    "flickr8k-token": {"annotations": "a.txt", "splits": {"train": "train.txt", "test": "test.txt"}},
    "vizwiz": {"annotations": {"val": "a.txt"}},
    "textcaps": {"annotations": {"val": "a.txt"}},
    "localized-narratives": {"annotations": {"val": "a.txt"}},
    "llava": {"annotations": {"train": "a.txt"}},
    "docci": {"annotations": "a.txt"},
    "cub": {"annotations": "images.txt", "splits": "a.txt", "captions": "text_c10"},
    "xm3600": {"annotations": "a.txt", "language": "de"},
    "coco-cn": {"annotations": "a.txt", "splits": {"test": "test.txt"}},
}
VIZWIZ = {"image_id": 1, "caption": "a can"}
NARRATIVE = {"dataset_id": "mscoco_val2017", "image_id": "7", "annotator_id": 1, "caption": "a boat"}
DOCCI = {"split": "train", "image_file": "train_0.jpg", "description": "a tree"}


def without(record: dict, key: str) -> dict:
    return {name: value for name, value in record.items() if name != key}


@pytest.mark.parametrize(
    ("given", "reader", "lines", "names"),
    [
        ("a caption without a tab", "flickr8k-token", ["1.jpg#0\ta dog", "2.jpg#0 a cat"], "a.txt, line 2"),
        ("a caption without a number", "flickr8k-token", ["1.jpg\ta dog"], "a.txt, line 1"),
        (
            "a mark that is a text",
            "vizwiz",
            [{"images": [{"id": 1}], "annotations": [{**VIZWIZ, "is_rejected": "no"}]}],
            "annotations[0]: 'is_rejected'",
        ),
        ("images without annotations", "vizwiz", [{"images": [{"id": 1}]}], "'annotations'"),
        ("a list", "textcaps", ["[]"], "'data'"),
        ("a record without an id", "textcaps", [{"data": [{"caption_str": "a sign"}]}], "data[0] has no id"),
        (
            "a record without captions",
            "textcaps",
            [{"data": [{"image_id": "1", "caption_str": "a sign"}, {"image_id": "2"}]}],
            "data[1] has no field 'caption_str'",
        ),
        (
            "references that are one text",
            "textcaps",
            [{"data": [{"image_id": "1", "reference_strs": "a sign"}]}],
            "data[0]: 'reference_strs'",
        ),
        (
            "a line without a caption",
            "localized-narratives",
            [NARRATIVE, without(NARRATIVE, "caption")],
            "line 2 has no field 'caption'",
        ),
        ("a caption that is a number", "localized-narratives", [{**NARRATIVE, "caption": 5}], "line 1: 'caption'"),
        (
            "an image of COCO without a number",
            "localized-narratives",
            [{**NARRATIVE, "image_id": "x"}],
            "line 1: 'image_id'",
        ),
        ("an object in place of a list", "llava", ['{"id": 1}'], "holds a dict"),
        ("JSON lines", "llava", ['{"id": 1}', '{"id": 2}'], "a.txt, line 2"),
        ("a record without conversations", "llava", ['[{"id": "1", "image": "1.jpg"}]'], "[0] has no field"),
        ("several images of a record", "llava", [[{"image": ["1.jpg", "2.jpg"], "conversations": []}]], "[0]: 'image'"),
        (
            "a turn without a speaker",
            "llava",
            [[{"image": "1.jpg", "conversations": [{"value": "a"}]}]],
            "[0].conversations[0] has no field 'from'",
        ),
        ("an unknown split", "docci", [DOCCI, {**DOCCI, "split": "dev"}], "line 2: 'split'"),
        ("a line without an image", "docci", [without(DOCCI, "image_file")], "line 1 has no field 'image_file'"),
        ("a line that is no JSON", "docci", [DOCCI, "{no"], "a.txt, line 2"),
        ("an unknown split", "cub", ["1 0", "2 2"], "a.txt, line 2"),
        ("an image without a split", "cub", ["1 0"], "images.txt, line 2"),
        ("no captions in the language", "xm3600", [XM3600, without(XM3600, "de")], "line 2 has no captions in 'de'"),
        ("one caption in place of a list", "xm3600", [{**XM3600, "de": {"caption": "Ein Hund"}}], "line 1: 'caption'"),
        ("names of another form", "coco-cn", ["1.jpg#0\t一只狗"], "test.txt has the image '1.jpg'"),
        ("commas in place of spaces", "cub", ["1,0"], "a.txt, line 1"),
    ],
)
def test_a_file_that_is_not_in_the_published_form(tmp_path, read, answers, given, reader, lines, names):
    cub(tmp_path)
    for split in ("train", "test"):
        write(tmp_path / f"{split}.txt", "1.jpg" if split == "test" else "2.jpg")
    write(tmp_path / "a.txt", *lines)
    with pytest.raises((CorpusError, GivenError)) as raised:
        read({"reader": reader, "images": None, **FILES[reader]})
    answers.hold(f"{reader}: {given}", raised.value, names)
    assert not [path for path in (tmp_path / "tables").rglob("*") if path.is_file()]


def test_an_image_in_two_lists(tmp_path, read, answers):
    write(tmp_path / "a.txt", *TOKEN)
    write(tmp_path / "train.txt", "1_a.jpg", "2_b.jpg")
    write(tmp_path / "test.txt", "2_b.jpg")
    with pytest.raises(CorpusError) as raised:
        read({"reader": "flickr8k-token", "images": None, **FILES["flickr8k-token"]})
    answers.hold("flickr8k-token: an image in two lists", raised.value, "test.txt, line 1")


@pytest.mark.parametrize(
    ("given", "change", "names"),
    [
        ("a folder of captions that is not there", {"captions": "text"}, "corpora.mine.captions"),
        ("a file in place of the folder of captions", {"captions": "split.txt"}, "corpora.mine.captions"),
        ("a folder in place of a file", {"splits": "text_c10"}, "corpora.mine.splits"),
    ],
)
def test_files_and_folders_of_cub_are_checked_before_they_are_read(tmp_path, answers, given, change, names):
    cub(tmp_path)
    check_inputs(CUB, tmp_path, "mine")
    with pytest.raises(CorpusError) as raised:
        check_inputs({**CUB, **change}, tmp_path, "mine")
    answers.hold(f"cub: {given}", raised.value, names)


def test_lists_of_splits_need_no_folder_of_images_each(tmp_path):
    for name in ("a.txt", "train.txt", "test.txt"):
        write(tmp_path / name, "1.jpg#0\ta dog")
    (tmp_path / "images").mkdir()
    check_inputs({"reader": "flickr8k-token", "images": "images", **FILES["flickr8k-token"]}, tmp_path, "mine")
