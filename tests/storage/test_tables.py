"""The contract of tables: schema and key are checked, errors name file and column, nothing half-written stays."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import CAPTIONS, IMAGES, embeddings_schema, regions_schema
from captionlab.storage.tables import TableError, TableWriter, read_schema, read_table, write_table

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
    kind = embeddings_schema(3, "float32")
    write_table(tmp_path / "e", kind, {"image_id": ["a"], "embedding": [[1.0, 2.0, 3.0]]})
    with pytest.raises(TableError, match="'embedding'"):
        write_table(tmp_path / "f", kind, {"image_id": ["a"], "embedding": [[1.0, 2.0]]})


def test_bytes_or_a_path_may_be_missing_but_not_the_id(tmp_path):
    row = {"image_id": ["a"], "position": [0], "split": ["test"], "path": [None], "data": [b"x"]}
    row |= {"offset": [None], "length": [None], "width": [1], "height": [1], "image_set": [None]}
    write_table(tmp_path / "images", IMAGES, row)
    with pytest.raises(TableError, match="'image_id'"):
        write_table(tmp_path / "images", IMAGES, {**row, "image_id": [None]})


def features(rows, size, precision, start=0):
    """A table of embeddings whose numbers tell their row."""
    values = (np.arange(rows)[:, None] + start + np.arange(size) / 64).astype(precision)
    kind = embeddings_schema(size, precision)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), type=kind.columns["embedding"].type)
    return kind, pa.table({"image_id": [f"i{start + row}" for row in range(rows)], "embedding": lists}), values


@pytest.mark.parametrize("precision", ["float16", "float32"])
def test_features_are_bytes_in_the_file_and_lists_in_memory(tmp_path, precision):
    kind, table, values = features(40, 6, precision)
    with TableWriter(tmp_path / "e", kind) as writer:
        writer.write(table.slice(3, 10))  # an array that starts inside its buffer
        writer.write(pa.concat_tables([table.slice(13, 5), table.slice(20, 20)]))
    stored = pq.ParquetFile(tmp_path / "e")
    column = stored.metadata.row_group(0).column(1)
    assert (column.physical_type, column.compression) == ("FIXED_LEN_BYTE_ARRAY", "UNCOMPRESSED")
    assert stored.metadata.row_group(0).column(0).compression == "ZSTD"
    read = read_table(tmp_path / "e", kind)
    assert read.schema.equals(kind.schema)
    assert read_schema(tmp_path / "e").equals(kind.schema)
    expected = [*range(3, 18), *range(20, 40)]
    assert read["image_id"].to_pylist() == [f"i{row}" for row in expected]
    found = read["embedding"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    assert (found.reshape(-1, 6) == values[expected]).all()
    # Anybody can read it: the field says what the bytes are.
    row = stored.read()["embedding"][0].as_py()
    assert np.frombuffer(row, stored.schema_arrow.field("embedding").metadata[b"numbers"].decode()).tolist() == (
        values[3].tolist()
    )


def test_lists_written_by_others_are_read(tmp_path):
    kind, table, _ = features(5, 3, "float32")
    pq.write_table(table.cast(kind.schema), tmp_path / "e")
    assert read_table(tmp_path / "e", kind).equals(table.cast(kind.schema))
    assert Groups([tmp_path / "e"], kind)[0].equals(table.cast(kind.schema))


def test_features_with_a_hole_are_refused(tmp_path):
    rows = {"image_id": ["a", "b"], "embedding": [[1.0, 2.0], [3.0, None]]}
    with pytest.raises(TableError, match=r"e: column 'embedding' has 1 missing numbers"):
        write_table(tmp_path / "e", embeddings_schema(2), rows)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("read", [read_table, lambda path, kind: Groups([path], kind)[0]])
def test_a_damaged_page_is_noticed(tmp_path, read):
    """Features are not compressed, so that nothing but a checksum tells a wrong number from a right one."""
    kind, table, values = features(50, 8, "float32")
    write_table(tmp_path / "e", kind, table)
    content = bytearray((tmp_path / "e").read_bytes())
    content[content.index(values[20].tobytes()) + 5] ^= 4
    (tmp_path / "e").write_bytes(content)
    with pytest.raises(TableError, match=r"e cannot be read to its end .*delete it and run again"):
        read(tmp_path / "e", kind)


def test_groups_of_wide_rows_are_small():
    assert CAPTIONS.group_rows == 16_384
    assert embeddings_schema(512, "float32").group_rows == 4096
    assert regions_schema(2048, "float16").group_rows == 2048
    assert embeddings_schema(2**23, "float32").group_rows == 1


@pytest.fixture
def shards(tmp_path, monkeypatch):
    """1,030 rows in groups of 16, in two files."""
    monkeypatch.setattr("captionlab.storage.tables.GROUP_BYTES", 16 * 4 * 4)
    for name, rows, start in (("a", 500, 0), ("b", 530, 500)):
        kind, table, _ = features(rows, 4, "float32", start)
        write_table(tmp_path / name, kind, table)
    return [tmp_path / "a", tmp_path / "b"], kind


def test_groups_in_order(shards):
    groups = Groups(*shards)
    assert (len(groups), groups.rows) == (32 + 34, 1030)
    assert [len(group) for group in groups] == [16] * 31 + [4] + [16] * 33 + [2]
    assert [name for group in groups for name in group["image_id"].to_pylist()] == [f"i{row}" for row in range(1030)]
    assert Groups(*shards, ["embedding"])[0].column_names == ["embedding"]
