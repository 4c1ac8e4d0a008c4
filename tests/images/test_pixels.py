"""Images of every kind become the pixels that they were made from, upright and on white, wherever pixels are read."""

import io
import logging
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from support.raw_images import png, tiff
from support.upright import SIDES, as_stored

from captionlab.encoders.images import colours, crop, decode
from captionlab.images.locations import ImageLocation
from captionlab.images.pixels import UnknownPixels, image_size, open_image
from captionlab.jobs.progress import log_counts
from captionlab.regions.crops import cropped_regions
from captionlab.reporting.tables.thumbnails import thumbnail
from captionlab.study.pages import SIZE, pictures

ORIENTATION = 0x0112
RANDOM = np.random.default_rng(0)
RGB = RANDOM.integers(0, 256, (5, 7, 3), np.uint8)
GREY = RGB[:, :, 0]
ALPHA = np.where(GREY < 100, 0, np.where(GREY < 200, 255, GREY)).astype(np.uint8)
DEEP = RANDOM.integers(0, 65536, (5, 7), np.uint16)
# A black drawing, a cross, on transparency: all of its pixels are black.
CROSS = np.zeros((5, 7), np.uint8)
CROSS[2], CROSS[:, 3] = 255, 255


def in_colour(grey: np.ndarray) -> np.ndarray:
    return np.stack([grey] * 3, axis=2)


def on_white(values: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    share = alpha[:, :, None] / 255.0
    return values * share + 255 * (1 - share)


def upper(values: np.ndarray, step: int = 256) -> np.ndarray:
    return in_colour(np.array([[int(value) // step for value in line] for line in values]))


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def of_12_bits(values: np.ndarray) -> bytes:
    """Rows of an even number of values, two in three bytes."""
    pairs = values.reshape(-1, 2).astype(int)
    return b"".join(bytes([a >> 4, (a & 15) << 4 | b >> 8, b & 255]) for a, b in pairs)


def palette(alpha: list[int]) -> bytes:
    image = Image.fromarray((GREY % 4).astype(np.uint8), "P")
    image.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0, 10, 20, 30])
    return saved(image, "PNG", transparency=bytes(alpha))


def cmyk() -> np.ndarray:
    return np.concatenate([RGB, GREY[:, :, None] // 2], axis=2)


PALETTE = np.array([[0, 0, 0], [255, 0, 0], [0, 255, 0], [10, 20, 30]])[GREY % 4]
SHARES = DEEP.astype(np.float32) / 65535
BOTH = np.stack([GREY, ALPHA], axis=2)
KEY = np.where(GREY[:, :, None] < 128, RGB, RGB[0, 0])  # many pixels of the colour that is transparent
DEEP_KEY = np.where(DEEP < 30000, DEEP[0, 0], DEEP)
SIXTEEN, FLOATS, WHITE = "of 16 bits, of which 65535 is white", "of floats, of which 0 is black", "shown on white"
# What is in the file, its pixels, and what the log says of it.
KINDS = {
    "RGB": (saved(Image.fromarray(RGB), "PNG"), RGB, None),
    "grey": (saved(Image.fromarray(GREY), "PNG"), in_colour(GREY), None),
    "black and white": (saved(Image.fromarray(GREY > 99), "PNG"), in_colour((GREY > 99) * 255), None),
    "16-bit grey PNG": (saved(Image.fromarray(DEEP), "PNG"), upper(DEEP), SIXTEEN),
    "16-bit grey TIFF": (saved(Image.fromarray(DEEP), "TIFF"), upper(DEEP), SIXTEEN),
    "16-bit grey TIFF, big-endian": (saved(Image.fromarray(DEEP.astype(">u2")), "TIFF"), upper(DEEP), SIXTEEN),
    "16-bit grey TIFF, white is 0": (
        tiff(DEEP.tobytes(), 7, 5, [16], 1, photometric=0), upper(65535 - DEEP), SIXTEEN
    ),
    "16-bit PGM": (b"P5 7 5 65535\n" + DEEP.astype(">u2").tobytes(), upper(DEEP), SIXTEEN),
    "16-bit grey PNG with transparency": (
        png(DEEP_KEY, 16, 0, struct.pack(">H", DEEP[0, 0])),
        np.where(np.equal(DEEP_KEY, DEEP[0, 0])[:, :, None], 255, upper(DEEP_KEY)), WHITE,
    ),
    "16-bit RGB PNG": (png(RGB.astype(int) * 257, 16, 2, bytes(6)), RGB, None),
    "12-bit grey TIFF": (
        tiff(of_12_bits(DEEP[:, :6] // 16), 6, 5, [12], 1, 1), upper(DEEP[:, :6] // 16, 16), "of 12 bits, of which 4095"
    ),
    "float TIFF": (saved(Image.fromarray(SHARES), "TIFF"), in_colour(SHARES * 255.0), FLOATS),
    "RGBA": (saved(Image.fromarray(np.dstack([RGB, ALPHA])), "PNG"), on_white(RGB, ALPHA), WHITE),
    "RGBA, opaque": (saved(Image.fromarray(np.dstack([RGB, 0 * GREY + 255])), "PNG"), RGB, None),
    "black drawing on transparency": (
        saved(Image.fromarray(np.dstack([0 * RGB, CROSS])), "PNG"), in_colour(255 - CROSS), WHITE
    ),
    "grey with alpha": (saved(Image.fromarray(BOTH, "LA"), "PNG"), on_white(in_colour(GREY), ALPHA), WHITE),
    "palette": (palette([255] * 4), PALETTE, None),
    "palette with transparency": (
        palette([0, 255, 255, 0]), np.where((GREY % 4 % 3 == 0)[:, :, None], 255, PALETTE), WHITE
    ),
    "RGB with a transparent colour": (
        png(KEY, 8, 2, struct.pack(">3H", *KEY[0, 0])),
        np.where(np.equal(KEY, KEY[0, 0]).all(axis=2, keepdims=True), 255, KEY), WHITE,
    ),
    "CMYK": (
        saved(Image.fromarray(cmyk(), "CMYK"), "TIFF"),
        (255.0 - cmyk()[:, :, :3]) * (255.0 - cmyk()[:, :, 3:]) / 255, "in CMYK",
    ),
}  # fmt: skip


def row(content: bytes) -> dict:
    return {"image_id": "it", **ImageLocation(data=content)._asdict()}


@pytest.fixture
def log(caplog):
    """What is logged of the images that were opened since the test began."""
    log_counts()
    caplog.set_level(logging.INFO)
    caplog.clear()

    def logged() -> list[str]:
        log_counts()
        return caplog.messages

    return logged


@pytest.mark.parametrize("kind", KINDS)
def test_pixels_are_those_it_was_made_from(kind, tmp_path, log):
    content, expected, said = KINDS[kind]
    (tmp_path / "image").write_bytes(content)
    image = open_image(row(content))
    assert image.mode == "RGB"
    # Pillow mixes colours with white, and inks, in whole numbers.
    np.testing.assert_allclose(np.asarray(image), expected, rtol=0, atol=1 if said in (WHITE, FLOATS, "in CMYK") else 0)
    assert image_size(ImageLocation(str(tmp_path / "image"))) == image.size
    messages = log()
    assert all(message.endswith(": 2") for message in messages)
    assert any(said in message for message in messages) if said else not messages


def test_ordinary_images_are_as_pillow_reads_them():
    for mode in ("RGB", "L"):
        for kind in ("JPEG", "PNG", "WEBP", "BMP"):
            content = saved(Image.fromarray(RGB).resize((90, 61)).convert(mode), kind)
            expected = Image.open(io.BytesIO(content)).convert("RGB")
            assert open_image(row(content)).tobytes() == expected.tobytes()
            large = saved(Image.fromarray(RGB).resize((900, 610)).convert(mode), kind)
            expected = Image.open(io.BytesIO(large)).convert("RGB")
            expected.thumbnail((240, 240))
            assert Image.open(io.BytesIO(thumbnail(row(large)))).tobytes() == expected.tobytes()


# --- upright ---


def turned(picture: np.ndarray, orientation: int, kind: str = "PNG", **options: object) -> bytes:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    return saved(Image.fromarray(as_stored(picture, orientation)), kind, exif=exif, **options)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", SIDES)
def test_images_are_upright(orientation, kind, tmp_path, log):
    picture = np.kron(RANDOM.integers(0, 256, (2, 3, 3), np.uint8), np.ones((16, 16, 1), np.uint8))
    exact = {"JPEG": {"quality": 100, "subsampling": 0}, "WEBP": {"lossless": True}}
    content = turned(picture, orientation, kind, **exact.get(kind, {}))
    (tmp_path / "image").write_bytes(content)
    image = open_image(row(content))
    np.testing.assert_allclose(np.asarray(image, float), picture, rtol=0, atol=3 if kind == "JPEG" else 0)
    assert image_size(ImageLocation(str(tmp_path / "image"))) == (48, 32)
    # Pillow itself turns TIFF upright.
    ours = orientation > 1 and kind != "TIFF"
    assert log() == (["images turned upright, as their EXIF orientation says: 2"] if ours else [])


def test_damaged_exif_is_no_damage_of_the_image():
    text = PngInfo()
    text.add_text("Raw profile type exif", "\n\n\nnone")
    content = saved(Image.fromarray(RGB), "PNG", pnginfo=text)
    with pytest.raises(ValueError, match="hexadecimal"):
        Image.open(io.BytesIO(content)).getexif()
    assert np.array_equal(np.asarray(open_image(row(content))), RGB)


# --- what no one can interpret ---


def refused() -> dict[str, tuple[bytes, str]]:
    """Files whose values could mean any brightness, and what is said of them."""
    floats = RANDOM.normal(size=(5, 7, 3)).astype(np.float32)
    return {
        "a float TIFF of values beyond 0 to 1": (
            saved(Image.fromarray(np.float32([[-3, 0.5], [1, 812.5]])), "TIFF"), "floats from -3 to 812.5"
        ),
        "a float TIFF with NaN": (saved(Image.fromarray(np.float32([[0, np.nan]])), "TIFF"), "floats from nan to nan"),
        "a float TIFF in colour": (tiff(floats.tobytes(), 7, 5, [32] * 3, 3, 2), "a TIFF whose kind of values"),
        "a TIFF of 32-bit whole numbers": (tiff(bytes(140), 7, 5, [32], 2, 1), "mode I,"),
        "a TIFF of signed 16-bit numbers": (tiff(bytes(70), 7, 5, [16], 2, 1), "mode I,"),
        "a TIFF in LAB": (saved(Image.new("LAB", (7, 5)), "TIFF"), "mode LAB,"),
    }  # fmt: skip


@pytest.mark.parametrize("kind", refused())
def test_values_without_a_meaning_are_refused(kind, tmp_path):
    content, said = refused()[kind]
    (tmp_path / "image").write_bytes(content)
    with pytest.raises(UnknownPixels, match=f"{said}.*; save it with 8 bits per channel"):
        image_size(ImageLocation(str(tmp_path / "image")))
    if "in colour" not in kind:
        with pytest.raises(UnknownPixels, match=said):
            open_image(row(content))


# --- wherever pixels are read ---


def test_everyone_sees_the_same(tmp_path, log):
    """A picture whose quarters are known, stored sideways, of 16 bits, of floats, and drawn black on transparency."""
    picture = np.kron(np.uint8([[250, 10], [90, 170]]), np.ones((64, 96), np.uint8))
    transparent = saved(Image.fromarray(np.dstack([0 * in_colour(picture), 255 - picture])), "PNG")
    contents = [
        turned(in_colour(picture), 6),
        saved(Image.fromarray(picture.astype(np.uint16) * 257), "PNG"),
        saved(Image.fromarray(picture.astype(np.float32) / 255), "TIFF"),
        transparent,
    ]
    rows = []
    for number, content in enumerate(contents):
        (tmp_path / str(number)).write_bytes(content)
        width, height = image_size(ImageLocation(str(tmp_path / str(number))))
        assert (width, height) == (192, 128)
        rows.append(
            {
                "image_id": str(number),
                **ImageLocation(str(tmp_path / str(number)))._asdict(),
                "width": width,
                "height": height,
            }
        )
    table = pa.Table.from_pylist(rows, pa.schema([pa.field(name, pa.string()) for name in ("image_id", "path")] + [
        pa.field("data", pa.binary())] + [
        pa.field(name, pa.int64()) for name in ("offset", "length", "width", "height")]))  # fmt: skip
    for image in decode([table], colours, threads=2):
        np.testing.assert_allclose(image.numpy(), in_colour(picture).transpose(2, 0, 1), atol=1)
    for image in decode([table], lambda image: crop(image, 64), threads=2):  # the middle: 64 of 96 columns
        quarters = [image.numpy()[:, y, x] for y, x in ((5, 5), (5, 58), (58, 5), (58, 58))]
        np.testing.assert_allclose(quarters, in_colour(np.array([[250, 10, 90, 170]]))[0], atol=1)
    for entry, (_, shown) in zip(rows, pictures(table), strict=True):
        square = np.asarray(Image.open(io.BytesIO(shown)).convert("L"), float)
        assert abs(square[10, 200] - 255) < 3  # white above what is wider than high
        corners = [square[y, x] for y, x in ((100, 50), (100, SIZE - 50), (SIZE - 100, 50), (SIZE - 100, SIZE - 50))]
        np.testing.assert_allclose(corners, [250, 10, 90, 170], atol=5)
        small = Image.open(io.BytesIO(thumbnail(entry)))
        assert small.size == (192, 128)
        np.testing.assert_allclose(np.asarray(small), in_colour(picture), atol=1)

    class Colours:
        """An encoder that tells the mean colour."""

        def embed_images(self, pixels):
            return pixels.float().mean(dim=(2, 3))

    # The right upper quarter, as annotated in the upright image.
    boxes = {str(number): [("quarter", (96.0, 0.0, 192.0, 64.0))] for number in range(4)}
    for regions in cropped_regions(Colours(), 16, [table], boxes):
        np.testing.assert_allclose(regions.features, [[130] * 3, [10] * 3], atol=1.5)
    assert log() == [  # each opened six times
        "grey images of 16 bits, of which 65535 is white: 6",
        "images of floats, of which 0 is black and 1 white: 6",
        "images turned upright, as their EXIF orientation says: 6",
        "images with transparency, shown on white: 6",
    ]


def test_no_one_else_opens_images():
    """But for boards, which show what was written here: thumbnails, and the pictures of the study."""
    source = Path(__file__).parents[2]
    files = [path for part in ("src", "workflow") for path in (source / part).rglob("*.py")]
    found = {path.name for path in files if "Image.open(" in path.read_text(encoding="utf-8")}
    assert found == {"pixels.py", "boards.py"}
