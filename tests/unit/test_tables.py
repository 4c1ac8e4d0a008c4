"""The contract of tables: schema and key are checked, errors name file and column, nothing half-written stays."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionlab.tables import (
    CAPTIONS,
    IMAGES,
    TableError,
    TableWriter,
    embeddings_kind,
    read_table,
    write_table,
)

ROWS = {"image_id": ["a", "b"], "caption_index": [0, 0], "caption": ["one", "دو 🐕"]}


def test_a_table_comes_back_as_it_was(tmp_path):
    write_table(tmp_path / "captions.parquet", CAPTIONS, ROWS)
    table = read_table(tmp_path / "captions.parquet", CAPTIONS)
    assert table.to_pydict() == ROWS
    assert table.schema.equals(CAPTIONS.schema)
    assert pq.ParquetFile(tmp_path / "captions.parquet").metadata.row_group(0).column(0).compression == "ZSTD"


def test_several_files_are_read_in_the_order_given(tmp_path):
    for name, image in (("x", "1"), ("y", "2")):
        write_table(tmp_path / name, CAPTIONS, {"image_id": [image], "caption_index": [0], "caption": ["c"]})
    table = read_table([tmp_path / "y", tmp_path / "x"], CAPTIONS, columns=["image_id"])
    assert table.to_pydict() == {"image_id": ["2", "1"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"caption": ...}, "needs the column 'caption'"),
        ({"captoin": ["x", "y"]}, "has no column 'captoin'"),
        ({"caption": ["x", None]}, "'caption' .* has 1 missing values"),
        ({"caption_index": ["first", "second"]}, "'caption_index' .* must be int32"),
        ({"image_id": ["a", "a"]}, "keys of captions are repeated, the first is {'image_id': 'a'"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(tmp_path, change, message):
    rows = {name: values for name, values in {**ROWS, **change}.items() if values is not ...}
    with pytest.raises(TableError, match=message):
        write_table(tmp_path / "captions.parquet", CAPTIONS, rows)
    assert list(tmp_path.iterdir()) == []


def test_reading_names_the_file_and_the_column(tmp_path):
    path = tmp_path / "captions.parquet"
    pq.write_table(pa.table({**ROWS, "caption": [1, 2]}), path)
    with pytest.raises(TableError, match=r"captions.parquet: column 'caption_index' is int64.*int32"):
        read_table(path, CAPTIONS)
    path.write_bytes(b"PAR1 but not really")
    with pytest.raises(TableError, match=r"captions.parquet is no readable Parquet file"):
        read_table(path, CAPTIONS)


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "captions.parquet"
    write_table(path, CAPTIONS, ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(TableError, match=r"captions.parquet"):
        read_table(path, CAPTIONS)


def test_a_write_that_fails_half_way_leaves_the_old_table(tmp_path):
    path = tmp_path / "captions.parquet"
    write_table(path, CAPTIONS, ROWS)

    def interrupted():
        with TableWriter(path, CAPTIONS) as writer:
            writer.write({"image_id": ["c"], "caption_index": [0], "caption": ["three"]})
            raise InterruptedError

    with pytest.raises(InterruptedError):
        interrupted()
    assert read_table(path, CAPTIONS).to_pydict() == ROWS
    assert [p.name for p in tmp_path.iterdir()] == ["captions.parquet"]


def test_embeddings_have_a_fixed_size(tmp_path):
    kind = embeddings_kind(3, "float32")
    write_table(tmp_path / "e", kind, {"image_id": ["a"], "embedding": [[1.0, 2.0, 3.0]]})
    with pytest.raises(TableError, match="'embedding'"):
        write_table(tmp_path / "f", kind, {"image_id": ["a"], "embedding": [[1.0, 2.0]]})


def test_bytes_or_a_path_may_be_missing_but_not_the_id(tmp_path):
    row = {"image_id": ["a"], "position": [0], "split": ["test"], "path": [None], "data": [b"x"]}
    row |= {"width": [1], "height": [1], "image_set": [None]}
    write_table(tmp_path / "images", IMAGES, row)
    with pytest.raises(TableError, match="'image_id'"):
        write_table(tmp_path / "images", IMAGES, {**row, "image_id": [None]})
