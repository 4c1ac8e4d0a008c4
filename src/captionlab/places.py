"""Where an image lies: in a file of its own, in a part of a container such as a tar, or in a table, as bytes."""

import io
import os
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple


class Place(NamedTuple):
    """Where the bytes of an encoded image are; its fields are columns of IMAGES.

    A file of its own: `path` alone. A part of a container: the path of the container, and `offset` and `length` of the
    part in bytes. Bytes: `data` alone.
    """

    path: str | None = None
    offset: int | None = None
    length: int | None = None
    data: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes of the encoded image; OSError where its file is not there."""
        if self.data is not None:
            return len(self.data)
        return os.path.getsize(str(self.path)) if self.length is None else self.length

    def __str__(self) -> str:
        if self.data is not None:
            return "bytes in the table of images"
        return str(self.path) if self.offset is None else f"{self.path}, byte {self.offset}"


# What those who open images read of IMAGES, beside `image_id`.
PLACE = list(Place._fields)


def place_of(row: Mapping[str, Any]) -> Place:
    """The place in a row of IMAGES."""
    return Place(*(row[name] for name in PLACE))


def open_place(place: Place) -> BinaryIO:
    """The encoded image as a file to read; EOFError where its container ends before it does."""
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
