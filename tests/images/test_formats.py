"""Every format of images that Pillow decodes is read, in folders and tars, and what is passed over is said."""

import io
import logging
import tarfile
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from PIL import Image
from support.upright import SIDES, as_stored

from captionlab.corpora.images import Fault, check_image
from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.reading import read_corpus
from captionlab.corpora.tables import TABLES
from captionlab.evaluation.exchange import image_files
from captionlab.images.locations import ImageLocation
from captionlab.images.pixels import ENDINGS, image_size, open_image
from captionlab.reporting.tables.thumbnails import thumbnail
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table
from captionlab.study.pages import pictures

ROOT = Path(__file__).parents[2]
# A picture of tiles of 16 pixels, which survives lossy compression.
PICTURE = np.kron(np.random.default_rng(0).integers(0, 256, (8, 8, 3), np.uint8), np.ones((16, 16, 1), np.uint8))
# Formats that Pillow writes and does not read, or whose files have no pixels of their own, or no ending of their own.
NOT_READ = {"PALM", "PDF", "EPS", "BUFR", "GRIB", "HDF5", "WMF", "SPIDER"}
# Options of formats that lose colours, so that they lose little.
EXACT = {
    "AVIF": {"quality": 100, "subsampling": "4:4:4"},
    "HEIF": {"quality": -1, "chroma": 444},
    "JPEG": {"quality": 100, "subsampling": 0},
    "MPO": {"quality": 100, "subsampling": 0},
    "WEBP": {"lossless": True},
    "ICO": {"sizes": [(128, 128)]},
}
# Largest difference of a value, in formats that lose colours.
LOSSES = {"AVIF": 4, "HEIF": 1, "JPEG": 4, "MPO": 4}
SMALLER_MODES = {"MSP": "1", "XBM": "1", "BLP": "P"}


def encoded(kind: str, pixels: np.ndarray = PICTURE, **options: object) -> bytes:
    stream = io.BytesIO()
    image = Image.fromarray(pixels).convert(SMALLER_MODES.get(kind, "RGB"))
    image.save(stream, kind, **{**EXACT.get(kind, {}), **options})
    return stream.getvalue()


def expected(kind: str) -> np.ndarray:
    return np.asarray(Image.fromarray(PICTURE).convert(SMALLER_MODES.get(kind, "RGB")).convert("RGB"), int)


def opened(content: bytes) -> np.ndarray:
    return np.asarray(open_image(ImageLocation(data=content)._asdict()), int)


def read(folder: Path, config: dict) -> dict[str, list[dict]]:
    outputs = {table: folder / "tables" / f"{table}.parquet" for table in TABLES}
    read_corpus(config, folder, outputs, 2, "mine")
    return {name: read_table(outputs[name], TABLES[name]).to_pylist() for name in TABLES}


WRITABLE = sorted({*Image.SAVE} - NOT_READ)


@pytest.fixture(scope="module")
def written() -> dict[str, bytes]:
    """A file of every format that Pillow writes, under each ending of the format."""
    contents = {kind: encoded(kind) for kind in WRITABLE}
    endings = Image.registered_extensions()
    return {f"{ending[1:]}{ending}": contents[kind] for ending, kind in endings.items() if kind in contents}


def check_rows(rows: list[dict]) -> None:
    """Check that each image, named by its ending, has the pixels that were written."""
    for row in rows:
        kind = Image.registered_extensions()["." + row["image_id"]]
        pixels = np.asarray(open_image(row), int)
        shown = expected(kind) if kind != "ICNS" else pixels  # icons of Apple are of 1024 pixels
        np.testing.assert_allclose(pixels, shown, rtol=0, atol=LOSSES.get(kind, 0), err_msg=kind)
        assert (row["width"], row["height"]) == pixels.shape[1::-1]


@pytest.mark.filterwarnings("ignore:IM image format is deprecated")
def test_every_format_that_pillow_writes_is_read_in_folders_and_tars(tmp_path, written):
    assert len(WRITABLE) >= 20
    (tmp_path / "photos").mkdir()
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, content in written.items():
            (tmp_path / "photos" / name).write_bytes(content)
            tar.add(tmp_path / "photos" / name, name)
    for config in (
        {"reader": "folder", "images": "photos"},
        {"reader": "webdataset", "tars": {"test": "a.tar"}, "captions": None},
    ):
        tables = read(tmp_path, config)
        assert tables["rejects"] == []
        assert {"." + row["image_id"] for row in tables["images"]} >= {
            ".heic", ".avif", ".jfif", ".jpg", ".png", ".tiff", ".webp", ".jp2", ".tga"
        }  # fmt: skip
        assert len(tables["images"]) == len(written)
        check_rows(tables["images"])


def test_the_page_lists_the_endings():
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    assert ", ".join(f"`{ending}`" for ending in sorted(ENDINGS)) in " ".join(page.split())


def test_an_image_is_known_by_its_bytes(tmp_path):
    """Phones and messengers name AVIF and HEIC .jpg."""
    (tmp_path / "photos").mkdir()
    for kind in ("AVIF", "HEIF", "PNG"):
        (tmp_path / "photos" / f"{kind}.jpg").write_bytes(encoded(kind))
    for row in read(tmp_path, {"reader": "folder", "images": "photos"})["images"]:
        np.testing.assert_allclose(np.asarray(open_image(row), int), PICTURE, rtol=0, atol=4)


# --- HEIC ---


@pytest.mark.parametrize("kind", ["HEIF", "AVIF"])
@pytest.mark.parametrize("orientation", SIDES)
def test_photographs_of_phones_are_upright(kind, orientation):
    picture, exif = PICTURE[:80], Image.Exif()
    exif[0x0112] = orientation
    content = encoded(kind, as_stored(picture, orientation), exif=exif.tobytes())
    np.testing.assert_allclose(opened(content), picture, rtol=0, atol=4)
    assert image_size(ImageLocation(data=content)) == (128, 80)


@pytest.mark.parametrize("mode", ["RGB;16", "L;16"])
def test_heic_of_10_bits(mode):
    deep = PICTURE.astype(np.uint16) * 257 if mode == "RGB;16" else PICTURE[:, :, 0].astype(np.uint16) * 257
    stream = io.BytesIO()
    pillow_heif.from_bytes(mode, (128, 128), deep.tobytes()).save(stream, quality=-1, chroma=444)
    content = stream.getvalue()
    assert Image.open(io.BytesIO(content)).info["bit_depth"] == 10
    shown = PICTURE if mode == "RGB;16" else np.stack([PICTURE[:, :, 0]] * 3, axis=2)
    np.testing.assert_allclose(opened(content), shown, rtol=0, atol=1)


def test_the_main_image_of_a_heic_with_several_is_read():
    other = Image.new("RGB", (32, 64), "red")
    content = encoded("HEIF", save_all=True, append_images=[other], primary_index=0)
    np.testing.assert_allclose(opened(content), PICTURE, rtol=0, atol=1)
    content = encoded("HEIF", save_all=True, append_images=[other], primary_index=1)
    assert opened(content).shape == (64, 32, 3)
    assert image_size(ImageLocation(data=content)) == (32, 64)


def test_a_heic_with_a_small_copy_is_read_whole():
    content = encoded("HEIF", thumbnails=[32])
    assert image_size(ImageLocation(data=content)) == (128, 128)
    np.testing.assert_allclose(opened(content), PICTURE, rtol=0, atol=1)


def test_a_heic_that_is_cut_short_is_broken():
    """Photographs of phones are grids of tiles, of which the decoder leaves missing ones grey."""
    noise = np.random.default_rng(1).integers(0, 256, (512, 512, 3), np.uint8)
    content = encoded("HEIF", noise, tile_size=256)
    assert check_image(ImageLocation(data=content)) == (512, 512)
    assert check_image(ImageLocation(data=content + b"what a camera appends")) == (512, 512)
    for size in (len(content) - 1, len(content) // 2, 40):
        fault = check_image(ImageLocation(data=content[:size]))
        assert isinstance(fault, Fault)
        assert fault.reason == "broken"


@pytest.mark.parametrize("kind", ["HEIF", "TIFF", "AVIF"])
def test_pages_show_formats_that_browsers_do_not(kind, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "it").with_suffix(f".{kind.lower()}").write_bytes(encoded(kind))
    read(tmp_path, {"reader": "folder", "images": "photos"})
    table = read_table(tmp_path / "tables" / "images.parquet", IMAGES)
    (shown,) = (content for _, content in pictures(table))
    for content in (shown, thumbnail(table.to_pylist()[0])):
        assert Image.open(io.BytesIO(content)).format in ("JPEG", "PNG")


def test_commands_get_heic_as_png(tmp_path):
    """Metrics that are commands have environments of their own, most of them without the plug-in."""
    (tmp_path / "photos").mkdir()
    for name, kind in (("phone.heic", "HEIF"), ("other.jpg", "JPEG")):
        (tmp_path / "photos" / name).write_bytes(encoded(kind))
    read(tmp_path, {"reader": "folder", "images": "photos"})
    files = image_files(tmp_path / "tables" / "images.parquet", ["phone", "other"], tmp_path / "pictures")
    assert files["other"] == str(tmp_path / "photos/other.jpg")
    with Image.open(files["phone"]) as image:
        assert image.format == "PNG"
        np.testing.assert_allclose(np.asarray(image, int), PICTURE, rtol=0, atol=1)


# --- what is passed over ---


def test_files_that_are_passed_over_in_a_folder_are_said_by_ending(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "photos" / "more").mkdir(parents=True)
    for name in ("a.jpg", "more/b.png"):
        (tmp_path / "photos" / name).write_bytes(encoded("PNG"))
    config = {"reader": "folder", "images": "photos"}
    for name in ("notes.txt", "more/LICENSE", ".hidden.mov"):
        (tmp_path / "photos" / name).touch()
    read(tmp_path, config)
    (record,) = (record for record in caplog.records if "passed over" in record.message)
    assert record.levelno == logging.INFO
    assert record.message.endswith("photos: files passed over by their endings: 1 without ending, 1 .txt")
    for name in ("c.MOV", "more/d.mov", "e.dng"):
        (tmp_path / "photos" / name).touch()
    caplog.clear()
    read(tmp_path, config)
    (record,) = (record for record in caplog.records if "passed over" in record.message)
    assert record.levelno == logging.WARNING
    assert "2 .mov, 1 " in record.message
    assert ".dng" in record.message


def test_a_folder_of_other_files_only_is_an_error_that_names_them(tmp_path, answers):
    (tmp_path / "photos").mkdir()
    for name in ("a.MOV", "b.mov", "c.cr2"):
        (tmp_path / "photos" / name).touch()
    with pytest.raises(CorpusError) as raised:
        read(tmp_path, {"reader": "folder", "images": "photos"})
    answers.hold("a folder of films and raw files", raised.value, "2 .mov, 1 .cr2")


def test_files_that_are_passed_over_in_tars_are_said_by_ending(tmp_path, caplog):
    caplog.set_level(logging.INFO)
    (tmp_path / "tars").mkdir()
    with tarfile.open(tmp_path / "tars" / "a.tar", "w") as tar:
        for name, content in {
            "1.jpg": encoded("JPEG"), "1.txt": b"a dog", "1.json": b"{}", "1.cls": b"0", "2.mp4": b"film", "3": b""
        }.items():  # fmt: skip
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    for name in ("a_stats.json", "b.tar.gz"):
        (tmp_path / "tars" / name).touch()
    read(tmp_path, {"reader": "webdataset", "tars": {"test": "tars"}, "max_rejected": 0.9})
    inside, beside = (record for record in caplog.records if "passed over" in record.message)
    assert inside.message == "tars of test: files passed over by their endings: 1 without ending, 1 .cls, 1 .mp4"
    assert beside.message.endswith("tars: files passed over by their endings: 1 .json, 1 .tar.gz")
    assert inside.levelno == beside.levelno == logging.WARNING
