"""What a metric is given: of the evaluated split, in the order of the annotation file, and of all that taught it."""

import pytest

from captionlab.evaluation.inputs import MetricInputs
from captionlab.images.locations import LOCATION
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES, TOKENS
from captionlab.storage.tables import write_table

PARAMS = {
    "settings": {},
    "corpora": ["a", "b"],
    "people": False,
    "splits": ["test", "val"],
    "references_per_image": None,
}


def corpus(folder, images, captions):
    """Tables of images (id, position, split) and captions (image, index, text)."""
    rows = {name: [row[place] for row in images] for place, name in enumerate(("image_id", "position", "split"))}
    unknown = dict.fromkeys((*LOCATION, "image_set"), [None] * len(images))
    write_table(
        folder / "images.parquet", IMAGES, {**rows, **unknown, **dict.fromkeys(("width", "height"), [1] * len(images))}
    )
    rows = {
        name: [row[place] for row in captions] for place, name in enumerate(("image_id", "caption_index", "caption"))
    }
    write_table(folder / "captions.parquet", CAPTIONS, rows)
    return str(folder / "images.parquet"), str(folder / "captions.parquet")


@pytest.fixture
def tables(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    a = corpus(
        tmp_path / "a", [("2", 1, "test"), ("1", 0, "test"), ("3", 2, "train")],
        [("2", 0, "two"), ("1", 1, "One?"), ("1", 0, "one"), ("3", 0, "three")],
    )  # fmt: skip
    b = corpus(tmp_path / "b", [("1", 0, "val"), ("9", 1, "train")], [("1", 0, "uno"), ("9", 0, "nueve")])
    return [list(pair) for pair in zip(a, b, strict=True)]


def test_texts_are_those_of_each_evaluated_split(tables):
    images, captions = tables
    inputs = {"images_of_corpora": images, "captions_of_corpora": captions}
    texts = MetricInputs(inputs, PARAMS).texts
    assert texts == {"a": {"1": ["one", "One?"], "2": ["two"]}, "b": {"1": ["uno"]}}
    assert [*texts["a"]] == ["1", "2"]
    assert MetricInputs(inputs, {**PARAMS, "references_per_image": 1}).texts["a"]["1"] == ["one"]


def test_training_captions_are_those_of_all_corpora_that_taught(tables):
    images, captions = tables
    assert MetricInputs({"training_images": images, "training_captions": captions}, PARAMS).training == [
        "three",
        "nueve",
    ]
    assert MetricInputs({"training_images": [], "training_captions": []}, PARAMS).training == []


def test_captions_and_tokens_are_by_corpus(tmp_path):
    key = {"corpus": ["b", "a"], "image_id": ["1", "1"], "caption_index": [0, 0]}
    write_table(tmp_path / "tokens.parquet", TOKENS, {**key, "tokens": ["uno", "one"]})
    made = {**key, "caption": ["Uno.", "One."], "log_prob": [None, None], "confidence": [None, None]}
    write_table(tmp_path / "captions.parquet", GENERATED, made)
    given = MetricInputs({name: str(tmp_path / f"{name}.parquet") for name in ("tokens", "captions")}, PARAMS)
    assert given.tokens == {"a": {("1", 0): "one"}, "b": {("1", 0): "uno"}}
    assert {name: [row["caption"] for row in rows] for name, rows in given.captions.items()} == {
        "a": ["One."],
        "b": ["Uno."],
    }
    assert [*given.captions] == ["a", "b"]
