"""Tables of embeddings: what is written is what was embedded, shard by shard, and errors name file and image."""

import subprocess
import sys
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from PIL import Image

from captionlab.encoders.embeddings import load_embeddings, stream_embeddings
from captionlab.encoders.images import embed_images
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import IMAGES, embeddings_schema
from captionlab.storage.shards import shard_rows
from captionlab.storage.tables import TableError, write_table


class MeanColour:
    """An encoder that can be checked by eye: the mean of each channel, and how many images came at once."""

    image_dimensions = 3

    def __init__(self):
        self.batches = []

    def preprocess(self, image):
        return torch.from_numpy(np.asarray(image.convert("RGB")).transpose(2, 0, 1).copy())

    def embed_images(self, pixels):
        self.batches.append(len(pixels))
        return pixels.float().mean(dim=(2, 3))


def png(colour):
    file = BytesIO()
    Image.new("RGB", (4, 5), colour).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def images(tmp_path):
    """23 images, of which every other one lies in a file."""
    rows = []
    for index in range(23):
        data, path = png((index, 2 * index, 255 - index)), None
        if index % 2:
            path = str(tmp_path / f"{index}.png")
            (tmp_path / f"{index}.png").write_bytes(data)
        rows.append(
            {"image_id": f"i{index}", "position": index, "split": "test", "path": path, "data": None if path else data}
        )
    table = pa.Table.from_pylist(
        [{**row, "offset": None, "length": None, "width": 4, "height": 5, "image_set": None} for row in rows]
    )
    write_table(tmp_path / "images.parquet", IMAGES, {name: table[name].to_pylist() for name in table.column_names})
    return tmp_path / "images.parquet"


def test_embeddings_in_the_order_of_the_images(images, tmp_path):
    encoder = MeanColour()
    embed_images(encoder, images, tmp_path / "e.parquet", threads=3, batch=5)
    assert encoder.batches == [5, 5, 5, 5, 3]
    found = load_embeddings(tmp_path / "e.parquet")
    assert found.ids == [f"i{index}" for index in range(23)]
    assert found.values.dtype == torch.float32
    assert found.values.tolist() == [[index, 2 * index, 255 - index] for index in range(23)]
    assert found.rows(["i7", "i2", "i7"]).tolist() == [[7, 14, 248], [2, 4, 253], [7, 14, 248]]
    assert found.index["i5"] == 5


@pytest.mark.parametrize("count", [1, 2, 5, 30])
def test_shards_are_the_whole(count, images, tmp_path):
    embed_images(MeanColour(), images, tmp_path / "whole.parquet")
    paths = [tmp_path / f"{index}-of-{count}.parquet" for index in range(count)]
    for path in paths:
        embed_images(MeanColour(), images, path, shard=path.stem)
    whole, parts = load_embeddings(tmp_path / "whole.parquet"), load_embeddings(paths)
    assert parts.ids == whole.ids
    assert torch.equal(parts.values, whole.values)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_of_a_split_other_images_are_not_opened(count, images, tmp_path):
    table = pq.read_table(images).to_pydict()
    table["split"] = ["train" if index in (0, 1, 5, 6, 7, 20) else "val" for index in range(23)]
    write_table(tmp_path / "split.parquet", IMAGES, table)
    for index in (3, 9, 21):  # of the split val
        (tmp_path / f"{index}.png").unlink()
    paths = [tmp_path / f"{index}-of-{count}.parquet" for index in range(count)]
    for path in paths:
        embed_images(MeanColour(), tmp_path / "split.parquet", path, shard=path.stem, split="train")
    found = load_embeddings(paths)
    assert found.ids == ["i0", "i1", "i5", "i6", "i7", "i20"]
    assert found.values[:, 0].tolist() == [0, 1, 5, 6, 7, 20]
    assert max(map(rows_of, paths)) - min(map(rows_of, paths)) <= 1
    embed_images(MeanColour(), tmp_path / "split.parquet", tmp_path / "none", split="test")
    assert rows_of(tmp_path / "none") == 0
    with pytest.raises(TableError, match="no embedding of image 'i0'"):
        load_embeddings(tmp_path / "none", ["i0"])


def test_groups_of_rows_without_the_split_are_not_read(images, tmp_path, monkeypatch):
    table = pq.read_table(images)
    table = table.set_column(table.column_names.index("split"), "split", [["val"] * 10 + ["test"] * 13])
    pq.write_table(table.cast(pq.read_schema(images)), tmp_path / "groups.parquet", row_group_size=5)
    read = []
    monkeypatch.setattr(
        Groups, "__getitem__", lambda self, n, own=Groups.__getitem__: read.append((self.columns, n)) or own(self, n)
    )
    embed_images(MeanColour(), tmp_path / "groups.parquet", tmp_path / "e", shard="1-of-2", split="test")
    assert load_embeddings(tmp_path / "e").ids == [f"i{index}" for index in range(16, 23)]
    assert {n for columns, n in read if "data" in columns} == {3, 4}


def rows_of(path):
    return pq.read_metadata(path).num_rows


def test_shards_are_of_about_equal_size():
    sizes = [len(range(1000)[shard_rows(f"{index}-of-7", 1000)]) for index in range(7)]
    assert sum(sizes) == 1000
    assert max(sizes) - min(sizes) <= 1


def test_a_broken_image_is_named(images, tmp_path):
    (tmp_path / "9.png").write_bytes(png("red")[:45])
    with pytest.raises(ValueError, match=r"'i9' \(.*9\.png\)"):
        embed_images(MeanColour(), images, tmp_path / "e.parquet")
    (tmp_path / "9.png").unlink()
    with pytest.raises(ValueError, match=r"'i9' \(.*9\.png\)"):
        embed_images(MeanColour(), images, tmp_path / "e.parquet")
    assert not (tmp_path / "e.parquet").exists()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(value, images, tmp_path):
    encoder = MeanColour()
    original = encoder.embed_images

    def embed(pixels):
        embeddings = original(pixels)
        embeddings[embeddings[:, 0] == 11, 1] = value
        return embeddings

    encoder.embed_images = embed
    with pytest.raises(TableError, match=r"e\.parquet: the embedding of image 'i11'"):
        embed_images(encoder, images, tmp_path / "e.parquet", batch=4)
    assert not (tmp_path / "e.parquet").exists()


@pytest.mark.parametrize("precision", ["float16", "float32"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_read(value, precision, tmp_path):
    rows = {"image_id": ["x", "y", "z"], "embedding": [[1.0, 2.0], [3.0, value], [5.0, value]]}
    write_table(tmp_path / "e.parquet", embeddings_schema(2, precision), rows)
    with pytest.raises(TableError, match=r"e\.parquet: the embedding of image 'y'.*2 of 3"):
        load_embeddings(tmp_path / "e.parquet")


def test_errors_name_the_image_and_the_file(tmp_path):
    a, b, c = (tmp_path / f"{name}.parquet" for name in "abc")
    write_table(a, embeddings_schema(2), {"image_id": ["x", "y"], "embedding": [[1, 2], [3, 4]]})
    write_table(b, embeddings_schema(2), {"image_id": ["y"], "embedding": [[5, 6]]})
    write_table(c, embeddings_schema(3), {"image_id": ["w"], "embedding": [[5, 6, 7]]})
    with pytest.raises(TableError, match=r"a\.parquet: no embedding of image 'v' \(1 of 2"):
        load_embeddings(a).rows(["x", "v"])
    with pytest.raises(TableError, match=r"b\.parquet: image 'y' has more than one"):
        load_embeddings([a, b])
    with pytest.raises(TableError, match=r"c\.parquet has embeddings of 3 dimensions.*a\.parquet of 2"):
        load_embeddings([a, c])
    with pytest.raises(TableError, match=r"none\.parquet: no such file"):
        load_embeddings(tmp_path / "none.parquet")
    pq.write_table(pa.table({"image_id": ["x"]}), tmp_path / "other.parquet")
    with pytest.raises(TableError, match=r"other\.parquet is no table of embeddings"):
        load_embeddings(tmp_path / "other.parquet")


@pytest.fixture
def shards(tmp_path, monkeypatch):
    """Embeddings of 23 images in two files, in groups of four rows."""
    monkeypatch.setattr("captionlab.storage.tables.GROUP_BYTES", 4 * 4 * 2)
    values = np.arange(46, dtype=np.float32).reshape(23, 2)
    for name, rows in (("a", slice(0, 10)), ("b", slice(10, 23))):
        table = {"image_id": [f"i{row}" for row in range(23)][rows], "embedding": values[rows].tolist()}
        write_table(tmp_path / name, embeddings_schema(2, "float32"), table)
    return [tmp_path / "a", tmp_path / "b"]


def test_only_those_asked_for_in_that_order(shards):
    found = load_embeddings(shards, ["i12", "i3", "i22"])
    assert found.ids == ["i12", "i3", "i22"]
    assert found.values.tolist() == [[24, 25], [6, 7], [44, 45]]
    with pytest.raises(TableError, match=r"a, .*b: no embedding of image 'x' \(2 of 3 are missing\)"):
        load_embeddings(shards, ["x", "i3", "y"])
    with pytest.raises(TableError, match=r"image 'i3' has more than one"):
        load_embeddings([*shards, shards[0]], ["i12", "i3"])


@pytest.mark.parametrize("order", ["of the table", "reversed"])
@pytest.mark.parametrize("batch", [1, 3, 5, 100])
def test_streamed_in_batches(shards, batch, order):
    ids = [f"i{row}" for row in range(23) if row % 3]
    if order == "reversed":
        ids.reverse()
    batches = list(stream_embeddings(shards, ids, batch))
    assert [len(part) for part in batches] == [len(ids[start : start + batch]) for start in range(0, len(ids), batch)]
    assert torch.equal(torch.cat(batches), load_embeddings(shards, ids).values)
    with pytest.raises(TableError, match=r"no embedding of image 'x' \(1 of 17 are missing\)"):
        list(stream_embeddings(shards, [*ids, "x", "i0"], batch))
    assert list(stream_embeddings(shards, [], batch)) == []


MEMORY = """
import resource, sys
import torch
from captionlab.encoders.embeddings import load_embeddings, stream_embeddings
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
path, rows = sys.argv[1], 80_000
load_embeddings(path, ["0"])
before = peak()
for _ in stream_embeddings(path, [str(row) for row in range(rows)], 64): pass
streamed = peak() - before
load_embeddings(path, [str(row) for row in range(0, rows, 2)])
print(streamed, peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak of memory differs")
def test_memory_is_that_of_what_is_kept(tmp_path):
    """A table of 156 MiB: streaming it takes a few groups of 8 MiB, and half of it little more than the half."""
    values = np.random.default_rng(0).standard_normal((80_000, 512)).astype(np.float32)
    kind = embeddings_schema(512, "float32")
    lists = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=kind.columns["embedding"].type)
    write_table(tmp_path / "e", kind, pa.table({"image_id": [str(row) for row in range(80_000)], "embedding": lists}))
    done = subprocess.run([sys.executable, "-c", MEMORY, tmp_path / "e"], capture_output=True, text=True, check=True)
    streamed, kept = map(float, done.stdout.split())
    assert streamed < 50
    assert kept < 78 + 50


class Grids:
    """An encoder whose grids say where they come from: the mean colour of each quarter of an image."""

    image_dimensions, patch_shape = 3, (4, 3)

    def preprocess(self, image):
        return torch.from_numpy(np.asarray(image.convert("RGB").resize((2, 2))).transpose(2, 0, 1).copy())

    def embed_images(self, pixels):
        return pixels.float().mean(dim=(2, 3))

    def embed_patches(self, pixels):
        return pixels.float().flatten(2).transpose(1, 2)


def test_grids_are_embeddings_with_a_shape(images, tmp_path):
    for shard in ("0-of-2", "1-of-2"):
        embed_images(Grids(), images, tmp_path / shard, shard=shard, batch=2, patches=True)
    files = [tmp_path / "0-of-2", tmp_path / "1-of-2"]
    loaded = load_embeddings(files)
    assert loaded.values.shape == (23, 4, 3)
    assert loaded.rows(["i7"])[0].tolist() == [[7, 14, 248]] * 4
    parts = list(stream_embeddings(files, loaded.ids, 10))
    assert [part.shape for part in parts] == [(10, 4, 3), (10, 4, 3), (3, 4, 3)]
    assert torch.equal(torch.cat(parts), loaded.values)
    embed_images(Grids(), images, tmp_path / "flat")
    with pytest.raises(TableError, match=r"flat has embeddings of 3 dimensions, .* of 4 x 3"):
        load_embeddings([tmp_path / "0-of-2", tmp_path / "flat"])
