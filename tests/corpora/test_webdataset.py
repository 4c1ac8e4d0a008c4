import io
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from captionlab.corpora.inputs import CorpusError, input_files
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.encoders.images import colours, decode
from captionlab.evaluation.exchange import image_files
from captionlab.images.locations import LOCATION
from captionlab.storage.schemas import CAPTIONS, IMAGES, REJECTS
from captionlab.storage.tables import read_table


def photograph(seed=0, width=20, height=16, kind="JPEG", **options) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


def make_tar(path: Path, members: list[tuple[str, bytes]], **options) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", **options) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def sample(key: str, seed=0, caption="a dog", **record) -> list[tuple[str, bytes]]:
    members = [(f"{key}.jpg", photograph(seed)), (f"{key}.txt", caption.encode())]
    return [*members, (f"{key}.json", json.dumps({"caption": caption, **record}).encode())]


class Reading:
    """The tables of a corpus that is read from tars below `folder`."""

    def __init__(self, folder: Path, tars: dict, **config):
        self.outputs = {table: folder / "tables" / f"{table}.parquet" for table in TABLES}
        config = {"reader": "webdataset", "tars": tars, "max_rejected": 0.99, **config}
        self.counts = read_corpus(config, folder, self.outputs, 2, "web")

    def rows(self, table: str) -> list[dict]:
        return read_table(self.outputs[table], TABLES[table]).to_pylist()


def test_images_stay_in_their_tars_and_are_found_there(tmp_path):
    make_tar(tmp_path / "train" / "00001.tar", [*sample("000010000", 3, "third"), *sample("000010001", 4, "fourth")])
    make_tar(tmp_path / "train" / "00000.tar", [*sample("000000000", 1, "first"), *sample("000000001", 2, "second")])
    make_tar(tmp_path / "others-val.tar", sample("a/b c'\" é صورة", 5, "fifth"))
    # What img2dataset writes beside its tars.
    (tmp_path / "train" / "00000.parquet").write_bytes(b"PAR1")
    (tmp_path / "train" / "00000_stats.json").write_text("{}")
    read = Reading(tmp_path, {"train": "train", "val": "others-*"})
    images = read.rows("images")
    assert [(row["image_id"], row["split"]) for row in images] == [
        ("000000000", "train"), ("000000001", "train"), ("000010000", "train"), ("000010001", "train"),
        ("a/b c'\" é صورة", "val"),
    ]  # fmt: skip
    assert [row["caption"] for row in read.rows("captions")] == ["first", "second", "third", "fourth", "fifth"]
    assert {row["path"] for row in images} == {
        str(tmp_path / name) for name in ("train/00000.tar", "train/00001.tar", "others-val.tar")
    }
    for seed, row in enumerate(images, 1):
        with open(row["path"], "rb") as file:
            file.seek(row["offset"])
            assert file.read(row["length"]) == photograph(seed)
    table = read_table(read.outputs["images"], IMAGES, ["image_id", *LOCATION])
    for seed, pixels in enumerate(decode([table], colours, threads=2), 1):
        shown = np.asarray(Image.open(io.BytesIO(photograph(seed)))).transpose(2, 0, 1)
        assert np.array_equal(pixels.numpy(), shown)
    assert read.counts["rejects"] == 0


def test_image_ids_are_those_of_the_page(tmp_path):
    make_tar(tmp_path / "a.tar", sample("000000012"))
    (image,) = Reading(tmp_path, {"test": "a.tar"}).rows("images")
    page = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| `webdataset` | "))
    assert f"`{image['image_id']}`" in row.split(" | ")[2]


def test_captions_are_a_field_of_the_json_or_none(tmp_path):
    make_tar(tmp_path / "a.tar", [*sample("x", texts=["one", "two"]), *sample("y", texts="alone")])
    found = Reading(tmp_path, {"test": "a.tar"}, captions="texts").rows("captions")
    assert [(row["image_id"], row["caption_index"], row["caption"]) for row in found] == [
        ("x", 0, "one"), ("x", 1, "two"), ("y", 0, "alone"),
    ]  # fmt: skip
    read = Reading(tmp_path, {"test": "a.tar"}, captions=None)
    assert read.counts == {"images": 2, "captions": 0, "objects": 0, "scene_captions": 0, "rejects": 0}


def test_splits_that_number_their_images_alike(tmp_path):
    for split in ("train", "val"):
        make_tar(tmp_path / f"{split}.tar", sample("0"))
    tars = {"train": "train.tar", "val": "val.tar"}
    assert [row["image_id"] for row in Reading(tmp_path, tars, split_in_id=True).rows("images")] == ["train/0", "val/0"]
    (reject,) = Reading(tmp_path, tars).rows("rejects")
    assert (reject["reason"], reject["path"]) == ("duplicate", str(tmp_path / "val.tar"))
    assert reject["detail"] == "0.jpg: its image id is also the image id of entry 0, which is of the split 'train'"


def lossless_16() -> bytes:
    stream = io.BytesIO()
    Image.fromarray(np.full((4, 6), 40_000, np.uint16)).save(stream, "PNG")
    return stream.getvalue()


def test_images_of_all_kinds(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    stream, cmyk = io.BytesIO(), io.BytesIO()
    frames = [Image.new("RGB", (9, 8), colour) for colour in ("red", "blue")]
    frames[0].save(stream, "GIF", save_all=True, append_images=frames[1:])
    Image.new("CMYK", (12, 11)).save(cmyk, "JPEG")
    content = {
        "cmyk.jpg": cmyk.getvalue(),
        "deep.png": lossless_16(),
        "turned.jpg": photograph(1, 20, 16, exif=exif),
        "moving.gif": stream.getvalue(),
        "one.png": photograph(1, 1, 1, "PNG"),
        "UPPER.JPG": photograph(2),
    }
    make_tar(tmp_path / "a.tar", [*content.items()])
    read = Reading(tmp_path, {"test": "a.tar"}, captions=None)
    assert {row["image_id"]: (row["width"], row["height"]) for row in read.rows("images")} == {
        "cmyk": (12, 11), "deep": (6, 4), "turned": (16, 20), "moving": (9, 8), "one": (1, 1), "UPPER": (20, 16),
    }  # fmt: skip


def test_broken_members_are_rejects_with_their_reasons(tmp_path, answers):
    good = photograph()
    make_tar(
        tmp_path / "a.tar",
        [
            *sample("good"),
            ("page.jpg", b"<!DOCTYPE html><html>gone</html>"), ("page.txt", b"a page"),
            ("cut.jpg", good[: len(good) // 2]), ("cut.txt", b"half"),
            ("empty.jpg", b""), ("empty.txt", b"nothing"),
            ("mute.jpg", good),
            ("blank.jpg", good), ("blank.txt", b"  "),
            ("latin.jpg", good), ("latin.txt", "é".encode("latin-1")),
            ("alone.txt", b"no image"),
            ("dotted.name.jpg", good),
            ("twice.jpg", good), ("twice.jpg", good), ("twice.txt", b"two"),
            *sample("good", 2),
            ("pdf.jpg", b"%PDF-1.7"), ("pdf.txt", b"paper"),
            (".hidden.jpg", good),
        ],
    )  # fmt: skip
    read = Reading(tmp_path, {"test": "a.tar"})
    found = {(row["position"], row["image_id"]): (row["reason"], row["detail"]) for row in read.rows("rejects")}
    assert {row["path"] for row in read.rows("rejects")} == {str(tmp_path / "a.tar")}
    reasons = {
        (1, "page"): "broken", (2, "cut"): "broken", (3, "empty"): "empty", (4, "mute"): "no-caption",
        (5, "blank"): "no-caption", (6, "latin"): "broken", (7, "alone"): "missing", (8, "dotted"): "missing",
        (9, "twice"): "duplicate", (10, "good"): "duplicate", (11, "pdf"): "broken",
    }  # fmt: skip
    assert {key: reason for key, (reason, _) in found.items()} == reasons
    for (_, image), (_, detail) in found.items():
        answers.hold(f"webdataset: the key {image!r} of a tar with broken members", detail, f"{image}.")
    assert [row["image_id"] for row in read.rows("images")] == ["good"]


@pytest.mark.parametrize(
    ("given", "record", "reason"),
    [
        ("no field", b'{"text": "x"}', "no-caption"),
        ("a number", b'{"caption": 7}', "no-caption"),
        ("texts and a number", b'{"caption": ["a", 7]}', "no-caption"),
        ("a list of no texts", b'{"caption": []}', "no-caption"),
        ("no JSON", b'{"caption": "x', "broken"),
        ("a list", b"[1]", "no-caption"),
    ],
)
def test_json_without_captions(tmp_path, answers, given, record, reason):
    make_tar(tmp_path / "a.tar", [("k.jpg", photograph()), ("k.json", record), *sample("good")])
    (reject,) = Reading(tmp_path, {"test": "a.tar"}, captions="caption").rows("rejects")
    assert reject["reason"] == reason
    answers.hold(f"webdataset: {given} where the JSON should have captions", reject["detail"], "k.jpg")


def test_links_are_no_images(tmp_path):
    with tarfile.open(make_tar(tmp_path / "a.tar", sample("good")), "a") as tar:
        link = tarfile.TarInfo("link.jpg")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    (reject,) = Reading(tmp_path, {"test": "a.tar"}, captions=None).rows("rejects")
    assert (reject["reason"], reject["detail"]) == ("unsupported", "link.jpg: a link in a tar; write the image itself")


def test_a_key_with_two_images(tmp_path):
    members = [("k.jpg", photograph()), ("k.png", photograph(1, kind="PNG")), ("k.txt", b"one"), *sample("good")]
    make_tar(tmp_path / "a.tar", members)
    (reject,) = Reading(tmp_path, {"test": "a.tar"}).rows("rejects")
    detail = "k.jpg: 'k.png' is another image of this key; give each a key of its own"
    assert (reject["reason"], reject["detail"]) == ("duplicate", detail)


def test_sparse_members_are_no_images(tmp_path):
    """Their bytes do not stand side by side: GNU tar writes which of them it kept."""
    with tarfile.open(make_tar(tmp_path / "a.tar", sample("good")), "a", format=tarfile.PAX_FORMAT) as tar:
        content = photograph()
        holey = tarfile.TarInfo("holey.jpg")
        holey.size, holey.pax_headers = len(content), {"GNU.sparse.map": f"0,{len(content)}", "GNU.sparse.size": "9999"}
        tar.addfile(holey, io.BytesIO(content))
    (reject,) = Reading(tmp_path, {"test": "a.tar"}, captions=None).rows("rejects")
    assert reject["reason"] == "unsupported"
    assert "sparse" in reject["detail"]


@pytest.mark.parametrize("given", ["within an image", "between members", "at its last block", "a damaged header"])
def test_a_tar_that_is_cut_short(tmp_path, answers, given):
    path = make_tar(tmp_path / "a.tar", [member for n in range(3) for member in sample(str(n), n)])
    with tarfile.open(path) as tar:
        last = tar.getmember("2.jpg")
    content = bytearray(path.read_bytes())
    end = {"within an image": last.offset_data + 99, "between members": last.offset}.get(given, len(content))
    if given == "at its last block":
        end = len(content.rstrip(b"\0")) // 512 * 512 + 512
    if given == "a damaged header":
        content[last.offset : last.offset + 512] = b"?" * 512
    path.write_bytes(content[:end])
    with pytest.raises(CorpusError) as error:
        Reading(tmp_path, {"test": "a.tar"})
    answers.hold(f"webdataset: a tar cut short, {given}", error.value, "a.tar")
    assert not any((tmp_path / "tables").glob("*.parquet"))


@pytest.mark.parametrize("given", ["compressed", "empty", "a web page", "not there", "a folder without tars"])
def test_what_is_no_tar(tmp_path, answers, given):
    path = tmp_path / "tars" / "a.tar"
    path.parent.mkdir()
    if given == "compressed":
        with tarfile.open(path, "w:gz") as tar:
            tar.addfile(tarfile.TarInfo("x.jpg"))
    elif given in ("empty", "a web page"):
        path.write_bytes({"empty": b"", "a web page": b"<html>" * 200}[given])
    named = "tars" if given == "a folder without tars" else "tars/a.tar"
    with pytest.raises(CorpusError) as error:
        Reading(tmp_path, {"test": named})
    answers.hold(f"webdataset: a tar that is {given}", error.value, named)


def test_tars_that_vanish_or_end_after_they_were_read(tmp_path):
    path = make_tar(tmp_path / "a.tar", sample("x"))
    table = read_table(Reading(tmp_path, {"test": "a.tar"}).outputs["images"], IMAGES, ["image_id", *LOCATION])
    os.truncate(path, 600)
    with pytest.raises(ValueError, match="ends before the image does"):
        next(decode([table], colours, threads=1))
    path.unlink()
    with pytest.raises(ValueError, match=r"image 'x' \(.*a\.tar, byte 512\) cannot be decoded"):
        next(decode([table], colours, threads=1))


def test_names_with_stars_and_brackets_are_names_first(tmp_path):
    for name in ("a[1].tar", "a1.tar", "b.tar"):
        make_tar(tmp_path / name, sample(name[:-4].replace("[", "").replace("]", "")))
    config = {"reader": "webdataset", "tars": {"test": "a[1].tar", "val": "?.tar"}}
    assert [path.name for path in input_files(config, tmp_path)] == ["a[1].tar", "b.tar"]
    # A bracket is itself beside a star too.
    assert [path.name for path in input_files({**config, "tars": {"test": "a[1]*"}}, tmp_path)] == ["a[1].tar"]


def test_the_same_images_as_files_and_in_a_tar(tmp_path):
    """Flickr8k's form and WebDataset's: equal captions, and equal pixels."""
    sentences = [{"raw": "a dog"}, {"raw": "the dog"}]
    names = [f"{number}.jpg" for number in range(5)]
    (tmp_path / "images").mkdir()
    for number, name in enumerate(names):
        (tmp_path / "images" / name).write_bytes(photograph(number))
    entries = [{"filename": name, "split": "test", "sentences": sentences} for name in names]
    (tmp_path / "toy.json").write_text(json.dumps({"images": entries}))
    make_tar(tmp_path / "a.tar", [m for n in range(5) for m in sample(str(n), n, texts=[s["raw"] for s in sentences])])
    tarred = Reading(tmp_path, {"test": "a.tar"}, captions="texts")
    plain = {table: tmp_path / "plain" / f"{table}.parquet" for table in TABLES}
    config = {"reader": "karpathy", "annotations": "toy.json", "images": "images"}
    read_corpus(config, tmp_path, plain, 2, "plain")
    assert plain["captions"].read_bytes() == tarred.outputs["captions"].read_bytes()
    assert read_table(plain["captions"], CAPTIONS).num_rows == 10
    assert read_table(plain["rejects"], REJECTS).num_rows == 0
    pixels = [
        [image.numpy().tobytes() for image in decode([read_table(path, IMAGES)], colours, 1)]
        for path in (plain["images"], tarred.outputs["images"])
    ]
    assert pixels[0] == pixels[1]


def test_a_command_gets_files_of_its_own(tmp_path):
    """Metrics that are commands know nothing of tars."""
    make_tar(tmp_path / "a.tar", [*sample("x", 1), *sample("y", 2)])
    images = Reading(tmp_path, {"test": "a.tar"}).outputs["images"]
    (file,) = image_files(images, ["y"], tmp_path / "pictures").values()
    with Image.open(file) as written, Image.open(io.BytesIO(photograph(2))) as given:
        assert np.array_equal(np.asarray(written), np.asarray(given))
