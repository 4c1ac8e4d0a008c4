"""What the script that trains an encoder takes from the tables of a corpus."""

from types import SimpleNamespace

import pytest
from support.running import load_script

from captionlab.images.locations import LOCATION
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import TableWriter


class Seen(Exception):
    """What was given to the trainer."""


def test_only_images_of_its_split_are_read(tmp_path, monkeypatch):
    path = tmp_path / "images.parquet"
    with TableWriter(path, IMAGES) as writer:
        for number, split in enumerate(["test", "train", "val", "train"]):
            row = dict.fromkeys(IMAGES.columns) | {"image_id": f"a{number}", "position": number, "split": split}
            writer.write([row | {"width": 1, "height": 1, "data": b"image"}])
    scope = load_script("train_encoder").main.__globals__
    asked, read_table = [], scope["read_table"]

    def noted(file, kind, columns=None):
        asked.append(columns)
        return read_table(file, kind, columns)

    def train(config, images, captions, **options):
        raise Seen(images)

    monkeypatch.setitem(scope, "read_table", noted)
    monkeypatch.setitem(scope, "train_clip", train)
    monkeypatch.setitem(scope, "CAPTIONS", IMAGES)
    params = {"code": "c", "versions": {}, "config": {}, "seed": 1}
    job = SimpleNamespace(
        input=SimpleNamespace(images=path, captions=path),
        output=SimpleNamespace(weights="results/encoders/x/model.safetensors", training="training.parquet"),
        params=type("Params", (dict,), {"__getattr__": dict.__getitem__})(params),
        threads=1,
        rule="train_encoder",
        config={},
    )
    with pytest.raises(Seen) as raised:
        scope["main"](job)
    (images,) = raised.value.args
    before = read_table(path, IMAGES, columns=["image_id", "split", *LOCATION])
    assert images.to_pylist() == [row for row in before.to_pylist() if row["split"] == "train"]
    assert asked[0] == ["image_id", "split"]
