"""The images of the study as files of one form, whatever the corpus has, under names that say nothing of them."""

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from PIL import Image

# Height and width, pixels: sharp on a large screen, and a screen of ten is some 300 kB.
SIZE = 400
QUALITY = 88
PAPER = (255, 255, 255)


def file_name(image_id: str) -> str:
    """Name of the file of an image; ids may hold anything, and a number would tell neighbours in a video."""
    return hashlib.sha256(image_id.encode()).hexdigest()[:16] + ".jpg"


def pictures(images: pa.Table) -> Iterator[tuple[str, bytes]]:
    """File name and JPEG of each image of a table, padded to a square with white, the background of every screen."""
    for row in images.to_pylist():
        with Image.open(row["path"] if row["data"] is None else io.BytesIO(row["data"])) as opened:
            image = opened.convert("RGB")
        scale = SIZE / max(image.size)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        image = image.resize(size, Image.Resampling.BICUBIC)
        square = Image.new("RGB", (SIZE, SIZE), PAPER)
        square.paste(image, ((SIZE - image.width) // 2, (SIZE - image.height) // 2))
        stream = io.BytesIO()
        square.save(stream, "JPEG", quality=QUALITY)
        yield file_name(row["image_id"]), stream.getvalue()


def write_pictures(files: Iterator[tuple[str, bytes]], directories: list[Path]) -> None:
    """Write the same files into several folders, which are made."""
    for directory in directories:
        directory.mkdir(parents=True, exist_ok=True)
    for name, content in files:
        for directory in directories:
            (directory / name).write_bytes(content)
