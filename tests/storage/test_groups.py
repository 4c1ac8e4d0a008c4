import pyarrow.parquet as pq
import pytest

from captionlab.corpora.tables import TABLES, corpus_tables
from captionlab.images.locations import ImageLocation, open_location
from captionlab.storage.row_groups import Groups, read_chosen
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import GROUP_BYTES, TableWriter, read_table


@pytest.fixture
def table(tmp_path):
    """Images a0 to a9 in groups of three."""
    path = tmp_path / "images.parquet"
    with TableWriter(path, IMAGES) as writer:
        for start in range(0, 10, 3):
            numbers = range(start, min(start + 3, 10))
            rows = [{name: None for name in IMAGES.columns} for _ in numbers]
            for row, number in zip(rows, numbers, strict=True):
                row |= {"image_id": f"a{number}", "position": number, "split": "test", "width": 1, "height": 1}
            writer.write(rows)
    return path


@pytest.mark.parametrize(("start", "stop"), [(0, 10), (0, 0), (2, 4), (3, 6), (4, 5), (8, 10), (10, 10)])
def test_parts_are_the_rows_of_a_slice(table, start, stop):
    parts = list(Groups([table], IMAGES, ["image_id"]).parts(slice(start, stop)))
    assert [name for part in parts for name in part["image_id"].to_pylist()] == [f"a{n}" for n in range(start, stop)]
    assert all(0 < len(part) <= 3 for part in parts)


def test_rows_are_taken_in_any_order_over_files(table):
    groups = Groups([table, table], IMAGES, ["position"])
    wanted = [19, 0, 1, 12, 2, 9, 9, 5, 10]
    assert groups.take(wanted)["position"].to_pylist() == [row % 10 for row in wanted]


def test_chosen_images_keep_the_order_of_the_table(table):
    assert read_chosen(table, IMAGES, ["image_id"], ["a7", "a0", "b"])["image_id"].to_pylist() == ["a0", "a7"]
    assert read_chosen(table, IMAGES, ["image_id"], []).num_rows == 0


def test_bytes_of_images_are_in_groups_of_few(tmp_path):
    """What a reader has in memory at a time is bounded by bytes, too."""
    image = bytes(GROUP_BYTES // 4)
    with corpus_tables({name: tmp_path / name for name in TABLES}, 16_384) as tables:
        for number in range(10):
            tables["images"].append(f"a{number}", number, "test", *ImageLocation(data=image), 1, 1, None)
    metadata = pq.read_metadata(tmp_path / "images")
    assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == [4, 4, 2]
    assert read_table(tmp_path / "images", IMAGES, ["image_id"]).num_rows == 10


def test_places(tmp_path):
    (tmp_path / "file").write_bytes(b"0123456789")
    path = str(tmp_path / "file")
    for place, content in (
        (ImageLocation(path), b"0123456789"), (ImageLocation(path, 3, 4), b"3456"), (ImageLocation(path, 0, 2), b"01"),
        (ImageLocation(data=b"x"), b"x"),
    ):  # fmt: skip
        with open_location(place) as file:
            assert file.read() == content
        assert place.size == len(content)
    with pytest.raises(EOFError, match="file ends before the image does, which is at byte 8"):
        open_location(ImageLocation(path, 8, 3))
    assert [str(place) for place in (ImageLocation(path), ImageLocation(path, 3, 4), ImageLocation(data=b""))] == [
        path, f"{path}, byte 3", "bytes in the table of images",
    ]  # fmt: skip
