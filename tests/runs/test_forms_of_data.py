"""The same images of Flickr8k as Karpathy's JSON, Parquet, WebDataset and a folder with CSV: the same results."""

import csv
import io
import json
import tarfile
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support.small import small_config, start

from captionlab.storage.schemas import CAPTIONS, IMAGES
from captionlab.storage.tables import read_table

pytestmark = pytest.mark.slow
EACH = 4  # one of so many images is read
IMAGES_READ = len(range(0, 991, EACH))  # each has five captions
FORMS = {
    "karpathy": {"reader": "karpathy", "annotations": "flickr8k.json", "images": "images"},
    "parquet": {"reader": "huggingface", "folder": "hub", "captions": "captions"},
    "tars": {
        "reader": "webdataset",
        "tars": {split: f"tars/{split}.tar" for split in ("test", "train", "val")},
        "captions": "captions",
    },
    "folder": {"reader": "folder", "images": "images", "captions": "captions.csv", "language": "en-GB"},
}


def write_forms(source: Path, folder: Path) -> None:
    """The four forms of the data, split by split, as three of them have it."""
    document = json.loads((source / "dataset_flickr8k.json").read_text(encoding="utf-8"))
    images = sorted(document["images"], key=lambda image: image["split"])[::EACH]
    (folder / "images").symlink_to(source / "Images")
    (folder / "flickr8k.json").write_text(json.dumps({"images": images}), encoding="utf-8")
    (folder / "hub" / "data").mkdir(parents=True)
    (folder / "tars").mkdir()
    with open(folder / "captions.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "caption", "split"])
        for image in images:
            rows.writerows([image["filename"], said["raw"], image["split"]] for said in image["sentences"])
    for split, of_split in groupby(images, key=lambda image: image["split"]):
        columns: dict[str, list] = {"image": [], "captions": []}
        with tarfile.open(folder / "tars" / f"{split}.tar", "w") as tar:
            for image in of_split:
                name, texts = image["filename"], [said["raw"] for said in image["sentences"]]
                content = (source / "Images" / name).read_bytes()
                columns["image"].append({"bytes": content, "path": name})
                columns["captions"].append(texts)
                described = json.dumps({"captions": texts}).encode()
                for member, inside in ((name, content), (f"{Path(name).stem}.json", described)):
                    info = tarfile.TarInfo(member)
                    info.size = len(inside)
                    tar.addfile(info, io.BytesIO(inside))
        pq.write_table(pa.table(columns), folder / "hub" / "data" / f"{split}-00000-of-00001.parquet")


@pytest.fixture(scope="module")
def run(shared_data, tmp_path_factory) -> Path:
    """A finished run on all four."""
    folder = tmp_path_factory.mktemp("forms")
    (folder / "data").mkdir()
    write_forms(shared_data / "flickr8k", folder / "data")
    config = small_config(["base"], ["clip-a"])
    config["data"], config["corpora"] = str(folder / "data"), FORMS
    for block in (config["encoders"]["clip-a"], config["captioners"]["base"]):
        block["corpus"] = "karpathy"
    config["encoders"]["clip-a"]["optimizer"]["steps"] = 20
    config["captioners"]["human"] = {"family": "human"}
    config["evaluations"]["main"] |= {"captioners": ["base", "human"], "corpora": [*FORMS], "clipscore": ["clip-a"]}
    (folder / "run").mkdir()
    process = start(folder / "run", config, "--cores", "2", "results/tables/evaluation.csv", output=folder / "log")
    assert process.wait() == 0, (folder / "log").read_text()[-3000:]
    return folder / "run"


def table(run: Path, form: str, name: str) -> Path:
    return run / "results" / "corpora" / form / f"{name}.parquet"


def test_captions_are_identical_to_the_byte(run):
    first = table(run, "karpathy", "captions").read_bytes()
    assert len(read_table(table(run, "karpathy", "captions"), CAPTIONS)) == 5 * IMAGES_READ
    assert [form for form in FORMS if table(run, form, "captions").read_bytes() != first] == []


def test_images_differ_by_their_place_alone(run):
    known = [name for name in IMAGES.columns if name not in ("path", "offset", "length", "data")]
    found = {form: read_table(table(run, form, "images"), IMAGES) for form in FORMS}
    assert all(one.select(known).equals(found["karpathy"].select(known)) for one in found.values())
    assert found["parquet"]["path"].null_count == found["karpathy"]["data"].null_count == IMAGES_READ
    assert found["tars"]["offset"].null_count == 0


def test_embeddings_are_identical_to_the_bit(run):
    files = {form: sorted((run / "results").glob(f"features/clip-a/{form}/*.parquet")) for form in FORMS}
    assert {len(of_form) for of_form in files.values()} == {1}
    tables = {form: pq.read_table(path) for form, (path,) in files.items()}
    assert len(tables["karpathy"]) == IMAGES_READ  # a captioner learns by them
    images = pq.read_table(table(run, "karpathy", "images"), columns=["image_id", "split"])
    tested = images.filter(pc.equal(images["split"], "test"))["image_id"]
    first = tables["karpathy"].filter(pc.is_in(tables["karpathy"]["image_id"], value_set=tested))
    assert len(first) == len(tested)
    assert [form for form in FORMS if form != "karpathy" and not tables[form].equals(first)] == []


def test_tables_say_the_same_of_each(run):
    with open(run / "results" / "tables" / "evaluation.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    of_form = {form: [{**row, "corpus": ""} for row in rows if row["corpus"] == form] for form in FORMS}
    assert {row["metric"] for row in of_form["karpathy"]} >= {"CIDEr", "P@1", "CLIPScore"}
    assert [form for form in FORMS if of_form[form] != of_form["karpathy"]] == []
