"""Places of images: a file of their own, a part of a container such as a tar, or bytes in a table."""

import io
import os
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple


class ImageLocation(NamedTuple):
    """The place of the bytes of an encoded image. Its fields are columns of IMAGES.

    For a file of its own, only `path` is set. For a part of a container, `path` is the container, and `offset` and
    `length` are the part in bytes. For bytes, only `data` is set.
    """

    path: str | None = None
    offset: int | None = None
    length: int | None = None
    data: bytes | None = None

    @property
    def size(self) -> int:
        """Return the number of bytes of the encoded image. Raises OSError if its file does not exist."""
        if self.data is not None:
            return len(self.data)
        return os.path.getsize(str(self.path)) if self.length is None else self.length

    def __str__(self) -> str:
        if self.data is not None:
            return "bytes in the table of images"
        return str(self.path) if self.offset is None else f"{self.path}, byte {self.offset}"


# Columns of IMAGES, beside `image_id`, that are needed to open images.
LOCATION = list(ImageLocation._fields)


def location_of(row: Mapping[str, Any]) -> ImageLocation:
    """Return the place in a row of IMAGES."""
    return ImageLocation(*(row[name] for name in LOCATION))


def open_location(place: ImageLocation) -> BinaryIO:
    """Return the encoded image as a file to read. Raises EOFError if its container is too short."""
    if place.data is not None:
        return io.BytesIO(place.data)
    file = open(str(place.path), "rb", 0 if place.length is not None else -1)  # noqa: SIM115
    if place.length is None:
        return file
    with file:
        file.seek(place.offset or 0)
        content = file.read(place.length)
    if len(content) < place.length:
        raise EOFError(f"{place.path} ends before the image does, which is at byte {place.offset}")
    return io.BytesIO(content)
