"""Tags from their sources, and what VinVL reads of images by their identifiers."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch

from captionlab.regions.tables import ImageRegions, RegionError, write_regions
from captionlab.regions.tagged_images import TaggedImages
from captionlab.regions.tags import TAGS, labelled_rows, objects_of, read_tags, read_vinvl_tags, write_tags
from captionlab.storage.schemas import OBJECTS
from captionlab.storage.tables import TableError, read_table, write_table

END = 2
PIECES = {"boat": [10], "wine glass": [11, 12], "tablet computer": [13, 14, 15]}


def encode(labels):
    return [PIECES[label] for label in labels]


TOKENIZER = SimpleNamespace(encode=encode, end=END)


def vinvl_file(path: Path, entries: dict[str, list[tuple[str, list[float]]]]) -> Path:
    lines = (
        f"{name}\t{json.dumps([{'class': label, 'conf': 0.5, 'rect': box} for label, box in tags])}"
        for name, tags in entries.items()
    )
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


BOXES = {"boat": [1.0, 2.0, 3.0, 4.0], "wine glass": [0.0, 0.0, 5.0, 5.0], "tablet computer": [2.0, 2.0, 9.0, 9.0]}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Regions of three images with 2, 4 and 1 regions, and tags of two of them."""
    generator = np.random.default_rng(0)
    regions = [
        ImageRegions(
            image,
            width=20,
            height=10,
            boxes=np.array([[1, 1, 5 + place, 9] for place in range(count)], np.float32),
            features=generator.normal(size=(count, 3)).astype(np.float32),
        )
        for image, count in (("7", 2), ("8", 4), ("9", 1))
    ]
    write_regions(tmp_path / "regions.parquet", regions)
    tags = {"7": ["boat", "wine glass", "boat"], "8": ["tablet computer"]}
    source = vinvl_file(
        tmp_path / "train.label.tsv", {name: [(label, BOXES[label]) for label in found] for name, found in tags.items()}
    )
    write_tags(tmp_path / "tags.parquet", read_vinvl_tags(source, {"7", "8", "9"}))
    return tmp_path


def opened(folder: Path, **changes) -> TaggedImages:
    paths = [folder / "regions.parquet", folder / "tags.parquet"]
    return TaggedImages(paths, TOKENIZER, **{"region_size": 3, **changes})


def test_files_of_vinvl(tmp_path, caplog):
    """Names of COCO's files are their numbers; images that are not asked for are left out; twice counts once."""
    boxes = [("man", [0.0, 1.0, 2.0, 3.0]), ("boat", [4.0, 5.0, 6.0, 7.5])]
    path = vinvl_file(tmp_path / "x.label.tsv", {"COCO_train2014_000000000042": boxes, "other": boxes, "12": []})
    path.write_text(path.read_text() + path.read_text().splitlines()[0] + "\n")
    rows = list(read_vinvl_tags(path, {"42", "12", "77"}))
    assert [(row["image_id"], row["tag_index"], row["label"]) for row in rows] == [("42", 0, "man"), ("42", 1, "boat")]
    assert [rows[1][name] for name in ("x1", "y1", "x2", "y2", "confidence")] == [4.0, 5.0, 6.0, 7.5, 0.5]
    assert "has no tags of 1 of 3 images" in caplog.text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("42 []", "line 1 does not start with the name of an image and a tab"),
        ("42\t[", "line 1 has no list of objects"),
        ('42\t[{"conf": 1}]', "class and rect"),
        ('42\t[{"class": "man", "rect": [1, 2, 3]}]', "class and rect"),
        ("43\t[]", "has tags of none of the 1 images, whose ids are like '42'"),
    ],
)
def test_other_files(line, message, answers, tmp_path):
    (tmp_path / "x.label.tsv").write_text(line + "\n")
    with pytest.raises(RegionError, match=message) as raised:
        list(read_vinvl_tags(tmp_path / "x.label.tsv", {"42"}))
    answers.hold(f"tags in a file with the line `{line}`".replace("\t", "⇥"), raised.value, "x.label.tsv")


def test_objects_are_tags(tmp_path):
    """Annotated objects in their order, images in that of the table, regions without a label left out."""
    rows = [("b", 1, "car"), ("b", 0, "man"), ("a", 0, None), ("a", 1, "dog")]
    table = pa.table(
        {
            "image_id": [row[0] for row in rows],
            "object_index": [row[1] for row in rows],
            "label": [row[2] for row in rows],
            **{name: [float(place) for place in range(4)] for name in ("x1", "y1", "x2", "y2")},
        }
    )
    found = list(labelled_rows(table, "object_index"))
    assert [(row["image_id"], row["tag_index"], row["label"], row["x1"]) for row in found] == [
        ("b", 0, "man", 1.0),
        ("b", 1, "car", 0.0),
        ("a", 0, "dog", 3.0),
    ]
    write_tags(tmp_path / "tags.parquet", found)
    assert read_table(tmp_path / "tags.parquet", TAGS).num_rows == 3
    assert objects_of(read_tags([tmp_path / "tags.parquet"])) == {"b": ["man", "car"], "a": ["dog"]}


def test_objects_of_many_groups_are_those_of_the_rows_in_order(monkeypatch):
    """In chunks of any size, of equal ranks the first row before the others; a column that tags lack is left out."""
    monkeypatch.setattr("captionlab.regions.tags.GROUP", 7)
    draw = np.random.default_rng(0)
    rows = [
        {"image_id": f"{image}", "region_index": int(rank), "label": label, "confidence": place / 64, "more": 1}
        for place, (image, rank) in enumerate(draw.integers(0, (9, 4), (64, 2)))
        for label in [("car", "dog", None)[place % 3]]
    ]
    table = pa.concat_tables([pa.Table.from_pylist(rows[:20]), pa.Table.from_pylist(rows[20:])])
    place = {image: number for number, image in reversed([*enumerate(row["image_id"] for row in rows)])}
    wanted = [row for row in sorted(rows, key=lambda r: (place[r["image_id"]], r["region_index"])) if row["label"]]
    found = list(labelled_rows(table, "region_index"))
    assert [(row["image_id"], row["label"], row["confidence"], row["x1"]) for row in found] == [
        (row["image_id"], row["label"], row["confidence"], None) for row in wanted
    ]
    assert all(row.keys() == TAGS.columns.keys() for row in found)
    assert list(labelled_rows(table[:0], "region_index")) == []


def test_tables_of_objects_have_what_tags_need():
    assert {"image_id", "object_index", "label", "x1", "y1", "x2", "y2"} < OBJECTS.columns.keys()


def test_what_is_read(folder):
    images = opened(folder)
    visual = images.rows(["8", "9", "7"])
    assert visual.tags.tolist() == [[13, 14, 15, END, 0], [END, 0, 0, 0, 0], [10, 11, 12, 10, END]]
    assert visual.tag_mask.sum(1).tolist() == [4, 1, 5]
    assert visual.region_mask.sum(1).tolist() == [4, 1, 2]
    assert torch.equal(visual.regions[2, :2], images.table.batch(["7"]).features[0])
    assert images.owners(["8", "9", "7"]).tolist() == [[0, 0, 0, -1, -1], [-1] * 5, [0, 1, 1, 2, -1]]
    assert images.labels("7") == ["boat", "wine glass", "boat"]
    assert images.labels("9") == []
    regions, tags = images.boxes("7")
    assert regions.tolist() == [[1, 1, 5, 9], [1, 1, 6, 9]]
    assert tags.tolist() == [BOXES["boat"], BOXES["wine glass"], BOXES["boat"]]
    assert images.boxes("9")[1].shape == (0, 4)
    assert "9" in images
    assert "10" not in images


def test_what_is_too_much_is_cut(folder):
    """The last place of the tags is that of the end token, also in the middle of a tag."""
    images = opened(folder, max_pieces=3, max_regions=3)
    visual = images.rows(["7", "8"])
    assert visual.tags.tolist() == [[10, 11, END], [13, 14, END]]
    assert images.owners(["7"]).tolist() == [[0, 1, -1]]
    assert images.labels("7") == ["boat", "wine glass"]
    assert visual.regions.shape == (2, 3, 3)
    assert images.boxes("8")[0].shape == (3, 4)


def test_boxes_are_read_where_the_captioner_has_places_for_them(folder):
    visual = opened(folder, region_size=9).rows(["7"])
    expected = [[1 / 20, 1 / 10, (5 + k) / 20, 9 / 10, (4 + k) / 20, 8 / 10] for k in range(2)]
    torch.testing.assert_close(visual.regions[0, :, 3:], torch.tensor(expected))
    with pytest.raises(ValueError, match="3 numbers, or 9 with their boxes, and the captioner reads 5"):
        opened(folder, region_size=5)


def test_tables_in_any_order(folder):
    paths = [str(folder / "tags.parquet"), str(folder / "regions.parquet")]
    for order in (paths, paths[::-1]):
        visual = TaggedImages(order, TOKENIZER, 3, max_pieces=3).rows(["7"])
        assert visual.tags.tolist() == [[10, 11, END]]
        assert visual.regions.shape == (1, 2, 3)
    with pytest.raises(ValueError, match=r"tags.parquet: tags alone; the captioner reads regions as well"):
        TaggedImages(paths[:1], TOKENIZER, 3)


def test_what_is_not_there(folder):
    with pytest.raises(TableError, match="no regions of image '10'"):
        opened(folder).rows(["7", "10"])
    write_table(folder / "more.parquet", TAGS, read_table(folder / "tags.parquet", TAGS).slice(0, 1))
    with pytest.raises(TableError, match=r"more.parquet has tags of image '7', which other tables have too"):
        read_tags([folder / "tags.parquet", folder / "more.parquet"])
