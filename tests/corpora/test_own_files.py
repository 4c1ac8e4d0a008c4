"""Readers of data as people have it: Parquet of the hub, and a folder of photographs."""

import io
import json
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from captionlab.corpora import reading
from captionlab.corpora.inputs import CorpusError, input_files
from captionlab.corpora.readers.huggingface.reader import split_of
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.jobs.progress import log_counts
from captionlab.jobs.provenance import Job, input_digests, working_on
from captionlab.storage.files import names_digest
from captionlab.storage.tables import read_table
from captionlab.userfiles.reading import GivenError


def encoded(seed: int, side: int = 12) -> bytes:
    """A noisy JPEG."""
    stream = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()


def photograph(path: Path, seed: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(seed))
    return path


def parquet(path: Path, columns: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def hub_images(*names: str) -> list[dict]:
    """Images as the hub has them."""
    return [{"bytes": encoded(number), "path": name} for number, name in enumerate(names)]


@pytest.fixture
def read(tmp_path):
    """Read a corpus of the test's folder; gives the rows of each table."""

    def read(config: dict) -> dict[str, list[dict]]:
        outputs = {table: tmp_path / "tables" / f"{table}.parquet" for table in TABLES}
        read_corpus(config, tmp_path, outputs, 2, "mine")
        return {name: read_table(outputs[name], TABLES[name]).to_pylist() for name in TABLES}

    return read


def captions(tables: dict[str, list[dict]]) -> list[tuple[str, str]]:
    return [(row["image_id"], row["caption"]) for row in tables["captions"]]


HUB = {"reader": "huggingface", "folder": "set"}

# --- Parquet of the hub ---


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("data/train-00000-of-00005.parquet", "train"),
        ("data/validation-00000-of-00001-0123456789abcdef.parquet", "validation"),
        ("data/restval-00000-of-00001.parquet", "restval"),
        ("test.parquet", "test"),
        ("my_dev_file.parquet", "validation"),
        ("default/partial-train/0000.parquet", "train"),
        ("en/eval/0000.parquet", "test"),
        ("latest.parquet", "train"),  # no word of it is test
        ("anything.parquet", "train"),
    ],
)
def test_split_of_a_file_name(path, split):
    assert split_of(Path(path)) == split


def test_bytes_of_the_hub_by_the_splits_of_its_files(tmp_path, read):
    parquet(tmp_path / "set/data/train-00000-of-00002.parquet", {"image": hub_images("a.jpg"), "caption": ["one"]})
    parquet(tmp_path / "set/data/train-00001-of-00002.parquet", {"image": hub_images("b.jpg"), "caption": ["two"]})
    parquet(tmp_path / "set/data/test-00000-of-00001.parquet", {"image": hub_images("c.jpg"), "caption": ["three"]})
    parquet(tmp_path / "set/.cache/old.parquet", {"other": [1]})  # what is hidden is none of the data
    tables = read(HUB)
    assert [(row["image_id"], row["split"]) for row in tables["images"]] == [
        ("c", "test"),
        ("a", "train"),
        ("b", "train"),
    ]
    assert captions(tables) == [("c", "three"), ("a", "one"), ("b", "two")]
    first = tables["images"][0]
    assert (first["path"], first["data"]) == (None, encoded(0))


def test_a_repository_has_its_place(tmp_path, read):
    place = tmp_path / "hub/somebody/pictures/0a1b2c"
    parquet(place / "data/test-00000-of-00001.parquet", {"image": hub_images("a.jpg"), "caption": ["one"]})
    config = {"reader": "huggingface", "repository": "somebody/pictures", "revision": "0a1b2c"}
    assert captions(read(config)) == [("a", "one")]
    assert input_files(config, tmp_path) == [place / "data/test-00000-of-00001.parquet"]


@pytest.mark.parametrize(
    ("columns", "config"),
    [
        ({"caption": [["one", "two"], ["three"]]}, {}),
        ({"caption_0": ["one", "three"], "caption_1": ["two", None]}, {"captions": ["caption_0", "caption_1"]}),
        ({"sentences": [[{"raw": "one"}, {"raw": "two"}], [{"raw": "three"}]]}, {"captions": "sentences.raw"}),
    ],
)
def test_several_captions_of_a_row(tmp_path, read, columns, config):
    parquet(tmp_path / "set/test.parquet", {"image": hub_images("a.jpg", "b.jpg"), **columns})
    assert captions(read(HUB | config)) == [("a", "one"), ("a", "two"), ("b", "three")]


def test_rows_of_one_image_need_not_stand_together(tmp_path, read):
    rows = {"caption": ["one", "three", "two"], "number": [7, 8, 7], "picture": [encoded(0), encoded(1), encoded(0)]}
    parquet(tmp_path / "set/test-00000-of-00001.parquet", rows)
    tables = read(HUB | {"image": "picture", "image_id": "number"})
    assert captions(tables) == [("7", "one"), ("7", "two"), ("8", "three")]
    assert [row["image_id"] for row in tables["images"]] == ["7", "8"]


def test_the_same_number_in_two_splits_is_two_images_of_which_one_is_left_out(tmp_path, read):
    for split in ("train", "test"):
        rows = {"image": hub_images("a.jpg"), "caption": [split], "n": [1]}
        parquet(tmp_path / f"set/{split}.parquet", rows)
    tables = read(HUB | {"image_id": "n", "max_rejected": 0.5})
    assert captions(tables) == [("1", "test")]
    assert [row["reason"] for row in tables["rejects"]] == ["duplicate"]


def test_rows_of_one_image_are_one_entry_without_captions_too(tmp_path, read):
    parquet(tmp_path / "set/test.parquet", {"image": hub_images("a.jpg", "b.jpg", "c.jpg"), "n": [7, 8, 7]})
    tables = read(HUB | {"image_id": "n", "captions": None})
    assert [row["image_id"] for row in tables["images"]] == ["7", "8"]
    assert tables["captions"] == tables["rejects"] == []


@pytest.mark.parametrize("key", ["image_id", "split"])
@pytest.mark.parametrize("named", [["image_id", "split"], ["split"]])
def test_a_row_without_its_image_or_split(tmp_path, read, answers, key, named):
    columns = {"image_id": ["1", "2"], "split": ["train", "train"]}
    columns[key] = ["1", None]
    parquet(tmp_path / "set/test.parquet", {"image": hub_images("a.jpg", "b.jpg"), "caption": ["a", "b"], **columns})
    config = HUB | {name: name for name in {*named, key}}
    with pytest.raises(CorpusError) as raised:
        read(config)
    answers.hold(f"nothing in the column of `{key}`", raised.value, "test.parquet, row 1 has nothing")


def test_paths_splits_in_a_column_and_no_captions(tmp_path, read):
    photograph(tmp_path / "photos/a b.jpg")
    parquet(tmp_path / "set/all.parquet", {"file": ["a b.jpg"], "split": ["val"]})
    tables = read(HUB | {"image": "file", "images": "photos", "split": "split", "captions": None})
    assert captions(tables) == []
    assert tables["rejects"] == []
    row = tables["images"][0]
    assert (row["image_id"], row["split"], row["path"]) == ("a b", "val", str(tmp_path / "photos/a b.jpg"))


def test_an_image_that_is_a_web_page_or_missing_is_a_reject(tmp_path, read):
    images = [*hub_images("a.jpg"), {"bytes": b"<html>", "path": "b.jpg"}, {"bytes": None, "path": "c.jpg"}]
    parquet(tmp_path / "set/test.parquet", {"image": images, "caption": ["one", "two", "three"]})
    tables = read(HUB | {"max_rejected": 0.9})
    assert [(row["image_id"], row["reason"]) for row in tables["rejects"]] == [("b", "broken"), ("c", "missing")]
    assert "row 1" in tables["rejects"][0]["detail"]


@pytest.mark.parametrize(
    ("given", "columns", "config", "names"),
    [
        ("no column of images", {"caption": ["a"]}, {}, "no column 'image'"),
        ("no column of captions", {"image": hub_images("a.jpg")}, {}, "no column 'caption'"),
        ("captions that are numbers", {"image": hub_images("a.jpg"), "caption": [5]}, {}, "of type int64"),
        ("images that are numbers", {"image": [5], "caption": ["a"]}, {}, "'image' is of type int64"),
        ("addresses", {"image": ["https://x.org/a.jpg"], "caption": ["a"]}, {}, "addresses are not fetched"),
        (
            "a field of captions that is not there",
            {"image": hub_images("a.jpg"), "caption": [[{"raw": "a"}]]},
            {"captions": "caption.text"},
            "no field 'text'",
        ),
    ],
)
def test_columns_that_do_not_fit(tmp_path, read, answers, given, columns, config, names):
    parquet(tmp_path / "set/test.parquet", columns)
    with pytest.raises(CorpusError) as raised:
        read(HUB | config)
    answers.hold(given, raised.value, names)
    assert not [path for path in (tmp_path / "tables").rglob("*") if path.is_file()]


def test_a_parquet_file_cut_short(tmp_path, read, answers):
    path = parquet(tmp_path / "set/test.parquet", {"image": hub_images("a.jpg"), "caption": ["one"]})
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CorpusError) as raised:
        read(HUB)
    answers.hold("a Parquet file cut short", raised.value, "test.parquet")


@pytest.mark.parametrize(
    ("given", "config", "names"),
    [
        ("a folder without Parquet", {"folder": "empty"}, "no **/*.parquet"),
        ("no such folder", {"folder": "away"}, "no such folder"),
        ("a repository without a revision", {"repository": "a/b"}, "`revision`"),
        ("neither folder nor repository", {}, "`folder`"),
    ],
)
def test_no_parquet(tmp_path, read, answers, given, config, names):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CorpusError) as raised:
        read({"reader": "huggingface", **config})
    answers.hold(given, raised.value, names)


def test_memory_does_not_depend_on_the_number_of_rows(tmp_path, read):
    image = encoded(0, 200)

    def peak(rows: int) -> int:
        columns = {"image": [{"bytes": image, "path": f"{n}.jpg"} for n in range(rows)], "caption": ["a"] * rows}
        parquet(tmp_path / "set/test.parquet", columns)
        tracemalloc.start()
        outputs = {table: tmp_path / "tables" / f"{table}.parquet" for table in TABLES}
        read_corpus(HUB, tmp_path, outputs, 1, "mine")
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(10)
    few, many = peak(800), peak(3200)
    assert 800 * len(image) > 2 * 8 << 20  # more than waits to be written
    assert many < few * 1.2


# --- a folder of photographs ---

FOLDER = {"reader": "folder", "images": "photos"}


def test_photographs_without_captions_in_folders_of_folders(tmp_path, read):
    for name in ("b.JPG", "a.jpg", "holiday/sea.webp", ".hidden/no.jpg"):
        photograph(tmp_path / "photos" / name)
    (tmp_path / "photos" / "notes.txt").write_text("no image")
    tables = read(FOLDER)
    assert [row["image_id"] for row in tables["images"]] == ["a", "b", "holiday/sea"]
    assert {row["split"] for row in tables["images"]} == {"test"}
    assert tables["captions"] == tables["rejects"] == []
    assert input_files(FOLDER, tmp_path) == [tmp_path / "photos", tmp_path / "photos/holiday"]


def test_of_folders_of_photographs_the_names_are_noted(tmp_path):
    photo, hidden = photograph(tmp_path / "a.jpg"), tmp_path / ".hidden"
    first = names_digest(tmp_path)
    hidden.touch()
    photo.write_bytes(b"another")
    job = Job(
        "read_corpus", str(tmp_path / "results/logs/read_corpus.log"), inputs=[str(tmp_path)], listed=[str(tmp_path)]
    )
    with working_on(job):
        assert input_digests() == {str(tmp_path): first}
    shutil.rmtree(tmp_path / "results")
    photograph(tmp_path / "b.jpg")
    assert names_digest(tmp_path) != first


def test_folders_are_splits(tmp_path, read, answers):
    photograph(tmp_path / "photos/train/1.jpg")
    photograph(tmp_path / "photos/test/deep/1.jpg", 1)
    tables = read(FOLDER | {"splits": "folders"})
    assert [(row["image_id"], row["split"]) for row in tables["images"]] == [
        ("test/deep/1", "test"),
        ("train/1", "train"),
    ]
    (tmp_path / "a.csv").write_text("file,caption,split\ntrain/1.jpg,one,test\n")
    with pytest.raises(CorpusError) as raised:
        read(FOLDER | {"splits": "folders", "captions": "a.csv"})
    answers.hold("a column of splits beside folders that are splits", raised.value, "line 2: the split is 'test'")
    photograph(tmp_path / "photos/2.jpg")
    with pytest.raises(CorpusError) as raised:
        read(FOLDER | {"splits": "folders"})
    answers.hold("an image beside the folders that are splits", raised.value, "2.jpg")


def test_shares_of_splits_go_by_names_and_stay_when_images_are_added(tmp_path, read):
    def splits(number: int) -> dict[str, str]:
        for n in range(number):
            photograph(tmp_path / f"photos/{n}.jpg", n)
        shares = FOLDER | {"splits": {"train": 0.8, "test": 0.2}}
        return {row["image_id"]: row["split"] for row in read(shares)["images"]}

    few, many = splits(100), splits(200)
    assert few.items() <= many.items()
    assert 0.7 < sum(split == "train" for split in many.values()) / 200 < 0.9


CAPTIONED = {
    "a.csv": "file,caption,split\na.jpg,one,train\n'b c'.jpg,three,val\n./a.jpg,\"two, too\",train\n",
    "a.tsv": "file\tcaption\tsplit\na.jpg\tone\ttrain\n'b c'.jpg\tthree\tval\na.jpg\ttwo, too\ttrain\n",
    "a.jsonl": "\n".join(
        json.dumps(row)
        for row in (
            {"file": "a.jpg", "caption": ["one", "two, too"], "split": "train"},
            {"file": "'b c'.jpg", "caption": "three", "split": "val"},
        )
    ),
}


@pytest.mark.parametrize("name", CAPTIONED)
def test_files_of_captions(tmp_path, read, name):
    for number, photo in enumerate(("a.jpg", "'b c'.jpg", "unnamed.jpg")):
        photograph(tmp_path / "photos" / photo, number)
    (tmp_path / name).write_text(CAPTIONED[name])
    tables = read(FOLDER | {"captions": name})
    assert captions(tables) == [("a", "one"), ("a", "two, too"), ("'b c'", "three")]
    assert [(row["image_id"], row["split"]) for row in tables["images"]] == [("a", "train"), ("'b c'", "val")]


def test_lists_written_as_text_are_lists_of_captions(tmp_path, read, caplog):
    """In a table, a list of captions often becomes the text that Python shows for it."""
    log_counts()
    caplog.set_level("INFO")
    for name in ("a", "b"):
        photograph(tmp_path / "photos" / f"{name}.jpg", ord(name))
    texts = ["['A dog runs .', \"It's a dog .\"]", '["A cat .", "The cat ."]']
    lines = [f'{name}.jpg,"{text.replace(chr(34), 2 * chr(34))}"' for name, text in zip("ab", texts, strict=True)]
    (tmp_path / "caps.csv").write_text("\n".join(["file,caption", *lines]))
    parquet(tmp_path / "hub" / "test.parquet", {"image": hub_images("a.jpg", "b.jpg"), "caption": texts})
    for config in (
        {"reader": "folder", "images": "photos", "captions": "caps.csv"},
        {"reader": "huggingface", "folder": "hub"},
    ):
        captions = [(row["image_id"], row["caption"]) for row in read(config)["captions"]]
        assert captions == [("a", "A dog runs ."), ("a", "It's a dog ."), ("b", "A cat ."), ("b", "The cat .")]
    log_counts()
    assert caplog.messages[-1] == "captions that are lists written as text, read as lists of captions: 4"


def test_photographs_that_no_row_names_are_counted(tmp_path, read, caplog):
    for name in ("a.jpg", "b.jpg", "deep/c.jpg"):
        photograph(tmp_path / "photos" / name)
    (tmp_path / "a.csv").write_text("file,caption\na.jpg,one\n")
    with caplog.at_level("INFO"):
        read(FOLDER | {"captions": "a.csv"})
    assert "2 photographs" in caplog.text


def test_names_with_spaces_quotes_and_arabic_letters(tmp_path, read):
    names = ["a photo.jpg", 'with "quotes".jpg', "it's.jpg", "صورة.jpg"]
    for number, name in enumerate(names):
        photograph(tmp_path / "photos" / name, number)
    quoted = "\n".join('"{}","caption {}"'.format(name.replace('"', '""'), number) for number, name in enumerate(names))
    (tmp_path / "a.csv").write_text(f"file,caption\n{quoted}\n", encoding="utf-8")
    wanted = [(name.removesuffix(".jpg"), f"caption {number}") for number, name in enumerate(names)]
    assert captions(read(FOLDER | {"captions": "a.csv"})) == wanted
    assert sorted(row["image_id"] for row in read(FOLDER)["images"]) == sorted(name for name, _ in wanted)


def test_images_of_every_kind(tmp_path, read):
    """CMYK, 16 bits, turned by EXIF, animated, one pixel: each is read as it looks; a web page is a reject."""
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.new("CMYK", (6, 4)).save(folder / "cmyk.jpg")
    Image.fromarray(np.full((4, 6), 40_000, dtype=np.uint16)).save(folder / "deep.png")
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (6, 4)).save(folder / "turned.jpg", exif=exif)
    frames = [Image.new("RGB", (6, 4), colour) for colour in ("red", "blue")]
    frames[0].save(folder / "moving.gif", save_all=True, append_images=frames[1:])
    Image.new("RGB", (1, 1)).save(folder / "one.png")
    (folder / "page.jpg").write_text("<!DOCTYPE html><title>404</title>")
    tables = read(FOLDER | {"max_rejected": 0.2})
    sizes = {row["image_id"]: (row["width"], row["height"]) for row in tables["images"]}
    assert sizes == {"cmyk": (6, 4), "deep": (6, 4), "turned": (4, 6), "moving": (6, 4), "one": (1, 1)}
    assert [(row["image_id"], row["reason"]) for row in tables["rejects"]] == [("page", "broken")]


@pytest.mark.parametrize(
    ("given", "name", "text", "names"),
    [
        ("a column that is missing", "a.csv", "image,caption\na.jpg,one\n", "no column 'file'"),
        ("a row with too many fields", "a.csv", "file,caption\na.jpg,one, two\n", "line 2 has 3 fields"),
        ("a caption that is a number", "a.jsonl", '{"file": "a.jpg", "caption": 5}', "'caption' cannot be"),
        ("a list with a number", "a.jsonl", '{"file": "a.jpg", "caption": ["a", 5]}', "texts only"),
        ("a file without a name", "a.jsonl", '{"caption": "a"}', "no field 'file'"),
        ("an empty row of a spreadsheet", "a.csv", "file,caption,split\na.jpg,one,\n,,\n", "line 3: 'file' is empty"),
        ("a split that is a number", "a.jsonl", '{"file": "a.jpg", "caption": "a", "split": 5}', "'split' cannot be"),
        ("half a character", "a.jsonl", r'{"file": "a\ud83d.jpg", "caption": "a"}', "'file' is 'a\\ud83d.jpg'"),
        ("two splits of an image", "a.csv", "file,caption,split\na.jpg,one,train\na.jpg,two,test\n", "line 3"),
        ("a row of one column", "a.tsv", "file\tcaption\na.jpg\tone\na.jpg two\n", "line 3 ends before its caption"),
        ("another ending", "a.xlsx", "PK", ".csv"),
        ("an empty file", "a.csv", "", "no column 'file'"),
    ],
)
def test_files_of_captions_that_cannot_be_read(tmp_path, read, answers, given, name, text, names):
    photograph(tmp_path / "photos/a.jpg")
    (tmp_path / name).write_text(text)
    with pytest.raises((CorpusError, GivenError)) as raised:
        read(FOLDER | {"captions": name})
    answers.hold(given, raised.value, names)


def test_an_empty_folder_and_shares_that_are_not_one(tmp_path, read, answers):
    (tmp_path / "photos").mkdir()
    with pytest.raises(CorpusError) as raised:
        read(FOLDER)
    answers.hold("an empty folder", raised.value, "there is no image in")
    with pytest.raises(CorpusError) as raised:
        read(FOLDER | {"splits": {"train": 0.8, "test": 0.8}})
    answers.hold("shares that add up to more", raised.value, "1.6")


def test_an_index_whose_files_are_missing_is_given_up(tmp_path, read, answers, monkeypatch):
    (tmp_path / "photos").mkdir()
    promised = 30_000
    with open(tmp_path / "a.csv", "w") as file:
        file.write("file,caption\n")
        file.writelines(f"{n}.jpg,one\n" for n in range(promised))
    looked, check = [], reading.check_images
    monkeypatch.setattr(reading, "check_images", lambda items, threads: check(_counting(items, looked), threads))
    with pytest.raises(CorpusError) as raised:
        read(FOLDER | {"captions": "a.csv"})
    answers.hold("30,000 files that an index promises", raised.value, "the first 10000 images")
    assert len(looked) < promised / 2


def test_an_index_that_begins_with_missing_files_is_read_to_its_end(tmp_path, read, monkeypatch):
    monkeypatch.setattr(reading, "HOPELESS", 10)
    photograph(tmp_path / "photos/last.jpg")
    (tmp_path / "a.csv").write_text("file,caption\n" + "".join(f"{n}.jpg,one\n" for n in range(15)) + "last.jpg,one\n")
    assert captions(read(FOLDER | {"captions": "a.csv", "max_rejected": 0.95})) == [("last", "one")]


def _counting(items, looked):
    for item in items:
        looked.append(item)
        yield item
