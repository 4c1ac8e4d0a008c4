"""Ids in files of people: values of fields, names of files, and names that stand for a known id."""

from decimal import Decimal

import pytest

from captionlab.userfiles.ids import coco_number, file_id, id_text, known_id
from captionlab.userfiles.reading import GivenError


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((value, "42") for value in (42, 42.0, Decimal("42"), "42", "42.0", "42.00", " 42 ", "\t42\n")),
        *((value, None) for value in (None, "", "  ", float("nan"))),
        ("042", "042"),
        ("1.5", "1.5"),
        ("v1.0", "v1.0"),
        ("sea/1", "sea/1"),
        (0, "0"),
        (-7, "-7"),
        (2**63 + 1, str(2**63 + 1)),
        (float(2**53), str(2**53)),
    ],
)
def test_value(value, expected):
    assert id_text(value, "a.json: 'id'") == expected


@pytest.mark.parametrize("value", [True, 1.5, Decimal("0.5"), float("inf"), 2.0**54, [1], {"id": 1}, b"1"])
def test_value_that_is_no_id(value):
    with pytest.raises(GivenError, match=r"^a\.json, entry 3: 'id' is "):
        id_text(value, "a.json, entry 3: 'id'")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.jpg", "a"),
        ("./a.jpg", "a"),
        ("sea/1.jpg", "sea/1"),
        ("sea//1.jpg", "sea/1"),
        ("../sea/1.jpg", "../sea/1"),
        ("/home/me/sea/1.jpg", "1"),
        ("v1.2 scene.png", "v1.2 scene"),
        ("a", "a"),
        ("scan.001", "scan.001"),
        ("", ""),
        (".", ""),
    ],
)
def test_file(name, expected):
    assert file_id(name) == expected


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("COCO_val2014_000000058350.jpg", "58350"),
        ("train2017/000000000009.jpg", "9"),
        ("coco_train2014_000000000009.npz", "9"),
        ("1000268201_693b08cb0e.jpg", None),
        ("58350.jpg", None),
    ],
)
def test_coco_number(name, number):
    assert coco_number(name) == number


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("COCO_val2014_000000058350.jpg.npz", {"58350"}, "58350"),
        ("COCO_val2014_000000058350", {"58350"}, "58350"),
        ("000000058350", {"58350"}, "58350"),
        ("COCO_val2014_000000058350.jpg", {"58350", "COCO_val2014_000000058350"}, "COCO_val2014_000000058350"),
        ("58350", {"58350"}, "58350"),
        ("1000268201_693b08cb0e.jpg", {"1000268201_693b08cb0e"}, "1000268201_693b08cb0e"),
        ("v1.2 scene.png", {"v1.2 scene"}, "v1.2 scene"),
        ("train/v1.2 scene.png", {"train/v1.2 scene", "v1.2 scene"}, "train/v1.2 scene"),
        ("./sea/1.jpg", {"sea/1", "1"}, "sea/1"),
        ("a.b", {"a", "a.b"}, "a.b"),
        ("1.5", {"1"}, None),
        ("042", {"42"}, None),
        ("b.jpg", {"a"}, None),
        ("b/1.jpg", {"1"}, None),
        ("val2014/COCO_val2014_000000058350.jpg", {"58350"}, "58350"),
        ("", {"a"}, None),
        ("AMBER_7.jpg", {"7"}, "7"),
        ("AMBER_7", {"7", "AMBER_7"}, "AMBER_7"),
    ],
)
def test_known(name, known, expected):
    assert known_id(name, known) == expected
