"""Images of slices: labels of corpora, and files of the user with their mistakes."""

import pytest
from support.browser_run import image_row
from support.running import run_script

from captionlab.evaluation.schemas import SLICED_IMAGES
from captionlab.storage.schemas import IMAGES, OBJECTS, SCENE_CAPTIONS
from captionlab.storage.tables import read_table, write_table
from captionlab.userfiles.reading import GivenError

BOX = dict.fromkeys(("x1", "y1", "x2", "y2"), 0.0)
MISTAKES = {
    "no column image_id": ("image,weather\na,sun\n", "line 1"),
    "no column of the name": ("image_id,wether\na,sun\n", "line 1"),
    "a column twice": ("image_id,weather,weather\na,sun,rain\n", "line 1"),
    "an empty file": ("", "mine.csv"),
    "a header alone": ("image_id,weather\n", "weather"),
    "no values": ("image_id,weather\na,\nb, \n", "weather"),
    "an image of no corpus": ("image_id,weather\na,sun\nz,rain\n", "line 3"),
    "an image twice": ("image_id,weather\na,sun\nb,rain\na,rain\n", "line 4"),
    "an image twice, by its file": ("image_id,weather\na,sun\na.jpg,rain\n", "line 3"),
    "no image": ("image_id,weather\n,sun\n", "line 2"),
    "a value with a comma": ("image_id,weather\na,snow, heavy\n", "line 2"),
    "only images of another split": ("image_id,weather\nt,sun\n", "weather"),
    "no UTF-8": (b"image_id,weather\na,\xff\n", "line 2"),
    "compressed": (b"\x1f\x8b\x08\x00", "mine.csv"),
}


def assign(folder, content, by=("scene", "object", "length", "weather")):
    """The rows of SLICED_IMAGES of two corpora: `one` has images a, b and c, and t for training; `two` has a and d."""
    (folder / "mine.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    for corpus, images in {"one": "abc", "two": "ad"}.items():
        rows = [image_row(name, place) for place, name in enumerate(images)]
        write_table(folder / f"{corpus}.parquet", IMAGES, [*rows, image_row("t", 9, "train")])
        objects = [
            {"image_id": image, "object_index": index, "label": label, **BOX, "attributes": []}
            for image in (*images, "t")
            for index, label in enumerate(("dog", "dog", "cat") if image == "a" else ("dog",))
        ]
        write_table(folder / f"{corpus}-objects.parquet", OBJECTS, objects)
        scenes = [
            {"image_id": image, "scene_index": 0, "caption": "", "scene": "sea" if image == "a" else None,
             "confidence": None}
            for image in images
        ]  # fmt: skip
        write_table(folder / f"{corpus}-scenes.parquet", SCENE_CAPTIONS, scenes)
    corpora, out = ["one", "two"], folder / "slices.parquet"
    inputs = {
        "images": [folder / f"{corpus}.parquet" for corpus in corpora],
        "scene": [folder / f"{corpus}-scenes.parquet" for corpus in corpora],
        "object": [folder / f"{corpus}-objects.parquet" for corpus in corpora],
        "files": [folder / "mine.csv"],
    }
    run_script("assign_slices", inputs, [out], corpora=corpora, splits=["test", "test"], by=[*by])
    slices: dict[tuple[str, str, str], list[str]] = {}
    for row in read_table(out, SLICED_IMAGES).to_pylist():
        slices.setdefault((row["corpus"], row["by"], row["slice"]), []).append(row["image_id"])
    return slices


def test_labels_and_values_make_slices_of_evaluated_images(tmp_path):
    file = 'weather;image_id\nsun;"a"\n"snow; heavy";b.jpg\n;c\nsun;t\nsun;d\n'
    assert assign(tmp_path, file) == {
        ("one", "scene", "sea"): ["a"],
        ("two", "scene", "sea"): ["a"],
        ("one", "object", "dog"): ["a", "b", "c"],
        ("one", "object", "cat"): ["a"],
        ("two", "object", "dog"): ["a", "d"],
        ("two", "object", "cat"): ["a"],
        ("one", "weather", "sun"): ["a"],
        ("one", "weather", "snow; heavy"): ["b"],
        ("two", "weather", "sun"): ["a", "d"],
    }


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_a_file_name_it_and_the_row(tmp_path, answers, mistake):
    content, names = MISTAKES[mistake]
    with pytest.raises(GivenError) as error:
        assign(tmp_path, content)
    assert "mine.csv" in answers.hold(f"{mistake}, in a file for slices", error.value, names)
