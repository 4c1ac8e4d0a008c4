"""Files and objects that hold captions and references."""

import json
import logging

import pandas as pd
import pytest

from captionlab.scoring.texts import read_texts

EXPECTED = {"1": ["a dog", "the dog"], "2": ["a cat", "the cat"]}
ROWS = [{"image_id": image, "caption": text} for image, texts in EXPECTED.items() for text in texts]
COCO = {
    "images": [{"id": 1}, {"id": 2}],
    "annotations": [{"image_id": int(row["image_id"]), "caption": row["caption"]} for row in ROWS],
}
KARPATHY = {
    "images": [
        {"filename": f"{image}.jpg", "split": "test", "sentences": [{"raw": text} for text in texts]}
        for image, texts in EXPECTED.items()
    ]
    + [{"filename": "3.jpg", "split": "train", "sentences": [{"raw": "x"}]}]
}
CSV = "image_id,caption\n" + "".join(f"{row['image_id']},{row['caption']}\n" for row in ROWS)
FILES = {
    "results.json": json.dumps(ROWS),
    "coco.json": json.dumps(COCO),
    "karpathy.json": json.dumps(KARPATHY),
    "by_image.json": json.dumps(EXPECTED),
    "rows.jsonl": "\n".join(map(json.dumps, ROWS)),
    "lists.jsonl": "\n".join(json.dumps({"id": image, "references": texts}) for image, texts in EXPECTED.items()),
    "rows.csv": CSV,
    "rows.tsv": CSV.replace(",", "\t").replace("caption", "text").replace("image_id", "image"),
}


@pytest.mark.parametrize("name", FILES)
def test_every_form_of_file(name, tmp_path):
    path = tmp_path / name
    path.write_text(FILES[name], encoding="utf-8")
    assert read_texts(path, "references").of_images == EXPECTED


@pytest.mark.parametrize(
    "source",
    [EXPECTED, {1: EXPECTED["1"], 2.0: EXPECTED["2"]}, ROWS, pd.DataFrame(ROWS)],
    ids=["texts by image", "numbers as ids", "records", "data frame"],
)
def test_every_object(source):
    assert read_texts(source, "references").of_images == EXPECTED


def test_another_split(tmp_path):
    path = tmp_path / "k.json"
    path.write_text(FILES["karpathy.json"])
    assert read_texts(path, "references", "train").of_images == {"3": ["x"]}
    with pytest.raises(ValueError, match="no image of the split 'val'; it has test, train"):
        read_texts(path, "references", "val")


def test_one_text_among_lists_is_one_reference_and_said(caplog):
    with caplog.at_level(logging.WARNING):
        assert read_texts({"1": "a dog", "2": ["a cat"]}, "refs").of_images == {"1": ["a dog"], "2": ["a cat"]}
    assert "1 of 2 images have a text and not a list" in caplog.text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no.json", "there is no file"),
        ({"1": 5}, "refs: '1' has 5; it must be a text or a list of texts"),
        ({"1": ["a", None]}, "must be a text or a list"),
        ({1: "a", "1": "b"}, "is there twice"),
        ({None: "a"}, "an image id is null or empty"),
        ([{"image_id": 1}], r"refs\[0\]: expected image_id and caption"),
        ([{"image_id": 1, "caption": None}], r"refs\[0\]: caption is None"),
        (7, "refs are a int; give a path"),
    ],
)
def test_a_wrong_source_is_a_sentence(source, message):
    with pytest.raises(ValueError, match=message):
        read_texts(source, "refs")


def test_texts_of_an_image_that_are_not_numbered():
    assert read_texts(ROWS, "captions").repeated == ("1", "2")
    numbered = [{**row, "caption_index": place % 2} for place, row in enumerate(ROWS)]
    assert read_texts(numbered, "captions").repeated == ()
