"""Images as upright, RGB, 8-bit pixels, from their places. Every image is opened here and nowhere else.

Conversions that interpret pixel values are counted for the job's log; docs/data.md describes them.
"""

import os
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from PIL import Image, UnidentifiedImageError
from PIL.ExifTags import Base
from PIL.Image import Transpose
from PIL.TiffImagePlugin import BITSPERSAMPLE, PHOTOMETRIC_INTERPRETATION, TiffImageFile
from pillow_heif import is_supported, register_heif_opener

from captionlab.images.locations import ImageLocation, location_of, open_location
from captionlab.jobs.progress import count

# HEIC, the photographs of phones. Images are opened in several threads, so one thread for each is enough. With
# thumbnails, `draft` would decode the small copy in a file instead of its image.
register_heif_opener(decode_threads=1, thumbnails=False, depth_images=False, aux_images=False)
# Formats whose files Pillow recognises and cannot decode (tables of weather, films), or has to draw (vector graphics).
_WITHOUT_PIXELS = {"BUFR", "GRIB", "HDF5", "MPEG", "EPS", "WMF"}
# Endings of file names of images, in lower case, such as .jpg. Pillow opens MPO, which cameras write, as JPEG.
ENDINGS = frozenset(
    ending for ending, kind in Image.registered_extensions().items() if kind in {*Image.OPEN, "MPO"} - _WITHOUT_PIXELS
)
# Modes that Pillow can convert into RGB, beside modes with transparency.
_COLOURS = {"1", "L", "P", "RGB", "RGBX", "YCbCr", "CMYK"}
# The transposition that turns an image upright, by EXIF orientation. The last four swap width and height.
_TURNS = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
_SWAPPING = [*_TURNS.values()][3:]


class UnknownPixels(ValueError):
    """The pixel values of an image cannot be interpreted as colours. The message says of what kind they are."""

    def __init__(self, found: str):
        super().__init__(f"{found}; save it with 8 bits per channel")


def open_image(row: Mapping[str, Any]) -> Image.Image:
    """Return the image of a row of IMAGES, upright, in RGB.

    Raises UnknownPixels, or an error of Pillow if the bytes are damaged.
    """
    with open_location(location_of(row)) as file, Image.open(file) as image:
        pixels, turn = _rgb(image), _turn(image)
    return pixels if turn is None else pixels.transpose(turn)


def image_size(place: ImageLocation) -> tuple[int, int]:
    """Return width and height, in pixels, of an image as `open_image` returns it. Raises the same errors.

    The image is decoded to its end, the only way to detect a truncated file.
    """
    try:
        with open_location(place) as file, Image.open(file) as image:
            width, height = image.size
            # A JPEG can be decoded to grey at an eighth of its size: every byte is still read, in half the time.
            is_smaller = image.draft("L", (1, 1)) is not None
            pixels = _rgb(image)
            if not is_smaller:  # icons and HEIC may state another size than they have
                width, height = pixels.size
            if image.format == "HEIF":
                _check_pixels_of_heif(file)
            return (height, width) if _turn(image) in _SWAPPING else (width, height)
    except UnidentifiedImageError:
        if _is_unknown_tiff(place):
            raise UnknownPixels("a TIFF whose kind of values Pillow does not know, such as floats in colour") from None
        raise


def is_heif(place: ImageLocation) -> bool:
    """Return whether an image is HEIC or HEIF, which most other programs cannot open."""
    with open_location(place) as file:
        return is_supported(file)


def _check_pixels_of_heif(file: BinaryIO) -> None:
    """Raise OSError if a HEIC file ends within its pixels. Its decoder would leave missing tiles grey.

    The file is a sequence of boxes, each with its size and type. The size 1 says that 8 more bytes have the size, and
    0 that the box is the last. Cameras append other data than boxes, so only the size of the box of pixels counts.
    """
    end, start, size = file.seek(0, os.SEEK_END), 0, 8
    while start < end and size >= 8:
        file.seek(start)
        head = file.read(16)
        size = int.from_bytes(head[:4])
        if size == 1:
            size = int.from_bytes(head[8:])
        if head[4:8] == b"mdat" and start + size > end:
            raise OSError("the file ends before its image does")
        start += size


def _rgb(image: Image.Image) -> Image.Image:
    """Return a decoded image in RGB, without a copy if it is in RGB already."""
    image.load()
    if image.mode == "F" or image.mode.startswith("I;16") or (image.mode, image.format) == ("I", "PPM"):
        image = _of_8_bits(image)
    if image.has_transparency_data:
        return _on_white(image)
    if image.mode not in _COLOURS:
        raise UnknownPixels(
            f"its values are of Pillow's mode {image.mode}, in which neither black nor white is a certain number"
        )
    if image.mode == "CMYK":
        count("images in CMYK, turned into RGB without their colour profile")
    return image if image.mode == "RGB" else image.convert("RGB")


def _of_8_bits(image: Image.Image) -> Image.Image:
    """Return a grey image with 8 bits: the upper 8 bits of 16, as Pillow does in colour, or scaled floats of 0 to 1."""
    tags = image.tag_v2 if isinstance(image, TiffImageFile) else {}
    values = np.asarray(image)
    if image.mode == "F":
        if not ((values >= 0) & (values <= 1)).all():
            raise UnknownPixels(
                f"its values are floats from {values.min():g} to {values.max():g}, and only 0 (black) to 1 (white) "
                "is understood"
            )
        grey = np.rint(values * 255).astype(np.uint8)
        count("images of floats, of which 0 is black and 1 white")
    else:
        bits = tags.get(BITSPERSAMPLE, (16,))[0]
        grey = (values >> (bits - 8)).astype(np.uint8)
        count(f"grey images of {bits} bits, of which {2**bits - 1} is white")
    if tags.get(PHOTOMETRIC_INTERPRETATION) == 0:  # white is 0, which Pillow respects in 8-bit images only
        grey = 255 - grey
    result = Image.fromarray(grey)
    if "transparency" in image.info:
        result.putalpha(Image.fromarray(values != image.info["transparency"]).convert("L"))
    return result


def _on_white(image: Image.Image) -> Image.Image:
    """Return an image with transparency on a white background."""
    # Pillow cannot turn premultiplied grey into colour in one step.
    colours = (image.convert("LA") if image.mode == "La" else image).convert("RGBA")
    alpha = colours.getchannel("A")
    if alpha.getextrema() == (255, 255):
        return colours.convert("RGB")
    count("images with transparency, shown on white")
    result = Image.new("RGB", image.size, "white")
    result.paste(colours, mask=alpha)
    return result


def _turn(image: Image.Image) -> Transpose | None:
    """Return the transposition that turns a decoded image upright, or None. Pillow turns TIFF files itself."""
    try:
        turn = _TURNS.get(image.getexif().get(Base.Orientation, 1))
    except Exception:  # damaged EXIF data may raise any error, while the pixels are intact
        return None
    if turn is not None:
        count("images turned upright, as their EXIF orientation says")
    return turn


def _is_unknown_tiff(place: ImageLocation) -> bool:
    """Return whether Pillow cannot open a TIFF because of its kind of values.

    The error of `Image.open` does not tell.
    """
    try:
        with open_location(place) as file, TiffImageFile(file):
            return False
    except SyntaxError as error:
        return str(error) == "unknown pixel mode"
