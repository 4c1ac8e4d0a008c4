import errno
import json
import logging
import os
import re
import struct
import tracemalloc
import zlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image
from support.raw_images import tiff

from captionlab.config.papers import listed
from captionlab.config.plugins import plugin_models
from captionlab.corpora import images as image_checks
from captionlab.corpora.images import Fault, check_image, check_images
from captionlab.corpora.inputs import CorpusError, input_files
from captionlab.corpora.reading import clean, read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.images import locations
from captionlab.images.locations import ImageLocation
from captionlab.jobs.progress import log_counts
from captionlab.plugins import defined, facts, names
from captionlab.storage.tables import read_table
from captionlab.userfiles.reading import GivenError

# Zero-size images: no encoder writes them, so the bytes are spelled out.
ZERO_GIF = b"GIF89a" + bytes([0, 0, 5, 0, 0, 0, 0]) + b";"
ZERO_PNG = b"\x89PNG\r\n\x1a\n" + bytes([0, 0, 0, 13]) + b"IHDR" + bytes([0, 0, 0, 7, 0, 0, 0, 0, 8, 2, 0, 0, 0])


def make_image(path: Path, width: int = 12, height: int = 9, seed: int = 0) -> Path:
    """A noisy image, so that its file is long enough to be cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)
    return path


def make_json(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


class Reading:
    """What read_corpus made in a folder: rows of each table as dictionaries."""

    def __init__(self, config: dict, root: Path, folder: Path, threads: int = 2):
        self.outputs = {table: folder / f"{table}.parquet" for table in TABLES}
        self.counts = read_corpus(config, root, self.outputs, threads, "toy")

    def rows(self, table: str) -> list[dict]:
        return read_table(self.outputs[table], TABLES[table]).to_pylist()

    def column(self, table: str, column: str) -> list:
        return [row[column] for row in self.rows(table)]


@pytest.fixture
def read(tmp_path):
    """Read a corpus of the folder `data`; the tables go to the folder `tables`."""

    def read(config: dict, **options: int) -> Reading:
        return Reading(config, tmp_path / "data", tmp_path / "tables", **options)

    return read


@pytest.fixture
def data(tmp_path) -> Path:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


KARPATHY = {"reader": "karpathy", "annotations": "toy.json", "images": "images"}


def karpathy(data: Path, entries: list[dict], **config: object) -> dict:
    """A corpus in Karpathy's format; `entries` differ from a complete entry as they say."""
    complete = [
        {"filename": f"{i}.jpg", "split": "train", "sentences": [{"raw": f"caption of {i}", "tokens": ["caption"]}]}
        for i in range(len(entries))
    ]
    make_json(data / "toy.json", {"images": [whole | entry for whole, entry in zip(complete, entries, strict=True)]})
    for i in range(len(entries)):
        make_image(data / "images" / f"{i}.jpg", seed=i)
    return KARPATHY | config


def nothing_left(tmp_path: Path) -> bool:
    return not [path for path in (tmp_path / "tables").rglob("*") if path.is_file()]


# --- the published formats ---


def test_karpathy_of_flickr(data, read):
    sentences = [{"raw": f"caption {i}"} for i in range(7)]
    config = karpathy(data, [{"filename": "12_ab.jpg", "sentences": sentences}, {"split": "val"}, {"split": "test"}])
    make_image(data / "images" / "12_ab.jpg", 30, 20)
    corpus = read(config)
    assert corpus.rows("images")[0] == {
        "image_id": "12_ab",
        "position": 0,
        "split": "train",
        "path": str(data / "images" / "12_ab.jpg"),
        "offset": None,
        "length": None,
        "data": None,
        "width": 30,
        "height": 20,
        "image_set": None,
    }
    assert corpus.column("images", "split") == ["train", "val", "test"]
    assert [row["caption"] for row in corpus.rows("captions") if row["image_id"] == "12_ab"] == [
        f"caption {i}" for i in range(7)
    ]
    assert corpus.counts == {"images": 3, "captions": 9, "objects": 0, "scene_captions": 0, "rejects": 0}


def test_karpathy_of_coco_has_folders_numbers_and_restval(data, read):
    entries = [
        {"filepath": "val2014", "filename": "COCO_val2014_000000000042.jpg", "cocoid": 42, "split": "restval"},
        {"filepath": "train2014", "filename": "COCO_train2014_000000000009.jpg", "cocoid": 9, "split": "test"},
    ]
    config = karpathy(data, entries)
    for entry in entries:
        make_image(data / "images" / entry["filepath"] / entry["filename"])
    corpus = read(config)
    assert corpus.column("images", "image_id") == ["42", "9"]
    assert corpus.column("images", "split") == ["train", "test"]
    assert corpus.column("images", "path")[0].endswith("images/val2014/COCO_val2014_000000000042.jpg")


def coco(data: Path) -> dict:
    """Two splits of COCO; objects in one of them."""
    for split, numbers in {"train": [7, 8], "val": [3]}.items():
        records = [{"id": n, "file_name": f"{n:012d}.jpg", "width": 40, "height": 20} for n in numbers]
        # Annotations are in another order than the images, as in the published files.
        captions = [{"id": 10 * n + i, "image_id": n, "caption": f"{n} {i}"} for i in range(2) for n in numbers[::-1]]
        make_json(data / f"captions_{split}.json", {"images": records, "annotations": captions})
        for record in records:
            make_image(data / split / record["file_name"], 40, 20)
    make_json(
        data / "instances_train.json",
        {
            "images": [],
            "categories": [{"id": 1, "name": "person"}, {"id": 44, "name": "bottle"}],
            "annotations": [
                {"image_id": 8, "category_id": 44, "bbox": [1.5, 2, 10, 4], "segmentation": [[1, 2]], "iscrowd": 0},
                {"image_id": 8, "category_id": 1, "bbox": [0, 0, 40, 20], "segmentation": {}, "iscrowd": 1},
                {"image_id": 999, "category_id": 1, "bbox": [0, 0, 4, 2], "iscrowd": 0},
            ],
        },
    )
    return {
        "reader": "coco",
        "annotations": {"train": "captions_train.json", "val": "captions_val.json"},
        "instances": {"train": "instances_train.json"},
        "images": {"train": "train", "val": "val"},
    }


def test_coco_with_instances(data, read):
    corpus = read(coco(data))
    assert corpus.column("images", "image_id") == ["7", "8", "3"]
    assert corpus.column("images", "position") == [0, 1, 2]
    assert corpus.column("images", "split") == ["train", "train", "val"]
    assert corpus.column("captions", "caption") == ["7 0", "7 1", "8 0", "8 1", "3 0", "3 1"]
    box = {"image_id": "8", "x1": 1.5, "y1": 2, "x2": 11.5, "y2": 6, "attributes": []}
    assert corpus.rows("objects") == [
        box | {"object_index": 0, "label": "bottle"},
        {"image_id": "8", "object_index": 1, "label": "person", "attributes": ["crowd"]}
        | {"x1": 0, "y1": 0, "x2": 40, "y2": 20},
    ]


def test_coco_warns_when_boxes_are_of_another_size_of_the_image(data, read, caplog):
    config = coco(data)
    make_image(data / "train" / "000000000008.jpg", 20, 10)
    with caplog.at_level(logging.WARNING):
        read(config)
    assert "toy: 1 images are not of the size, upright," in caplog.text


def test_coco_in_one_folder(data, read):
    config = coco(data) | {"images": "train"}
    make_image(data / "train" / "000000000003.jpg", 40, 20)
    assert read(config).column("images", "path")[2] == str(data / "train" / "000000000003.jpg")


def test_coco_of_texts_only(data, read):
    config = coco(data) | {"images": None}
    corpus = read(config)
    assert corpus.column("images", "path") == [None] * 3
    assert corpus.column("images", "width") == [40] * 3
    make_json(data / "captions_val.json", {"images": [{"id": 3}], "annotations": [{"image_id": 3, "caption": "a"}]})
    corpus = read(config)
    assert (corpus.rows("images")[2]["width"], corpus.rows("images")[2]["height"]) == (0, 0)


@pytest.mark.parametrize(
    ("domain", "expected"), [("near-domain", ["1", "4"]), ("out-domain", ["2"]), (None, list("0124"))]
)
def test_nocaps_by_domain(data, read, domain, expected):
    domains = {0: "in-domain", 1: "near-domain", 2: "out-domain", 4: "near-domain"}
    records = [{"id": n, "file_name": f"{n}.jpg", "domain": name, "open_images_id": "x"} for n, name in domains.items()]
    annotations = [{"id": i, "image_id": n, "caption": f"{n} {i}"} for n in domains for i in range(10)]
    make_json(data / "nocaps.json", {"images": records, "annotations": annotations})
    for n in domains:
        make_image(data / "validation" / f"{n}.jpg")
    config = {"reader": "nocaps", "annotations": "nocaps.json", "images": "validation"}
    corpus = read(config | ({"domain": domain} if domain else {}))
    assert corpus.column("images", "image_id") == expected
    assert set(corpus.column("images", "split")) == {"val"}
    assert Counter(corpus.column("captions", "image_id")) == dict.fromkeys(expected, 10)


def test_conceptual_captions_by_row_or_by_name(data, read):
    (data / "train.tsv").write_text("a cat\thttp://a/1\na\u2028dog\thttp://a/2\n", encoding="utf-8")
    (data / "val.tsv").write_bytes("\ufeffa bird\thttp://a/3\t00000/x.png\r\n".encode())
    for name in ("train/00000000.jpg", "train/00000001.jpg", "val/00000/x.png"):
        make_image(data / name)
    config = {
        "reader": "conceptual-captions",
        "annotations": {"train": "train.tsv", "val": "val.tsv"},
        "images": {"train": "train", "val": "val"},
    }
    corpus = read(config)
    assert corpus.column("images", "image_id") == ["train/00000000", "train/00000001", "val/00000000"]
    assert corpus.column("images", "path")[2] == str(data / "val" / "00000" / "x.png")
    assert corpus.column("captions", "caption") == ["a cat", "a dog", "a bird"]
    (data / "train.tsv").write_text("a cat\thttp://a/1\njust a caption\n", encoding="utf-8")
    with pytest.raises(CorpusError, match=r"train\.tsv, line 2 has 1 columns; the reader expects caption, tab, URL"):
        read(config)
    (data / "train.tsv").write_bytes(b"a cat\thttp://a/1\nun caf\xe9\thttp://a/2\n")
    with pytest.raises(GivenError, match=r"train\.tsv, line 2: not UTF-8 text from byte 6"):
        read(config)


def test_concadia_captions_or_descriptions(data, read):
    long = "é" * 250
    records = [
        {"filename": "5.jpg", "split": "val", "caption": {"raw": "a caption"}, "description": {"raw": long}},
        {"filename": "6.jpg", "split": "test", "caption": {"raw": long}, "description": {"raw": "a description"}},
    ]
    make_json(data / "wiki_split.json", {"images": records})
    for n in (5, 6):
        make_image(data / "images" / f"{n}.jpg")
    config = {"reader": "concadia", "annotations": "wiki_split.json", "images": "images"}
    corpus = read(config | {"text": "caption"})
    assert corpus.column("captions", "caption") == ["a caption", "é" * 200]
    assert corpus.column("images", "image_id") == ["5", "6"]
    assert read(config | {"text": "description"}).column("captions", "caption") == ["é" * 200, "a description"]


def imagecode(data: Path) -> dict:
    for image_set in ("video_1", "open-images-2"):
        for i in range(10):
            # 8, 11, 14, ...: in alphabetical order img11 comes before img8.
            make_image(data / "image-sets" / image_set / f"img{8 + 3 * i}.jpg", seed=i)
    make_json(data / "valid.json", {"video_1": {"1": "the second", "9": "the last"}, "open-images-2": {"0": "first"}})
    return {"reader": "imagecode", "annotations": {"val": "valid.json"}, "images": "image-sets"}


def test_imagecode_ranks_by_number(data, read):
    corpus = read(imagecode(data))
    images = corpus.rows("images")
    assert len(images) == 20
    assert [images[i]["image_id"] for i in (0, 1, 9, 10)] == ["video_1/0", "video_1/1", "video_1/9", "open-images-2/0"]
    assert [Path(images[i]["path"]).name for i in (0, 1, 9)] == ["img8.jpg", "img11.jpg", "img35.jpg"]
    assert {image["image_set"] for image in images[:10]} == {"video_1"}
    assert [(row["image_id"], row["caption"]) for row in corpus.rows("captions")] == [
        ("video_1/1", "the second"),
        ("video_1/9", "the last"),
        ("open-images-2/0", "first"),
    ]


def test_imagecode_leaves_out_an_incomplete_set_whole(data, read):
    config = imagecode(data)
    (data / "image-sets" / "video_1" / "img8.jpg").unlink()
    corpus = read(config | {"max_rejected": 0.5})
    assert {row["image_set"] for row in corpus.rows("images")} == {"open-images-2"}
    assert Counter(corpus.column("rejects", "reason")) == {"missing": 10}
    assert "9 images" in corpus.rows("rejects")[0]["detail"]


def hl_record(number: int) -> dict:
    return {
        "file_name": f"COCO_train2014_{number:012d}.jpg",
        "captions": {
            "scene": ["in a car", "at sea"],
            "action": ["x"],
            "rationale": ["y"],
            "object": ["a man", "a tie"],
        },
        "confidence": {"scene": [5.0, 3.0], "action": [1.0], "rationale": [1.0]},
    }


def test_hl_scenes_and_captions(data, read):
    (data / "test.jsonl").write_text("\n".join(json.dumps(hl_record(n)) for n in (138878, 9)) + "\n")
    config = {"reader": "hl", "annotations": {"test": "test.jsonl"}, "images": None}
    corpus = read(config)
    assert corpus.column("images", "image_id") == ["138878", "9"]
    assert corpus.column("captions", "caption") == ["a man", "a tie"] * 2
    scene = {"image_id": "138878", "scene": None}
    assert corpus.rows("scene_captions")[:2] == [
        scene | {"scene_index": 0, "caption": "in a car", "confidence": 5.0},
        scene | {"scene_index": 1, "caption": "at sea", "confidence": 3.0},
    ]
    for n in (138878, 9):
        make_image(data / "train2014" / f"COCO_train2014_{n:012d}.jpg", 21, 22)
    assert read(config | {"images": "train2014"}).rows("images")[1]["width"] == 21
    (data / "test.jsonl").write_text(json.dumps(hl_record(9)) + '\n{"file_name": }\n')
    with pytest.raises(GivenError, match=r"test\.jsonl, line 2, column 15: not valid JSON"):
        read(config)
    (data / "test.jsonl").write_text(json.dumps(hl_record(9) | {"confidence": {"scene": [1.0]}}))
    with pytest.raises(CorpusError, match=r"line 1 has 2 scene captions and 1 confidences"):
        read(config)


def test_hl_scene_captions_and_a_validation_split(data, read):
    lines = [json.dumps(hl_record(n)) for n in range(1, 31)]
    for split in ("train", "test"):
        (data / f"{split}.jsonl").write_text("\n".join(lines) + "\n")
        lines = [json.dumps(hl_record(n)) for n in range(31, 61)]
    config = {"reader": "hl", "annotations": {"train": "train.jsonl", "test": "test.jsonl"}, "images": None}
    corpus = read(config | {"text": "scene", "validation": {"images": 7, "seed": 1}})
    assert corpus.column("captions", "caption") == ["in a car", "at sea"] * 60
    splits = corpus.column("images", "split")
    assert Counter(splits) == {"train": 23, "val": 7, "test": 30}
    assert set(splits[30:]) == {"test"}
    again = read(config | {"validation": {"images": 7, "seed": 1}}).column("images", "split")
    assert splits == again != read(config | {"validation": {"images": 7, "seed": 2}}).column("images", "split")
    with pytest.raises(CorpusError, match=r"train\.jsonl has 30 images; validation\.images is 30, which leaves none"):
        read(config | {"validation": {"images": 30, "seed": 1}})


@pytest.mark.parametrize(("text", "captions"), [("action", ["x"]), ("rationale", ["y"])])
def test_hl_captions_of_an_axis(data, read, text, captions):
    (data / "test.jsonl").write_text(json.dumps(hl_record(9)) + "\n")
    config = {"reader": "hl", "annotations": {"test": "test.jsonl"}, "images": None}
    corpus = read(config | {"text": text})
    assert corpus.column("captions", "caption") == captions
    assert corpus.column("scene_captions", "caption") == ["in a car", "at sea"]
    (data / "test.jsonl").write_text(json.dumps({"file_name": "9.jpg", "captions": {"object": ["a"], "scene": []}}))
    with pytest.raises(CorpusError, match=rf'has no field \'{text}\'.*"captions": {{"{text}": \[...\], "scene": \['):
        read(config | {"text": text})


def test_hl_narratives_need_no_scene_captions(data, read):
    narrated = {"narrative": ["a man in a car to get home", "a man at sea"], "object": ["a man"]}
    (data / "test.jsonl").write_text(json.dumps({"file_name": "9.jpg", "captions": narrated}) + "\n")
    config = {"reader": "hl", "annotations": {"test": "test.jsonl"}, "images": None}
    corpus = read(config | {"text": "narrative"})
    assert corpus.column("captions", "caption") == narrated["narrative"]
    assert corpus.rows("scene_captions") == []
    (data / "test.jsonl").write_text(json.dumps(hl_record(9)))
    with pytest.raises(CorpusError, match="has no field 'narrative'"):
        read(config | {"text": "narrative"})


# --- images that cannot be used ---


def damage(data: Path) -> dict[int, str]:
    """Damage images 1 to 6 of a corpus; the reasons that the rejects should give."""
    images = data / "images"
    (images / "1.jpg").unlink()
    (images / "2.jpg").write_bytes(b"")
    whole = make_image(images / "3.jpg", 64, 64).read_bytes()
    (images / "3.jpg").write_bytes(whole[: len(whole) // 2])
    (images / "4.jpg").write_text("<html>404 Not Found</html>")
    (images / "5.jpg").write_bytes(ZERO_GIF)
    (images / "6.jpg").write_bytes(ZERO_PNG)
    return {1: "missing", 2: "empty", 3: "broken", 4: "broken", 5: "zero-size", 6: "zero-size"}


def test_bad_images_are_rejected_with_a_reason(data, read, caplog):
    config = karpathy(data, [{}] * 12, max_rejected=0.5)
    reasons = damage(data)
    with caplog.at_level(logging.INFO):
        corpus = read(config)
    rejects = corpus.rows("rejects")
    assert {row["position"]: row["reason"] for row in rejects} == reasons
    assert [row["detail"] for row in rejects if row["reason"] == "zero-size"] == ["0 x 5 pixels", "7 x 0 pixels"]
    assert "truncated" in next(row["detail"] for row in rejects if row["position"] == 3)
    assert corpus.column("images", "position") == [0, 7, 8, 9, 10, 11]
    assert set(corpus.column("captions", "image_id")) == {"0", "7", "8", "9", "10", "11"}
    assert "rejected 6 of 12 images (2 broken, 2 zero-size, 1 missing, 1 empty)" in caplog.text


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("floats from -3 to 812.5", np.float32([[-3, 0.5], [1, 812.5]])),
        ("32-bit whole numbers", np.int32([[-3, 70000]])),
        ("floats in three channels", tiff(np.ones(6, np.float32).tobytes(), 2, 1, [32] * 3, 3, 2)),
    ],
)
def test_values_that_no_one_can_interpret_are_rejected(data, read, answers, given, content):
    config = karpathy(data, [{}, {"filename": "1.tif"}], max_rejected=0.5)
    if isinstance(content, bytes):
        (data / "images" / "1.tif").write_bytes(content)
    else:
        Image.fromarray(content).save(data / "images" / "1.tif")
    [reject] = read(config).rows("rejects")
    assert (reject["path"], reject["reason"]) == (str(data / "images" / "1.tif"), "unsupported")
    with pytest.raises(CorpusError, match=f"1.tif: unsupported, {re.escape(reject['detail'])}") as error:
        read(config | {"max_rejected": 0})
    answers.hold(f"a corpus with a TIFF of {given}", error.value, "1.tif")


def test_images_that_are_interpreted_are_logged_and_have_their_upright_size(data, read, caplog):
    config = coco(data)
    sideways = Image.Exif()
    sideways[0x0112] = 6
    for split, number, size in (("train", 7, (20, 40)), ("train", 8, (20, 40)), ("val", 3, (40, 20))):
        Image.new("RGB", size).save(data / split / f"{number:012d}.jpg", exif=sideways)
    log_counts()
    with caplog.at_level(logging.INFO):
        corpus = read(config)
        log_counts()
    # 3 is upright of another size than its annotations state; they state the upright size of 7 and 8.
    sizes = {row["image_id"]: (row["width"], row["height"]) for row in corpus.rows("images")}
    assert sizes == {"7": (40, 20), "8": (40, 20), "3": (20, 40)}
    assert "images turned upright, as their EXIF orientation says: 3" in caplog.messages
    assert "may not fit" not in caplog.text  # 3 has no boxes
    boxes = [(row["x1"], row["y1"], row["x2"], row["y2"]) for row in corpus.rows("objects")]
    assert boxes == [(1.5, 2, 11.5, 6), (0, 0, 40, 20)]  # in the upright image, as annotated
    Image.new("RGB", (40, 20)).save(data / "train" / "000000000008.jpg", exif=sideways)
    read(config)
    assert "1 images are not of the size, upright, that their annotations state" in caplog.text


def test_too_many_rejects_are_an_error_and_leave_nothing(data, read, tmp_path, answers):
    config = karpathy(data, [{}] * 12)
    damage(data)
    with pytest.raises(CorpusError) as error:
        read(config)
    message = str(error.value)
    answers.hold("a corpus of which half the images are damaged", message, "toy.json")
    assert "corpora.toy: 6 of 12 images" in message
    assert str(data / "toy.json") in message
    assert "a share of 0.5 where max_rejected allows 0.01" in message
    assert [f"entry {i}, {data / 'images' / f'{i}.jpg'}" in message for i in range(1, 7)] == [True] * 5 + [False]
    assert "corpora.toy.max_rejected: 0.5 " in message
    assert nothing_left(tmp_path)
    assert read(config | {"max_rejected": 0.5}).counts["images"] == 6


def test_a_wrong_folder_is_told_as_such(data, read):
    config = karpathy(data, [{}] * 3, images="elsewhere", max_rejected=1)
    (data / "elsewhere").mkdir()
    with pytest.raises(CorpusError, match=r"check that corpora\.toy\.images is the right folder") as error:
        read(config)
    assert "set corpora.toy.max_rejected" not in str(error.value)


@pytest.mark.parametrize("limit", [-0.1, 1.5])
def test_share_of_rejects_is_between_0_and_1(data, read, limit):
    with pytest.raises(CorpusError, match=r"corpora\.toy\.max_rejected"):
        read(karpathy(data, [{}], max_rejected=limit))


def test_duplicates_are_rejected(data, read):
    entries = [{"cocoid": 1}, {"cocoid": 2}, {"cocoid": 1}, {"cocoid": 4, "filename": "1.jpg"}]
    corpus = read(karpathy(data, entries, max_rejected=0.5))
    assert corpus.column("images", "image_id") == ["1", "2"]
    assert [(row["position"], row["reason"], row["detail"]) for row in corpus.rows("rejects")] == [
        (2, "duplicate", "its image id is also the image id of entry 0"),
        (3, "duplicate", "its file is also the file of entry 1"),
    ]


def test_empty_captions_are_dropped_and_images_without_any_rejected(data, read, caplog):
    entries = [
        {"sentences": [{"raw": "one"}, {"raw": " \n"}, {"raw": "three"}, {"raw": ""}]},
        {"sentences": [{"raw": "\t"}, {"raw": ""}]},
        {"sentences": []},
    ]
    corpus = read(karpathy(data, entries, max_rejected=0.7))
    assert [(row["caption_index"], row["caption"]) for row in corpus.rows("captions")] == [(0, "one"), (1, "three")]
    assert [(row["image_id"], row["reason"], row["detail"]) for row in corpus.rows("rejects")] == [
        ("0", "no-caption", "left out for being empty: caption 1 of 4, caption 3 of 4"),
        ("1", "no-caption", "all of its 2 captions are empty"),
        ("2", "no-caption", "it has no caption"),
    ]
    assert "1 images lost empty captions" in caplog.text
    # The first image stays, so it does not count against max_rejected.
    karpathy(data, [entries[0]])
    assert read(KARPATHY | {"max_rejected": 0}).counts["rejects"] == 1


def test_captions_keep_their_characters(data, read):
    texts = ["👩‍👩‍👧 \U0001f6f9  twice", "كلب يركض — שלום", "<b>bold</b> & $x_1$ %s {0}"]
    config = karpathy(data, [{"sentences": [{"raw": text} for text in texts]}])
    assert read(config).column("captions", "caption") == texts


def test_clean_touches_breaks_only():
    assert clean(" a \r\n\t b\u2028c  d\te ") == "a b c  d e"
    assert clean("half \ud83d a pair, a whole \ud83d\udc69") == "half \ufffd a pair, a whole \U0001f469"
    assert clean("no-break\u00a0space stays") == "no-break\u00a0space stays"


# --- annotations that cannot be used ---


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"annotations": "tioy.json"}, r"corpora\.toy\.annotations: no such file .*data/tioy\.json"),
        ({"images": "nowhere"}, r"corpora\.toy\.images: no such folder .*data/nowhere"),
        ({"annotations": None}, r"corpora\.toy\.annotations: this corpus needs"),
    ],
)
def test_wrong_paths_are_named_by_key(data, read, tmp_path, change, message):
    config = karpathy(data, [{}])
    with pytest.raises(CorpusError, match=message):
        read(config | change)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"annotations": {"train": "captions_train.json", "val": "x.json"}},
            r"corpora\.toy\.annotations\.val: no such file",
        ),
        ({"instances": {"train": "x.json"}}, r"corpora\.toy\.instances\.train: no such file"),
        ({"instances": {"test": "instances_train.json"}}, r"corpora\.toy\.instances\.test: annotations have no split"),
        ({"images": {"train": "train"}}, r"corpora\.toy\.images: no folder for the split 'val'"),
    ],
)
def test_wrong_paths_of_splits_are_named_by_key(data, read, change, message):
    config = coco(data)
    with pytest.raises(CorpusError, match=message):
        read(config | change)


def test_images_must_be_given_or_declined(data, read):
    config = karpathy(data, [{}])
    del config["images"]
    with pytest.raises(CorpusError, match="images: null"):
        read(config)


def test_input_files_are_those_of_annotations(data):
    assert input_files(coco(data), data) == [
        data / name for name in ("captions_train.json", "captions_val.json", "instances_train.json")
    ]
    assert input_files({"reader": "toyworld", "images": {"train": 10}}, data) == []


def test_files_of_a_reader_are_keys_of_its_block():
    readers = facts("corpora.readers")
    assert [name for name, reader in readers.items() if reader.scenes] == ["hl"]
    assert [name for name, reader in readers.items() if reader.undescribed] == ["imagecode"]
    assert {name for name, reader in readers.items() if not reader.published} == {"folder", "huggingface", "webdataset"}
    for name, model in plugin_models("corpora.readers").items():
        assert {*readers[name].files, *readers[name].folders, *readers[name].patterns} <= model.model_fields.keys()


def test_invalid_json_is_named_by_line_and_column(data, read, tmp_path):
    config = karpathy(data, [{}])
    (data / "toy.json").write_text('{"images": [\n  {"filename": "0.jpg",}\n]}')
    with pytest.raises(GivenError, match=r"toy\.json, line 2, column 2\d: not valid JSON"):
        read(config)
    (data / "toy.json").write_bytes(b'{"images": "\xff"}')
    with pytest.raises(GivenError, match=r"toy\.json, line 1: not UTF-8 text from byte 12"):
        read(config)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], r"toy\.json has no field 'images'"),
        ({"images": {}}, r"toy\.json: 'images' cannot be '\{\}'"),
        ({"images": []}, r"there is no image in .*toy\.json"),
        (
            {"images": [{"split": "train"}]},
            r"toy\.json: images\[0\] has no field 'filename'; the reader expects \{\"im",
        ),
        (
            {"images": [{"filename": "0.jpg", "split": "train", "sentences": [{"raw": "a"}, {"tokens": []}]}]},
            r"images\[0\]\.sentences\[1\] has no field 'raw'",
        ),
        (
            {"images": [{"filename": "0.jpg", "split": "train", "sentences": [{"raw": 5}]}]},
            r"images\[0\]\.sentences\[0\]: 'raw' cannot be '5'",
        ),
    ],
)
def test_missing_fields_are_named(data, read, tmp_path, document, message):
    config = karpathy(data, [{}])
    make_json(data / "toy.json", document)
    with pytest.raises(CorpusError, match=message):
        read(config)
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("captions_val.json", {"images": [{"id": 3}]}, r"captions_val\.json: images\[0\] has no field 'file_name'"),
        ("captions_val.json", {"annotations": [{"image_id": 3}]}, r"annotations\[0\] has no field 'caption'"),
        (
            "captions_val.json",
            {"annotations": [{"image_id": 4, "caption": "a"}]},
            r"annotations\[0\] is about image '4', which is not among the images",
        ),
        (
            "instances_train.json",
            {"annotations": [{"image_id": 8, "category_id": 2, "bbox": [1, 2, 3, 4]}]},
            r"instances_train\.json: annotations\[0\] has box \[1, 2, 3, 4\] and category 2",
        ),
    ],
)
def test_missing_fields_of_coco_are_named(data, read, file, change, message):
    config = coco(data)
    make_json(data / file, json.loads((data / file).read_text()) | change)
    with pytest.raises(CorpusError, match=message):
        read(config)


def test_imagecode_names_unknown_ranks(data, read):
    config = imagecode(data)
    make_json(data / "valid.json", {"video_1": {"10": "the eleventh"}})
    with pytest.raises(CorpusError, match=r"set 'video_1' has no image '10'"):
        read(config)


OF_READERS = {
    "karpathy": {"annotations": "a.json"},
    "coco": {"annotations": {"test": "a.json"}},
    "nocaps": {"annotations": "a.json", "domain": "near-domain"},
    "concadia": {"annotations": "a.json", "text": "description"},
    "conceptual-captions": {"annotations": {"test": "a.tsv"}},
    "hl": {"annotations": {"test": "a.jsonl"}},
    "imagecode": {"annotations": {"test": "a.json"}, "images": "."},
    "vizwiz": {"annotations": {"test": "a.json"}},
    "textcaps": {"annotations": {"test": "a.json"}},
    "localized-narratives": {"annotations": {"test": "a.jsonl"}},
    "llava": {"annotations": {"test": "a.json"}},
    "docci": {"annotations": "a.jsonlines"},
    "polaris": {"annotations": "a.csv"},
    "flickr8k-token": {"annotations": "a.txt"},
    "cub": {"annotations": "a.txt", "splits": "splits.txt", "captions": "text_c10"},
    "xm3600": {"annotations": "a.jsonl", "language": "de"},
    "multi30k": {"annotations": {"test": ["a.txt"]}, "lists": {"test": "list.txt"}, "language": "de"},
    "coco-cn": {"annotations": "a.txt", "splits": {"test": "names.txt"}, "language": "zh"},
}
IMAGE = '{"filename": "1.jpg", "split": "test", "sentences": [{"raw": "a café"}]}'
HL = json.dumps(hl_record(9))


def given_to(reader: str, content: bytes, data: Path) -> dict:
    """The config of a corpus of texts that a reader reads from a file with this content."""
    annotations = OF_READERS[reader]["annotations"]
    (name,) = listed(annotations if isinstance(annotations, str) else annotations["test"])
    (data / name).write_bytes(content)
    return {"reader": reader, "images": None, **OF_READERS[reader]}


@pytest.mark.parametrize(
    ("given", "reader", "content", "names"),
    [
        ("a file that was cut off", "karpathy", f'{{"images": [{IMAGE[:50]}', "a.json, line 1, column"),
        ("an empty file", "karpathy", "", "a.json is empty"),
        ("a web page in place of the file", "karpathy", "<!DOCTYPE html>", "a.json, line 1, column 1"),
        ("a comma too many in line 3", "karpathy", '{"images": [\n\n {"filename": "a.jpg",}]}', "line 3, column"),
        ("a list", "karpathy", f"[{IMAGE}]", "no field 'images'"),
        ("an image without sentences", "karpathy", '{"images": [{"filename": "a", "split": "a"}]}', "images[0]"),
        ("an object in each line", "karpathy", f"{IMAGE}\n{IMAGE}\n", "a.json, line 2"),
        ("a file in cp1252", "karpathy", f'{{"images":\n [{IMAGE}]}}'.encode("cp1252"), "a.json, line 2"),
        ("UTF-16 without its mark", "karpathy", '{"images": []}'.encode("utf-16-le"), "line 1: holds zero"),
        ("UTF-16 that was cut off", "karpathy", f'{{"images": [{IMAGE}]}}'.encode("utf-16")[:-1], "no UTF-16 text"),
        ("captions without images", "coco", '{"annotations": []}', "'images'"),
        (
            "a caption of an image that is not listed",
            "coco",
            '{"images": [{"id": 7}], "annotations": [{"image_id": 8, "caption": "a"}]}',
            "annotations[0]",
        ),
        (
            "images without a domain",
            "nocaps",
            '{"images": [{"id": 7, "file_name": "7"}], "annotations": []}',
            "'domain'",
        ),
        (
            "an image without a description",
            "concadia",
            '{"images": [{"filename": "5.jpg", "split": "val", "caption": {"raw": "a"}}]}',
            "images[0] has no field 'description'",
        ),
        ("a caption without an address", "conceptual-captions", "a cat\thttp://a/1\na dog\n", "a.tsv, line 2"),
        ("commas between caption and address", "conceptual-captions", "a cat,http://a/1\n", "a.tsv, line 1"),
        ("an empty file of lines", "conceptual-captions", "", "a.tsv"),
        ("a line that is no JSON", "hl", f"{HL}\n{HL}\n{{no\n", "a.jsonl, line 3, column 2"),
        ("a blank line before others", "hl", f"{HL}\n\n{HL}\n", "a.jsonl, line 2"),
        ("a list over several lines", "hl", f"[\n{HL}\n]\n", "a.jsonl, line 1"),
        ("no scene captions", "hl", '{"file_name": "a.jpg", "captions": {"object": []}}\n', "line 1: captions"),
        ("confidences as text", "hl", HL.replace("[5.0, 3.0]", '"5.0"', 1) + "\n", "line 1: confidence"),
        ("sets in a list", "imagecode", '[{"set": {"0": "a"}}]', "a.json holds a list"),
        ("a rank that is a word", "imagecode", '{"set": {"first": "a"}}', "no image 'first'"),
    ],
)
def test_annotations_that_cannot_be_read(data, read, answers, tmp_path, given, reader, content, names):
    config = given_to(reader, content if isinstance(content, bytes) else content.encode(), data)
    with pytest.raises((CorpusError, GivenError)) as raised:
        read(config)
    answers.hold(f"{reader}: {given}", raised.value, names)
    assert nothing_left(tmp_path)


def test_boxes_that_are_no_numbers(data, read, answers):
    config, box = coco(data), {"image_id": 8, "category_id": 44, "bbox": ["1", "2", "10", "4"]}
    document = json.loads((data / "instances_train.json").read_text())
    make_json(data / "instances_train.json", document | {"annotations": [box]})
    with pytest.raises(CorpusError) as raised:
        read(config)
    answers.hold("coco: edges of a box as text", raised.value, "annotations[0]")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize(
    ("reader", "content"),
    [
        ("karpathy", f'{{"images":\r\n [{IMAGE}]}}'),
        ("conceptual-captions", "a café\thttp://a/1\r\n"),
        ("hl", HL.replace("a man", "a café").replace(', "a tie"', "") + "\r\n"),
    ],
)
def test_encodings_that_a_mark_tells(data, read, encoding, reader, content):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    corpus = read(given_to(reader, (mark + content).encode(encoding), data))
    assert corpus.column("captions", "caption") == ["a café"]


DOCUMENTED = {
    "karpathy": '{"images": [{"filename": "1000092795.jpg", "split": "test", "sentences": [{"raw": "a"}]}]}',
    "coco": '{"images": [{"id": 391895}], "annotations": [{"image_id": 391895, "caption": "a"}]}',
    "nocaps": '{"images": [{"id": 0, "domain": "near-domain"}], "annotations": [{"image_id": 0, "caption": "a"}]}',
    "concadia": '{"images": [{"filename": "5.jpg", "split": "test", "description": {"raw": "a"}}]}',
    "conceptual-captions": "a\thttp://a/1\n",
    "hl": '{"file_name": "COCO_train2014_000000391895.jpg", "captions": {"object": ["a"], "scene": []}}',
    "imagecode": '{"open-images-2057_1": {"3": "a"}}',
    "vizwiz": '{"images": [{"id": 23431}], "annotations": [{"image_id": 23431, "caption": "a", "is_rejected": false}]}',
    "textcaps": '{"data": [{"image_id": "011e7e629fb9ae7b", "caption_str": "a"}]}',
    "localized-narratives": '{"dataset_id": "mscoco_val2017", "image_id": "137576", "caption": "a"}',
    "llava": '[{"image": "coco/train2017/000000033471.jpg", "conversations": [{"from": "gpt", "value": "a"}]}]',
    "docci": '{"image_file": "train_00000.jpg", "split": "train", "description": "a"}',
    "flickr8k-token": "1000268201_693b08cb0e.jpg#0\ta\n",
    "polaris": "imgid,mt,refs,score\na1b2.jpg,a dog,\"['a']\",0.5\n",
    "cub": "1 001.Albatross/Albatross_0046.jpg\n",
    "xm3600": '{"image/key": "000411001ff7dd4f", "de": {"caption": ["a"]}}',
    "multi30k": "a\n",
    "coco-cn": "COCO_val2014_000000000042#0\ta\n",
}


# What these read is no text, or a folder: tests/judgements, test_webdataset.py and test_own_files.py make it.
OTHERS = {"folder", "huggingface", "pascal-50s", "webdataset"}


@pytest.mark.parametrize("reader", sorted({*names("corpora.readers")} - OTHERS))
def test_image_ids_are_those_of_the_page(data, reader):
    config = given_to(reader, DOCUMENTED[reader].encode(), data)
    for number in range(10):
        make_image(data / "open-images-2057_1" / f"img{number}.jpg")
    (data / "splits.txt").write_text("1 1\n")
    (data / "list.txt").write_text("1000092795.jpg\n")
    (data / "names.txt").write_text("COCO_val2014_000000000042\n")
    (data / "text_c10" / "001.Albatross").mkdir(parents=True)
    (data / "text_c10" / "001.Albatross" / "Albatross_0046.txt").write_text("a\n")
    read = defined("corpora.readers", reader, "read")
    ids = [entry.image_id for entry in read(config, data) if entry.captions]
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| `{reader}` | "))
    assert [f"`{image_id}`" in row.split(" | ")[2] for image_id in ids] == [True]


def test_the_page_says_of_each_reader_what_it_reads():
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    section = page.partition("## Formats of captions")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if " | `" in line]
    assert sorted(row[1].strip("`") for row in rows) == sorted(names("corpora.readers"))
    assert {len(row) for row in rows} == {4}


# --- checking images ---


@pytest.mark.parametrize("kind", ["jpg", "png", "gif", "bmp", "webp"])
def test_check_image_finds_a_cut_anywhere(tmp_path, kind):
    whole = make_image(tmp_path / f"whole.{kind}", 80, 70).read_bytes()
    assert check_image(ImageLocation(str(tmp_path / f"whole.{kind}"))) == (80, 70)
    cut = tmp_path / f"cut.{kind}"
    for share in (0.02, 0.3, 0.6, 0.9):
        cut.write_bytes(whole[: int(len(whole) * share)])
        fault = check_image(ImageLocation(str(cut)))
        assert isinstance(fault, Fault), share
        assert fault.reason == "broken"


def test_check_image_names_folders_and_garbage_in_png(tmp_path):
    assert check_image(ImageLocation(str(tmp_path))).reason == "missing"
    path = make_image(tmp_path / "a.png", 50, 50)
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2 :] = bytes(len(damaged) - len(damaged) // 2)
    path.write_bytes(damaged)
    assert check_image(ImageLocation(str(path))).reason == "broken"
    assert check_image(ImageLocation(str(tmp_path / "a.png" / "b.png"))).reason == "missing"


def test_an_image_of_too_many_pixels_is_named_with_the_limit(tmp_path):
    """A PNG of a few bytes that states 20,000 x 20,000 pixels."""
    path = tmp_path / "bomb.png"
    header = b"IHDR" + struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + struct.pack(">II", zlib.crc32(header), 0) + b"IDAT"
    )
    limit = f"{2 * Image.MAX_IMAGE_PIXELS:,}"
    assert check_image(ImageLocation(str(path))) == Fault(
        "too-large", f"more than {limit} pixels, the limit of Pillow; scale it down"
    )


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES, errno.EPERM])
def test_trouble_of_the_machine_is_not_the_image_s(tmp_path, monkeypatch, number):
    path = make_image(tmp_path / "a.png")

    def fail(name, *how):
        raise OSError(number, os.strerror(number), name)

    monkeypatch.setattr(locations, "open", fail, raising=False)
    with pytest.raises(OSError, match=re.escape(f"{os.strerror(number)}: '{path}'")):
        check_image(ImageLocation(str(path)))


@pytest.mark.parametrize("threads", [1, 3])
def test_images_are_checked_in_order_and_few_ahead(tmp_path, threads):
    paths = [str(make_image(tmp_path / f"{i}.png", i + 1, 1)) if i % 5 else None for i in range(100)]
    taken = 0

    def items():
        nonlocal taken
        for i, path in enumerate(paths):
            taken += 1
            yield i, path and ImageLocation(path)

    for done, (i, check) in enumerate(check_images(items(), threads)):
        assert i == done
        assert check == ((i + 1, 1) if i % 5 else None)
        assert taken - done <= image_checks.IN_FLIGHT * threads
    assert done == 99


def peak_memory(data: Path, read, rows: int) -> int:
    """Bytes of Python objects at the peak of reading so many rows of text."""
    with open(data / "train.tsv", "w", encoding="utf-8") as file:
        for row in range(rows):
            file.write(f"caption {row} {'word ' * 20}\thttp://example.org/{row}.jpg\n")
    tracemalloc.start()
    corpus = read({"reader": "conceptual-captions", "annotations": {"train": "train.tsv"}, "images": None}, threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert corpus.counts["images"] == rows
    captions = read_table(corpus.outputs["captions"], TABLES["captions"], ["image_id", "caption"])
    assert captions["image_id"].to_pylist() == [f"train/{row:08d}" for row in range(rows)]
    assert captions["caption"][rows - 1].as_py().startswith(f"caption {rows - 1} ")
    return peak


def test_memory_does_not_grow_with_the_corpus(data, read):
    peak_memory(data, read, 100)  # the first reading imports and caches
    assert peak_memory(data, read, 40_000) < 1.2 * peak_memory(data, read, 20_000)


def test_tables_do_not_depend_on_the_threads(data, read):
    config = karpathy(data, [{}] * 40, max_rejected=0.5)
    damage(data)
    made = []
    for threads in (1, 4):
        corpus = read(config, threads=threads)
        made.append({table: path.read_bytes() for table, path in corpus.outputs.items()})
    assert made[0] == made[1]


def test_script_writes_the_five_tables(data, tmp_path, caplog):
    import importlib.util

    path = Path(__file__).parents[2] / "workflow" / "scripts" / "read_corpus.py"
    spec = importlib.util.spec_from_file_location("read_corpus_script", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    outputs = {table: str(tmp_path / "out" / f"{table}.parquet") for table in TABLES}
    params = SimpleNamespace(config=karpathy(data, [{}] * 3), data=str(data))
    with caplog.at_level(logging.INFO):
        script.main(
            SimpleNamespace(output=outputs, params=params, threads=1, wildcards=SimpleNamespace(corpus="flickr"))
        )
    assert read_table(outputs["images"], TABLES["images"]).num_rows == 3
    assert "flickr: 3 images, 3 captions, 0 objects, 0 scene_captions, 0 rejects" in caplog.text


# --- real data ---

SPLITS = ("train", "val")
REAL = {
    "flickr8k": (
        {
            "reader": "karpathy",
            "annotations": "flickr8k/dataset_flickr8k.json",
            "images": "flickr8k/Images",
            "max_rejected": 0,
        },
        {"images": 991, "captions": 4955, "objects": 0, "scene_captions": 0, "rejects": 0},
        {"train": 753, "val": 113, "test": 125},
    ),
    "coco-mini": (
        {
            "reader": "coco",
            "annotations": {split: f"coco-mini/annotations/captions_{split}2017.json" for split in SPLITS},
            "instances": {split: f"coco-mini/annotations/instances_{split}2017.json" for split in SPLITS},
            "images": {split: f"coco-mini/{split}2017" for split in SPLITS},
        },
        {"images": 338, "captions": 1690, "objects": 2196, "scene_captions": 0, "rejects": 0},
        {"train": 130, "val": 208},
    ),
    "coco-caption": (
        {"reader": "coco", "annotations": {"val": "coco-caption/captions_val2014.json"}, "images": None},
        {"images": 1000, "captions": 5005, "objects": 0, "scene_captions": 0, "rejects": 0},
        {"val": 1000},
    ),
    "hl": (
        {"reader": "hl", "annotations": {"test": "hl/annotations/test.jsonl"}, "images": None},
        {"images": 1499, "captions": 7496, "objects": 0, "scene_captions": 4497, "rejects": 0},
        {"test": 1499},
    ),
    "hl-actions": (
        {"reader": "hl", "annotations": {"test": "hl/annotations/test.jsonl"}, "images": None, "text": "action"},
        {"images": 1499, "captions": 4497, "objects": 0, "scene_captions": 4497, "rejects": 0},
        {"test": 1499},
    ),
    "imagecode": (
        {
            "reader": "imagecode",
            "annotations": {"val": "imagecode/data/valid_data.json"},
            "images": "imagecode/image-sets",
        },
        {"images": 620, "captions": 142, "objects": 0, "scene_captions": 0, "rejects": 0},
        {"val": 620},
    ),
    "concadia": (
        {
            "reader": "concadia",
            "text": "description",
            "annotations": "concadia/wiki_split.json",
            "images": "concadia/images",
        },
        {"images": 300, "captions": 300, "objects": 0, "scene_captions": 0, "rejects": 0},
        {"val": 300},
    ),
}


@pytest.mark.parametrize("corpus", REAL)
def test_real_data(shared_data, tmp_path, corpus):
    config, counts, splits = REAL[corpus]
    reading = Reading(config, shared_data, tmp_path)
    assert reading.counts == counts
    images = reading.rows("images")
    assert Counter(image["split"] for image in images) == splits
    assert len({image["image_id"] for image in images}) == len(images)
    if config["images"]:
        for image in images[:20]:
            with Image.open(image["path"]) as opened:
                assert opened.size == (image["width"], image["height"])
    sizes = {image["image_id"]: (image["width"], image["height"]) for image in images}
    for thing in reading.rows("objects"):
        width, height = sizes[thing["image_id"]]
        # Boxes are rounded to hundredths of a pixel in these files.
        assert -0.02 <= thing["x1"] <= thing["x2"] <= width + 0.02
        assert -0.02 <= thing["y1"] <= thing["y2"] <= height + 0.02


@pytest.mark.parametrize(("text", "distinct", "words"), [("action", 3773, 5.6), ("rationale", 4043, 6.4)])
def test_real_axes(shared_data, tmp_path, text, distinct, words):
    config = {"reader": "hl", "annotations": {"test": "hl/annotations/test.jsonl"}, "images": None, "text": text}
    captions = Reading(config, shared_data, tmp_path).column("captions", "caption")
    assert (len(captions), len({*captions})) == (3 * 1499, distinct)
    assert round(sum(len(caption.split()) for caption in captions) / len(captions), 1) == words
