"""A limited run on data sets in the files of their authors; captions are invented."""

import json
from pathlib import Path

import pytest
from PIL import Image
from support.small import start

from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow
NAMES = ("a", "b", "c", "d")  # of images, all of them in one folder
CORPORA = {
    "flickr8k": {
        "reader": "flickr8k-token",
        "annotations": "Flickr8k.token.txt",
        "splits": {"train": "train.txt", "test": "test.txt"},
    },
    "vizwiz": {"reader": "vizwiz", "annotations": {"test": "vizwiz.json"}, "keep": ["rejected"]},
    "textcaps": {"reader": "textcaps", "annotations": {"test": "textcaps.json"}},
    "narratives": {"reader": "localized-narratives", "annotations": {"test": "narratives.jsonl"}},
    "llava": {"reader": "llava", "annotations": {"test": "llava.json"}},
    "docci": {"reader": "docci", "annotations": "docci.jsonlines"},
    "cub": {"reader": "cub", "annotations": "images.txt", "splits": "splits.txt", "captions": "text_c10"},
}


def write_annotations(folder: Path) -> None:
    """Write the annotations of every corpus: one caption for each image, and `c` alone is in a split train."""

    def write(name: str, *lines: object) -> None:
        text = (line if isinstance(line, str) else json.dumps(line) for line in lines)
        (folder / name).write_text("".join(f"{line}\n" for line in text), encoding="utf-8")

    split = {name: "train" if name == "c" else "test" for name in NAMES}
    write("Flickr8k.token.txt", *(f"{name}.jpg#0\ta dog {name}" for name in NAMES))
    write("train.txt", "c.jpg")
    write("test.txt", *(f"{name}.jpg" for name in NAMES if name != "c"))
    images = [{"id": number, "file_name": f"{name}.jpg"} for number, name in enumerate(NAMES)]
    captions = [
        {"id": number, "image_id": number, "caption": f"a dog {name}", "is_rejected": name == "a"}
        for number, name in enumerate(NAMES)
    ]
    write("vizwiz.json", {"images": images, "annotations": captions})
    write("textcaps.json", {"data": [{"image_id": name, "caption_str": f"a dog {name}"} for name in NAMES]})
    narrative = {"dataset_id": "Flickr30k_test", "annotator_id": 1}
    write("narratives.jsonl", *({**narrative, "image_id": name, "caption": f"a dog {name}"} for name in NAMES))
    turns = {name: [{"from": "human", "value": "<image>"}, {"from": "gpt", "value": f"a dog {name}"}] for name in NAMES}
    write("llava.json", [{"id": name, "image": f"{name}.jpg", "conversations": turns[name]} for name in NAMES])
    docci = {name: {"example_id": name, "split": split[name], "image_file": f"{name}.jpg"} for name in NAMES}
    write("docci.jsonlines", *({**docci[name], "description": f"a dog {name}"} for name in NAMES))
    write("images.txt", *(f"{number} {name}.jpg" for number, name in enumerate(NAMES, start=1)))
    write("splits.txt", *(f"{number} {int(name == 'c')}" for number, name in enumerate(NAMES, start=1)))
    (folder / "text_c10").mkdir()
    for name in NAMES:
        write(f"text_c10/{name}.txt", f"a dog {name}")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A finished run; the only captioner are the people who wrote the captions."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "data" / "images").mkdir(parents=True)
    for number, name in enumerate(NAMES):
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(folder / "data" / "images" / f"{name}.jpg")
    write_annotations(folder / "data")
    config = {
        "seed": 1,
        "spice": "off",
        "limit": 2,
        "data": str(folder / "data"),
        "corpora": {name: {**corpus, "images": "images"} for name, corpus in CORPORA.items()},
        "captioners": {"people": {"family": "human"}},
        "evaluations": {"main": {"captioners": ["people"], "corpora": [*CORPORA]}},
    }
    targets = ["results/tables/evaluation.md", *(f"results/corpora/{name}/images.parquet" for name in CORPORA)]
    process = start(folder / "run", config, "--cores", "2", *targets, output=folder / "log")
    assert process.wait() == 0, (folder / "log").read_text()[-3000:]
    return folder / "run"


def test_the_first_two_images_of_a_split_are_read(run):
    rows = {name: read_table(run / f"results/corpora/{name}/images.parquet", IMAGES).to_pylist() for name in CORPORA}
    tested = {name: [row["image_id"] for row in images if row["split"] == "test"] for name, images in rows.items()}
    assert tested == {name: ["0", "1"] if name == "vizwiz" else ["a", "b"] for name in CORPORA}
    trained = {name for name, images in rows.items() if any(row["split"] == "train" for row in images)}
    assert trained == {"flickr8k", "docci", "cub"}


def test_tables_name_the_limit(run):
    assert "limited to 2 images of each split" in (run / "results" / "tables" / "evaluation.md").read_text()
