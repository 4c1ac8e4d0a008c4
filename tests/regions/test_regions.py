"""Region features: each published format is written here as its authors write it, and read into a table."""

import base64
import csv
import io
import json
import logging
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import get_args

import lmdb
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from captionlab.config.corpora import RegionFiles
from captionlab.regions.batches import RegionTable
from captionlab.regions.plain_values import decode_msgpack
from captionlab.regions.readers import READERS, read_regions
from captionlab.regions.tables import ImageRegions, RegionError, write_regions
from captionlab.storage.order import Order
from captionlab.storage.schemas import SCENE_CAPTIONS, regions_schema
from captionlab.storage.tables import TableError, read_table, write_table
from captionlab.userfiles.ids import coco_number

SIZE = 8
# Two images of COCO as the corpora know them, of one shape each.
IMAGES = {"58350": (640, 480), "124629": (500, 375)}
COUNTS = {"58350": 3, "124629": 5}


def encode(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array)).decode()


def detections(image_id: str) -> dict[str, np.ndarray]:
    """What a detector may find in an image."""
    generator = np.random.default_rng(int(image_id))
    count, (width, height) = COUNTS[image_id], IMAGES[image_id]
    edges = np.sort(generator.uniform(0, 1, (count, 2, 2)), axis=1).reshape(count, 4)
    return {
        "boxes": (edges * [width, height, width, height]).astype(np.float32),
        "features": generator.uniform(0, 5, (count, SIZE)).astype(np.float32),
        "confidence": np.sort(generator.uniform(0, 1, count))[::-1].astype(np.float32),
        "label_id": generator.integers(0, 1600, count),
        "attribute_id": generator.integers(0, 400, count),
        "attribute_confidence": generator.uniform(0, 1, count).astype(np.float32),
    }


def file_name(image_id: str) -> str:
    return f"COCO_val2014_{int(image_id):012d}"


def write_tsv(path: Path, rows: list[list]) -> Path:
    """A file as csv.DictWriter of the extractors writes it."""
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t").writerows(rows)
    return path


def lxmert_tsv(folder: Path) -> Path:
    rows = []
    for image_id, (width, height) in IMAGES.items():
        found = detections(image_id)
        label, attribute = (encode(found[name].astype(np.int64)) for name in ("label_id", "attribute_id"))
        confidence, attribute_confidence = (encode(found[name]) for name in ("confidence", "attribute_confidence"))
        rows.append([file_name(image_id), height, width, label, confidence, attribute, attribute_confidence])
        rows[-1] += [COUNTS[image_id], encode(found["boxes"]), encode(found["features"])]
    return write_tsv(folder / "val2014_obj36.tsv", rows)


def rosita_tsv(folder: Path) -> Path:
    """With the index of lines that ROSITA's files have; numbers of labels are float32 there."""
    lines = []
    for image_id, (width, height) in IMAGES.items():
        found = detections(image_id)
        row = [file_name(image_id) + ".jpg", encode(found["features"]), height, width, COUNTS[image_id]]
        row.append(encode(found["boxes"]))
        for name in ("label_id", "confidence", "attribute_id", "attribute_confidence"):
            row.append(encode(found[name].astype(np.float32)))
        lines.append("\t".join(map(str, row)) + "\n")
    (folder / "imgfeat.tsv").write_text("".join(lines))
    (folder / "imgfeat.lineidx").write_text(f"0\n{len(lines[0])}\n")
    return folder / "imgfeat.tsv"


def bottom_up_tsv(folder: Path) -> Path:
    rows = []
    for image_id, (width, height) in IMAGES.items():
        found = detections(image_id)
        rows.append([image_id, width, height, COUNTS[image_id], encode(found["boxes"]), encode(found["features"])])
    return write_tsv(folder / "trainval_36.tsv", rows)


def rosita_npz(folder: Path) -> Path:
    for image_id, (width, height) in IMAGES.items():
        found = detections(image_id)
        np.savez(
            folder / f"{file_name(image_id)}.jpg.npz",
            x=found["features"],
            boxes=found["boxes"],
            image_h=height,
            image_w=width,
            objects_id=found["label_id"].astype(np.float32),
            objects_conf=found["confidence"],
            attrs_id=found["attribute_id"].astype(np.float32),
            attrs_conf=found["attribute_confidence"],
            text=np.array(["a caption", "another"]),
        )
    return folder


def vinvl_pair(folder: Path) -> Path:
    rows, predictions = [], []
    for image_id, (width, height) in IMAGES.items():
        found = detections(image_id)
        rows.append([image_id, COUNTS[image_id], encode(found["features"])])
        objects = [
            {"rect": box.tolist(), "class": f"thing {label}", "conf": float(confidence)}
            for box, label, confidence in zip(found["boxes"], found["label_id"], found["confidence"], strict=True)
        ]
        predictions.append([image_id, json.dumps({"image_h": height, "image_w": width, "objects": objects})])
    lines = ["\t".join(row) + "\n" for row in predictions]
    (folder / "predictions.tsv").write_text("".join(lines))
    return write_tsv(folder / "features.tsv", rows)


def msgpack(value) -> bytes:
    """MessagePack as msgpack.dumps writes it, arrays as msgpack_numpy does."""
    if isinstance(value, np.ndarray):
        fields = {b"nd": True, b"type": value.dtype.str, b"kind": b"", b"shape": value.shape, b"data": value.tobytes()}
        return msgpack(fields)
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        return bytes([value]) if value < 128 else b"\xcd" + value.to_bytes(2, "big")
    if isinstance(value, str):
        return bytes([0xA0 + len(value)]) + value.encode()
    if isinstance(value, bytes):
        return (b"\xc4" + bytes([len(value)]) if len(value) < 256 else b"\xc5" + len(value).to_bytes(2, "big")) + value
    if isinstance(value, tuple):
        return bytes([0x90 + len(value)]) + b"".join(map(msgpack, value))
    return bytes([0x80 + len(value)]) + b"".join(msgpack(key) + msgpack(item) for key, item in value.items())


def database(folder: Path, values: dict[bytes, bytes]) -> Path:
    with lmdb.open(str(folder / "database"), map_size=1 << 24) as environment, environment.begin(write=True) as writer:
        for key, value in values.items():
            writer.put(key, value)
    return folder / "database"


def relative(image_id: str) -> dict[str, np.ndarray]:
    """What UNITER stores of an image."""
    found = detections(image_id)
    corners = found["boxes"] / np.array([*IMAGES[image_id], *IMAGES[image_id]], np.float32)
    return {
        "features": found["features"].astype(np.float16),
        "norm_bb": np.concatenate([corners, corners[:, 2:] - corners[:, :2]], axis=1).astype(np.float16),
        "conf": found["confidence"][:, None].astype(np.float16),
        "soft_labels": np.zeros((COUNTS[image_id], 3), np.float16),
    }


def uniter_lmdb(folder: Path) -> Path:
    return database(folder, {f"{file_name(i)}.npz".lower().encode(): msgpack(relative(i)) for i in IMAGES})


def uniter_compressed_lmdb(folder: Path) -> Path:
    values = {}
    for image_id in IMAGES:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **relative(image_id))
        values[f"{file_name(image_id)}.npz".lower().encode()] = buffer.getvalue()
    return database(folder, values)


def vilbert_rows(arrays_as) -> dict[bytes, dict]:
    return {
        image_id.encode(): {
            "image_id": int(image_id),
            "image_w": width,
            "image_h": height,
            "num_boxes": COUNTS[image_id],
            "boxes": arrays_as(detections(image_id)["boxes"]),
            "features": arrays_as(detections(image_id)["features"]),
        }
        for image_id, (width, height) in IMAGES.items()
    }


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("rows", [vilbert_rows(encode), vilbert_rows(np.asfortranarray), vilbert_rows(np.array)])
@pytest.mark.parametrize("mapping", [dict, OrderedDict])
def test_vilbert_lmdb(rows, protocol, mapping, tmp_path):
    """Rows with arrays in base64 (vilbert_beta) or as they are (12-in-1), under several versions of Python."""
    values = {key: pickle.dumps(mapping(row), protocol) for key, row in rows.items()}
    values[b"keys"] = pickle.dumps(list(rows), protocol)
    regions = read("vilbert-lmdb", database(tmp_path, values))
    assert set(regions) == set(IMAGES)
    for image_id, got in regions.items():
        found = detections(image_id)
        assert (got.width, got.height) == IMAGES[image_id]
        np.testing.assert_array_equal(got.boxes, found["boxes"])
        np.testing.assert_array_equal(got.features, found["features"])


@pytest.mark.parametrize("make", [uniter_lmdb, uniter_compressed_lmdb])
def test_uniter_lmdb(make, tmp_path):
    regions = read("uniter-lmdb", make(tmp_path))
    assert set(regions) == set(IMAGES)
    for image_id, got in regions.items():
        stored = relative(image_id)
        assert (got.width, got.height) == IMAGES[image_id]
        np.testing.assert_array_equal(got.features, stored["features"])
        np.testing.assert_array_equal(got.confidence, stored["conf"][:, 0])
        width, height = IMAGES[image_id]
        expected = stored["norm_bb"][:, :4].astype(np.float32) * [width, height, width, height]
        np.testing.assert_allclose(got.boxes, expected, rtol=1e-6)


class Payload:
    """Something that runs code when it is unpickled."""

    def __reduce__(self):
        return (print, ("executed",))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (pickle.dumps({"image_w": Payload()}), r"image 58350 cannot be read: .*it names builtins\.print"),
        (pickle.dumps(Path("x")), "not looked up because it could run code"),
        (pickle.dumps({"image_w": 1})[:-3], "no pickle of plain values"),
        (b"\x00", "no pickle of plain values"),
        # Bytes of a length that no file has, and that no memory has.
        (b"\x80\x04\x8e" + (2**63).to_bytes(8, "little") + b".", "no pickle of plain values: OverflowError"),
        (b"\x80\x04\x8e" + (2**62).to_bytes(8, "little") + b".", "no pickle of plain values: MemoryError"),
        (pickle.dumps({"image_w": 1}), "has no field 'image_h'; it has image_w"),
        (pickle.dumps(np.array([{}], object)), "no pickle of plain values"),
    ],
)
def test_databases_run_no_code(value, message, tmp_path, capsys):
    with pytest.raises(RegionError, match=message):
        read("vilbert-lmdb", database(tmp_path, {b"58350": value}))
    assert "executed" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (msgpack(relative("58350"))[:-4], "no MessagePack value"),
        (msgpack(relative("58350")) + b"\x00", "received extra data"),
        (b"\xc1", "no MessagePack value"),
        (msgpack({"features": 3}), "holds no arrays"),
        (
            msgpack({b"nd": True, b"type": "|O", b"kind": b"", b"shape": (1,), b"data": b"12345678"}),
            "no MessagePack value",
        ),
        (msgpack({"features": np.zeros((1, 2), np.float16)}), "has no array 'conf'; it has features"),
        (b"PK\x03\x04 and no more", "cannot be read"),
    ],
)
def test_broken_databases_of_uniter(value, message, tmp_path):
    with pytest.raises(RegionError, match=message):
        read("uniter-lmdb", database(tmp_path, {b"coco_val2014_000000058350.npz": value}))


def test_no_database(tmp_path):
    (tmp_path / "file").write_text("no database")
    with pytest.raises(RegionError, match="cannot be read as an LMDB database"):
        read("uniter-lmdb", tmp_path / "file")


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"\x07", 7),
        (b"\xff", -1),
        (b"\xd1\xff\x00", -256),
        (b"\xcf" + b"\x00" * 6 + b"\x01\x00", 256),
        (b"\xcb\x40\x09\x21\xfb\x54\x44\x2d\x18", np.pi),
        (b"\xca\x3f\x80\x00\x00", 1.0),
        (b"\xc0", None),
        (b"\xd9\x03abc", "abc"),
        (b"\xda\x00\x02\xc3\xa4", "ä"),
        (b"\xdc\x00\x02\x01\xc2", [1, False]),
        (b"\xde\x00\x01\xa1a\x93\x01\x02\xc4\x01z", {"a": [1, 2, b"z"]}),
    ],
)
def test_msgpack(raw, value):
    """Bytes from the tables of its specification."""
    assert decode_msgpack(raw, "a file") == value


FORMATS = {
    "lxmert-tsv": lxmert_tsv,
    "rosita-tsv": rosita_tsv,
    "bottom-up-tsv": bottom_up_tsv,
    "rosita-npz": rosita_npz,
    "vinvl-tsv": vinvl_pair,
}


def read(format: str, *paths: Path, images=IMAGES) -> dict[str, ImageRegions]:
    return {regions.image_id: regions for regions in read_regions(format, paths, images)}


@pytest.mark.parametrize("format", FORMATS)
def test_formats(format, tmp_path):
    regions = read(format, FORMATS[format](tmp_path))
    assert set(regions) == set(IMAGES)
    for image_id, got in regions.items():
        found = detections(image_id)
        assert (got.width, got.height) == IMAGES[image_id]
        np.testing.assert_allclose(got.boxes, found["boxes"], rtol=1e-6)
        np.testing.assert_array_equal(got.features, found["features"])
        if format in ("lxmert-tsv", "rosita-tsv", "rosita-npz"):
            for name in ("confidence", "label_id", "attribute_id", "attribute_confidence"):
                np.testing.assert_array_equal(getattr(got, name), found[name])
        if format == "vinvl-tsv":
            np.testing.assert_allclose(got.confidence, found["confidence"], rtol=1e-6)
            assert got.label == [f"thing {label}" for label in found["label_id"]]


def test_every_format_is_tested():
    """And the config has it, which refuses others."""
    assert set(READERS) == {*FORMATS, "uniter-npz", "uniter-lmdb", "vilbert-lmdb"}
    assert set(READERS) == set(get_args(RegionFiles.model_fields["format"].annotation))


def test_uniter_npz(tmp_path):
    """Half precision, relative boxes, and UNITER's choice: above 0.2, at least 10, at most 100."""
    kept = {"1": (3, 10), "2": (40, 40), "3": (120, 100)}
    generator = np.random.default_rng(0)
    arrays = {}
    for image_id, (above, _) in kept.items():
        confidence = np.concatenate([np.linspace(0.9, 0.21, above), np.linspace(0.19, 0.1, 20)])
        boxes = np.sort(generator.uniform(0, 1, (len(confidence), 2, 2)), axis=1).reshape(-1, 4)
        boxes = np.concatenate([boxes, boxes[:, 2:] - boxes[:, :2]], axis=1)
        arrays[image_id] = {
            "features": generator.uniform(0, 5, (len(confidence), SIZE)).astype(np.float16),
            "norm_bb": boxes.astype(np.float16),
            "conf": confidence.astype(np.float16)[:, None],
            "soft_labels": generator.uniform(0, 1, (len(confidence), 11)).astype(np.float16),
        }
        np.savez_compressed(tmp_path / f"coco_val2014_{int(image_id):012d}.npz", **arrays[image_id], allow_pickle=True)
    regions = read("uniter-npz", tmp_path, images={image_id: (400, 200) for image_id in kept})
    for image_id, (_, expected) in kept.items():
        got, stored = regions[image_id], arrays[image_id]
        assert len(got.features) == len(got.boxes) == len(got.confidence) == expected
        assert got.features.dtype == np.float16
        np.testing.assert_array_equal(got.features, stored["features"][:expected])
        corners = stored["norm_bb"][:expected, :4].astype(np.float32) * [400, 200, 400, 200]
        np.testing.assert_allclose(got.boxes, corners, rtol=1e-6)
        assert (got.width, got.height) == (400, 200)


def test_vinvl_with_features_in_its_objects(tmp_path):
    found = detections("58350")
    objects = [
        {"rect": box.tolist(), "bbox_id": i, "class": "cat", "conf": 0.5, "feature": encode(feature)}
        for i, (box, feature) in enumerate(zip(found["boxes"], found["features"], strict=True))
    ]
    (tmp_path / "predictions.tsv").write_text(f"58350\t{json.dumps({'objects': objects, 'relations': []})}\n")
    (got,) = read("vinvl-tsv", tmp_path / "predictions.tsv").values()
    np.testing.assert_array_equal(got.features, found["features"])
    np.testing.assert_allclose(got.boxes, found["boxes"], rtol=1e-6)
    assert (got.width, got.height) == IMAGES["58350"]  # the file does not say


def test_vinvl_for_captioning(tmp_path):
    """The box is in the features."""
    found, (width, height) = detections("58350"), IMAGES["58350"]
    relative = found["boxes"] / [width, height, width, height]
    sides = relative[:, 2:] - relative[:, :2]
    features = np.concatenate([found["features"], relative, sides], axis=1).astype(np.float32)
    document = {"num_boxes": len(features), "features": encode(features)}
    (tmp_path / "test.feature.tsv").write_text(f"58350\t{json.dumps(document)}\n")
    (got,) = read("vinvl-tsv", tmp_path / "test.feature.tsv").values()
    np.testing.assert_array_equal(got.features, features)
    np.testing.assert_allclose(got.boxes, found["boxes"], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("format", ["lxmert-tsv", "rosita-tsv", "bottom-up-tsv"])
def test_index_of_lines_is_used(format, tmp_path):
    """Lines that nobody asks for are not read: here they are no text at all."""
    path = FORMATS[format](tmp_path)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.with_suffix(".lineidx").write_text(f"0\n{len(first)}\n")
    name = first.split(b"\t")[0]
    path.write_bytes(name + b"\t" + b"\xff" * (len(first) - len(name) - 1) + second)
    (regions,) = read(format, path, images={"124629": (500, 375)}).values()
    np.testing.assert_array_equal(regions.features, detections("124629")["features"])


def test_image_found_twice_counts_once(tmp_path):
    path = bottom_up_tsv(tmp_path)
    path.write_bytes(path.read_bytes() * 2)
    assert [regions.image_id for regions in read_regions("bottom-up-tsv", [path, path], IMAGES)] == list(IMAGES)


def test_missing_images_are_logged(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        read("bottom-up-tsv", bottom_up_tsv(tmp_path), images={**IMAGES, "7": (1, 1)})
    assert "no regions of 1 of 3 images, as '7'" in caplog.text


@pytest.mark.parametrize("format", ["lxmert-tsv", "bottom-up-tsv"])
def test_wrong_format(format, tmp_path):
    with pytest.raises(RegionError, match=r"line 1.*column|line 1: \w+ is"):
        read(format, rosita_tsv(tmp_path))


def test_broken_lines(tmp_path):
    path = bottom_up_tsv(tmp_path)
    first, second = path.read_text().splitlines()
    path.write_text(f"{first}\n{second[:-3]}\n")
    with pytest.raises(RegionError, match="line 2: features is not 5 times"):
        read("bottom-up-tsv", path)
    path.write_text(f"{first.replace('640', 'wide')}\n")
    with pytest.raises(RegionError, match="line 1: width is 'wide'"):
        read("bottom-up-tsv", path)
    path.write_text("no tabs in here\n")
    with pytest.raises(RegionError, match="line 1 does not start"):
        read("bottom-up-tsv", path)


@pytest.mark.parametrize("text", ["[]", '[["objects", []]]', '[["num_boxes", 0], ["features", ""]]'])
def test_a_list_is_no_document(text, tmp_path):
    path = tmp_path / "test.feature.tsv"
    path.write_text(f"58350\t{text}\n")
    with pytest.raises(RegionError, match="line 1 has a list in its second column; a document with features is"):
        read("vinvl-tsv", path)


def test_an_unknown_format(tmp_path):
    with pytest.raises(RegionError, match=r"there is no format 'lxmert' of regions; there are lxmert-tsv, rosita-tsv"):
        read("lxmert", tmp_path)


def test_nothing_is_unpickled(tmp_path):
    np.savez(tmp_path / "58350.npz", x=np.array([{"a": 1}], dtype=object), boxes=1, image_h=1, image_w=1)
    with pytest.raises(RegionError, match=r"58350\.npz cannot be read.*allow_pickle"):
        read("rosita-npz", tmp_path)


def test_broken_npz(tmp_path):
    whole = (rosita_npz(tmp_path) / f"{file_name('58350')}.jpg.npz").read_bytes()
    (tmp_path / f"{file_name('58350')}.jpg.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(RegionError, match=r"58350.*cannot be read"):
        read("rosita-npz", tmp_path)


def test_other_arrays(tmp_path):
    with pytest.raises(RegionError, match="has no array 'conf'; it has x, boxes"):
        read("uniter-npz", rosita_npz(tmp_path))


def test_places(tmp_path):
    with pytest.raises(RegionError, match="no such file or folder"):
        read("lxmert-tsv", tmp_path / "none.tsv")
    with pytest.raises(RegionError, match="is no folder"):
        read("rosita-npz", bottom_up_tsv(tmp_path))
    with pytest.raises(RegionError, match="no regions of any of the 1 images"):
        read("bottom-up-tsv", bottom_up_tsv(tmp_path), images={"7": (1, 1)})


def bottom_up_row(image: str, features: np.ndarray, boxes: int = 2) -> str:
    return "\t".join([image, "640", "480", "2", encode(np.ones((boxes, 4), np.float32)), encode(features)]) + "\n"


EIGHT, SIX = (bottom_up_row(image, np.ones((2, size), np.float32)) for image, size in (("58350", 8), ("124629", 6)))
RECT = {"rect": [0, 0, 1, 1], "class": "cat", "conf": 0.5, "feature": encode(np.ones(8, np.float32))}


@pytest.mark.parametrize(
    ("given", "format", "content", "names"),
    [
        ("features of another width", "bottom-up-tsv", EIGHT + SIX, "features.tsv: line 2 has features of 6"),
        ("a line that was cut off", "bottom-up-tsv", (EIGHT + EIGHT)[:-30], "line 2"),
        ("a line of another format", "lxmert-tsv", EIGHT, "line 1 has 6 columns"),
        ("a width in words", "bottom-up-tsv", EIGHT.replace("640", "wide"), "line 1: width is 'wide'"),
        ("commas in place of tabs", "bottom-up-tsv", EIGHT.replace("\t", ","), "line 1"),
        ("a file in UTF-16", "bottom-up-tsv", EIGHT.encode("utf-16"), "line 1"),
        ("other images", "bottom-up-tsv", bottom_up_row("7", np.ones((2, 8), np.float32)), "like '58350'"),
        ("an empty file", "bottom-up-tsv", "", "features.tsv: no regions"),
        ("a file in place of a folder", "rosita-npz", "", "features.tsv is no folder"),
        ("no database", "uniter-lmdb", "no database", "features.tsv"),
    ],
)
def test_regions_that_cannot_be_read(given, format, content, names, answers, tmp_path):
    (tmp_path / "features.tsv").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(RegionError) as raised:
        read(format, tmp_path / "features.tsv")
    answers.hold(f"{format}: {given}", raised.value, names)


@pytest.mark.parametrize(
    ("given", "document", "names"),
    [
        ("a box of three edges", {"objects": [RECT | {"rect": [0, 0, 1]}]}, "line 1: rect"),
        ("a confidence in words", {"objects": [RECT | {"conf": "high"}]}, "line 1: conf"),
        ("a height in words", {"objects": [RECT], "image_h": "tall"}, "line 1: image_h is 'tall'"),
        ("an object without features", {"objects": [{"rect": [0, 0, 1, 1]}]}, "line 1 has no field 'feature'"),
        ("no number of boxes", {"features": ""}, "line 1 has no field 'num_boxes'"),
    ],
)
def test_documents_of_vinvl_that_cannot_be_read(given, document, names, answers, tmp_path):
    (tmp_path / "predictions.tsv").write_text(f"58350\t{json.dumps(document)}\n")
    with pytest.raises(RegionError) as raised:
        read("vinvl-tsv", tmp_path / "predictions.tsv")
    answers.hold(f"vinvl-tsv: {given}", raised.value, names)


def test_files_beside_that_cannot_be_read(answers, tmp_path):
    (tmp_path / "features.tsv").write_text(EIGHT)
    with pytest.raises(RegionError) as raised:
        read("vinvl-tsv", tmp_path / "features.tsv")
    answers.hold("vinvl-tsv: features.tsv alone", raised.value, "predictions.tsv")
    (tmp_path / "features.lineidx").write_text("0\nend\n")
    with pytest.raises(RegionError) as raised:
        read("bottom-up-tsv", tmp_path / "features.tsv")
    answers.hold("bottom-up-tsv: a word in the index of lines", raised.value, "features.lineidx")


def test_vinvl_pair_that_does_not_fit(tmp_path):
    path = vinvl_pair(tmp_path)
    predictions = (tmp_path / "predictions.tsv").read_text().splitlines(keepends=True)
    (tmp_path / "predictions.tsv").write_text("".join(predictions[::-1]))
    with pytest.raises(RegionError, match=r"line 1 is about '58350', and .*predictions\.tsv: line 1 about '124629'"):
        read("vinvl-tsv", path)
    (tmp_path / "predictions.tsv").unlink()
    with pytest.raises(RegionError, match=r"predictions\.tsv: no such file"):
        read("vinvl-tsv", path)


def test_table(tmp_path):
    path = tmp_path / "regions.parquet"
    assert write_regions(path, read_regions("lxmert-tsv", [lxmert_tsv(tmp_path)], IMAGES)) == 2
    table = read_table(path, regions_schema(SIZE))
    assert table["image_id"].to_pylist() == ["58350"] * 3 + ["124629"] * 5
    assert table["region_index"].to_pylist() == [0, 1, 2, 0, 1, 2, 3, 4]
    assert table["label"].null_count == 8
    rows = table.filter(pc.equal(table["image_id"], "124629")).to_pylist()
    found = detections("124629")
    for index, row in enumerate(rows):
        np.testing.assert_array_equal([row["x1"], row["y1"], row["x2"], row["y2"]], found["boxes"][index])
        np.testing.assert_array_equal(row["features"], found["features"][index])
        assert (row["width"], row["height"]) == (500, 375)
        assert row["label_id"] == found["label_id"][index]
        assert row["confidence"] == found["confidence"][index]


def regions(image_id="1", count=2, size=SIZE, precision="float32", **values) -> ImageRegions:
    arrays = {"boxes": np.ones((count, 4)), "features": np.full((count, size), int(image_id), precision)}
    return ImageRegions(image_id, **{"width": 4, "height": 3, **arrays, **values})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (regions("2", size=9), "image '2' has features of 9 numbers, the first image of 8"),
        (regions("2", boxes=np.ones((3, 4))), r"image '2' has 2 features and boxes of the shape \(3, 4\)"),
        (regions("2", features=np.full((2, SIZE), np.inf, np.float32)), "image '2' .*not a finite number"),
        (regions("2", boxes=np.full((2, 4), np.nan)), "image '2' .*not a finite number"),
        (regions("2", confidence=np.ones(3)), "image '2' has 2 regions and 3 values of confidence"),
        (regions("2", width=0), "image '2' is said to have 0 x 3 pixels"),
        (regions("2", count=0), "image '2' has no region"),
    ],
)
def test_wrong_regions(wrong, message, tmp_path):
    with pytest.raises(RegionError, match=message):
        write_regions(tmp_path / "regions.parquet", [regions(), wrong])
    assert not list(tmp_path.iterdir())


def test_many_images_and_half_precision(tmp_path, monkeypatch):
    monkeypatch.setattr("captionlab.regions.tables.GROUP_ROWS", 5)
    images = [regions(str(number), count=number % 3 + 1, precision="float16") for number in range(1, 8)]
    write_regions(tmp_path / "regions.parquet", images)
    table = RegionTable(tmp_path / "regions.parquet", memory=1)
    batch = table.batch(["6", "2", "6"])
    assert batch.features.dtype == torch.float32
    assert batch.counts == [1, 3, 1]
    assert batch.features[:, :, 0].tolist() == [[6, 0, 0], [2, 2, 2], [6, 0, 0]]
    assert batch.boxes[0].tolist() == [[1] * 4, [0] * 4, [0] * 4]
    assert batch.sizes.tolist() == [[4, 3]] * 3


def test_shards(tmp_path):
    for shard, ids in enumerate((["1", "2"], ["3"])):
        write_regions(tmp_path / f"{shard}.parquet", [regions(image_id) for image_id in ids])
    shards = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    assert RegionTable(shards).batch(["3", "1"]).features[:, 0, 0].tolist() == [3, 1]
    with pytest.raises(TableError, match=r"no regions of image '4' \(1 of 2 are missing\)"):
        RegionTable(shards).batch(["2", "4"])
    with pytest.raises(TableError, match="regions of image '1' are not together"):
        RegionTable([shards[0], shards[0]])


def test_an_epoch_of_a_large_table_reads_each_group_once(tmp_path, monkeypatch):
    """Groups of two images, of which two are mixed: random order, but near each other in the file."""
    monkeypatch.setattr("captionlab.regions.tables.GROUP_ROWS", 4)
    ids = [str(number) for number in range(20)]
    write_regions(tmp_path / "regions.parquet", [regions(image) for image in ids])
    group = 4 * (4 * SIZE + 4 * 4 + 4 * 2)
    table = RegionTable(tmp_path / "regions.parquet", memory=4 * group)
    wanted = [image for image in reversed(ids) if image not in ("4", "5", "11")]  # another order, and not all
    places = table.places(wanted)
    assert places.mixed == 2
    assert places.groups.tolist() == [{0: 0, 1: 1, 3: 2}.get(int(i) // 2, int(i) // 2 - 1) for i in wanted]
    with pytest.raises(TableError, match="no regions of image '99'"):
        table.places(["1", "99"])

    def read_in_epoch(order, epoch):
        """The groups that are read, one after the other, when an epoch begins with nothing in memory."""
        read: list[int] = []
        original = pq.ParquetFile.read_row_group

        def read_row_group(file, number, columns, **settings):
            if "features" in columns:
                read.append(number)
            return original(file, number, columns, **settings)

        with monkeypatch.context() as patch:
            patch.setattr(pq.ParquetFile, "read_row_group", read_row_group)
            fresh = RegionTable(tmp_path / "regions.parquet", memory=4 * group)
            rows = [int(order[step][0]) for step in range(17 * epoch, 17 * epoch + 17)]
            assert sorted(rows) == list(range(17))
            for row in rows:
                fresh.batch([wanted[row]])
        return rows, read

    order = Order(17, 1, 7, places)
    epochs = [read_in_epoch(order, epoch) for epoch in range(5)]
    for _, read in epochs:
        assert sorted(read) == [0, 1, 3, 4, 5, 6, 7, 8, 9]
    assert len({tuple(rows) for rows, _ in epochs}) == len({tuple(read) for _, read in epochs}) == 5
    assert Order(17, 1, 7, places)[40].tolist() == order[40].tolist()
    assert len(read_in_epoch(Order(17, 1, 7), 0)[1]) > 9


def test_a_table_that_fits_in_memory_is_ordered_as_if_it_had_no_groups(tmp_path, monkeypatch):
    monkeypatch.setattr("captionlab.regions.tables.GROUP_ROWS", 4)
    ids = [str(number) for number in range(12)]
    write_regions(tmp_path / "regions.parquet", [regions(image) for image in ids])
    order = Order(12, 5, 3, RegionTable(tmp_path / "regions.parquet").places(ids))
    assert [order[step].tolist() for step in range(6)] == [Order(12, 5, 3)[step].tolist() for step in range(6)]


def test_only_what_is_asked_for_is_read_and_little_is_kept(tmp_path, monkeypatch):
    """Groups of two images each; as many stay in memory as fit, the one used last in any case."""
    monkeypatch.setattr("captionlab.regions.tables.GROUP_ROWS", 4)
    write_regions(tmp_path / "regions.parquet", [regions(str(number)) for number in range(8)])
    read: list[int] = []
    original = pq.ParquetFile.read_row_group

    def read_row_group(file, number, columns, **settings):
        if "features" in columns:
            read.append(number)
        return original(file, number, columns, **settings)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", read_row_group)
    group = 4 * (4 * SIZE + 4 * 4 + 4 * 2)  # bytes of features, boxes and sizes of four regions
    table = RegionTable(tmp_path / "regions.parquet", memory=2 * group)
    assert not read
    table.batch(["7", "0", "6", "1"])
    assert read == [0, 3]
    table.batch(["0", "6"])
    assert read == [0, 3]
    table.batch(["2"])
    table.batch(["7"])
    assert read == [0, 3, 1]
    table.batch(["1"])
    assert read == [0, 3, 1, 0]


def test_wrong_files(tmp_path):
    write_regions(tmp_path / "a.parquet", [regions("1")])
    write_regions(tmp_path / "b.parquet", [regions("2", size=9)])
    with pytest.raises(TableError, match=r"b\.parquet has regions of 9 numbers, .*a\.parquet of 8"):
        RegionTable([tmp_path / "a.parquet", tmp_path / "b.parquet"])
    (tmp_path / "c.parquet").write_bytes(b"")
    with pytest.raises(TableError, match=r"c\.parquet is no readable Parquet file"):
        RegionTable(tmp_path / "c.parquet")
    write_table(tmp_path / "d.parquet", SCENE_CAPTIONS, {name: [] for name in SCENE_CAPTIONS.columns})
    with pytest.raises(TableError, match=r"d\.parquet is no table of regions; it has the columns image_id"):
        RegionTable(tmp_path / "d.parquet")
    with pytest.raises(TableError, match=r"none\.parquet: no such file"):
        RegionTable(tmp_path / "none.parquet")


def test_real_features(shared_data, tmp_path):
    """Bottom-up features of eight images of COCO, in the format that they come in."""
    folder = shared_data / "butd-demo"
    images = {coco_number(path.name): Image.open(path).size for path in sorted((folder / "images").iterdir())}
    write_regions(tmp_path / "regions.parquet", read_regions("rosita-npz", [folder / "features"], images))
    table = read_table(tmp_path / "regions.parquet", regions_schema(2048))
    assert len(table) == 8 * 36
    batch = RegionTable(tmp_path / "regions.parquet").batch(list(images))
    assert batch.features.shape == (8, 36, 2048)
    assert batch.features.min() >= 0  # after a rectifier
    assert [tuple(size) for size in batch.sizes.int().tolist()] == list(images.values())
    assert (batch.boxes[..., 2:] > batch.boxes[..., :2]).all()
    assert (batch.boxes[..., 2:] <= batch.sizes[:, None]).all()
