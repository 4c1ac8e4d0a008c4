"""What the results browser is given: every caption with every score, held against loops over the tables."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.browser_run import (
    CAPTIONERS,
    HOSTILE,
    IMAGES_OF,
    KNOWN,
    build,
    chosen_by,
    cider_of,
    image_id,
    rank_of,
    reason_of,
    text_of,
)

from captionlab.browser.captions import unknown_words
from captionlab.browser.site import write_candidates, write_script

PAGE = Path(__file__).parents[2] / "resources" / "browser"


def handed(path: Path):
    """Name and data of a script."""
    text = path.read_text(encoding="ascii")
    assert text.startswith("captionlab(")
    assert text.endswith(");\n")
    return json.loads(f"[{text.removeprefix('captionlab(').removesuffix(');' + chr(10))}]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return build(tmp_path_factory.mktemp("run"), PAGE)


def test_every_caption_has_its_scores(folder):
    name, data = handed(folder / "data" / "world.js")
    assert name == "world"
    assert data["images"]["id"] == [image_id(number) for number in range(12)]
    assert data["images"]["references"][3] == ["reference 0 of 3", "reference 1 of 3"]
    assert data["images"]["objects"][:2] == [["dog"], ["dog", "cat"]]
    assert data["images"]["scenes"][5:7] == [["road"], []]
    [evaluation] = data["evaluations"]
    assert (evaluation["name"], evaluation["image"], evaluation["copy"]) == ("main", [*range(12)], [0] * 12)
    differences = [(one["metric"], one["seeds"], one["p_holm"]) for one in evaluation["numbers"]["differences"]]
    assert differences == [("CIDEr", 1, 0.02), ("P@1", 1, 0.0004), ("CIDEr", 2, None)]
    numbers = {(one["metric"], one["by"], one["among"]): str(n) for n, one in enumerate(evaluation["measures"])}
    cider, rank = numbers["CIDEr", None, None], numbers["rank", "clip", "4 file-order"]
    judge = numbers["clair", None, None]
    assert [one["name"] for one in evaluation["captioners"]] == list(CAPTIONERS)
    for one in evaluation["captioners"]:
        who = one["name"]
        assert one["text"] == [text_of(who, number) for number in range(12)]
        assert one["values"][cider] == pytest.approx([100 * cider_of(who, number) for number in range(12)])
        assert one["values"][rank] == [rank_of(who, number) for number in range(12)]
        assert one["chosen"] == {rank: [chosen_by(who, number) for number in range(12)]}
        if who != "foreign":
            assert judge not in one["values"]
            assert one["notes"] == {}
            continue
        assert one["values"][judge] == [None, *(pytest.approx(5 * number) for number in range(1, 12))]
        assert one["notes"] == {judge: {str(number): reason_of(number) for number in range(1, 12)}}


def test_what_is_missing_is_said(folder):
    world, texts = (handed(folder / "data" / f"{corpus}.js")[1] for corpus in IMAGES_OF)
    assert (world["images"]["broken"], world["images"]["without"]) == ([5], [])
    assert (texts["images"]["broken"], texts["images"]["without"]) == ([], [0, 1, 2])
    assert texts["images"]["references"] == [[], [], []]
    assert texts["evaluations"][0]["measures"] == []
    _, run = handed(folder / "data" / "_run.js")
    assert [(c["name"], c["images"], c["captions"]) for c in run["corpora"]] == [("world", 12, 36), ("texts", 3, 9)]


def test_thumbnails_are_small_and_of_their_images(folder):
    made = sorted(path.relative_to(folder).as_posix() for path in folder.glob("thumbnails/**/*.jpg"))
    assert made == sorted(f"thumbnails/world/0/{number}.jpg" for number in range(12) if number != 5)
    for number in (0, 7):
        with Image.open(folder / f"thumbnails/world/0/{number}.jpg") as image:
            assert image.size == (320, 160)
            assert abs(int(np.asarray(image).mean()) - 20 * number) < 4


def test_unknown_words_are_those_of_no_training_caption(folder):
    [evaluation] = handed(folder / "data" / "world.js")[1]["evaluations"]
    found = {one["name"]: one["unknown"] for one in evaluation["captioners"]}
    assert found["parent"] == {}
    assert found["foreign"] == {"7": ["UNK"]}  # nobody knows what it was trained on
    known = frozenset(KNOWN.split())
    for text in HOSTILE:
        words = "".join(c if c.isalnum() else " " for c in text.replace("UNK", " ").lower()).split()
        expected = ["UNK"] * ("UNK" in text) + [word for word in words if word not in known]
        assert unknown_words(text, known) == expected


def test_a_script_is_ascii_and_ends_no_element(tmp_path):
    data = {"texts": [*HOSTILE, "\ud83d lone"]}
    write_script(tmp_path / "a.js", "a <b>", data)
    assert b"<" not in (tmp_path / "a.js").read_bytes().replace(b'"a <b>"', b"")
    assert handed(tmp_path / "a.js") == ["a <b>", data]
    with pytest.raises(ValueError, match="JSON"):
        write_script(tmp_path / "b.js", "b", {"value": float("nan")})


def test_random_candidates_are_those_of_retrieval(tmp_path):
    write_candidates(tmp_path, "world", "main", 9, [0, 1, 0], {"candidates": 4, "seed": 5})
    _, found = handed(tmp_path / "data" / "world.main.js")
    assert [*found] == ["0", "1"]
    for copy, rows in found.items():
        generator = np.random.default_rng([5, int(copy)])
        for image, row in enumerate(rows):
            others = [other for other in range(9) if other != image]
            assert row == [others[place] for place in generator.choice(8, 3, replace=False)]


def test_a_failed_build_leaves_what_was_there(tmp_path):
    folder = build(tmp_path / "run", PAGE)
    before = sorted(path.relative_to(folder) for path in folder.rglob("*"))
    (tmp_path / "page").mkdir()
    (tmp_path / "page" / "index.html").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        build(tmp_path / "run", tmp_path / "page")
    assert sorted(path.relative_to(folder) for path in folder.rglob("*")) == before
    assert [path.name for path in folder.parent.iterdir() if path.name.startswith(".browser")] == []
