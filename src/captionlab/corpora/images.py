"""Checks that image files can be decoded to the end, several images at a time."""

import struct
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from errno import EACCES, EIO, EMFILE, ENFILE, ENOMEM, EPERM, ESTALE, ETIMEDOUT
from typing import TypeVar

from PIL import UnidentifiedImageError
from PIL.Image import MAX_IMAGE_PIXELS, DecompressionBombError

from captionlab.images.locations import ImageLocation, open_location
from captionlab.images.pixels import UnknownPixels, image_size

T = TypeVar("T")

# Errors of the machine, not of the image: leaving the image out would change the corpus from run to run.
_MACHINE = {EACCES, EIO, EMFILE, ENFILE, ENOMEM, EPERM, ESTALE, ETIMEDOUT}
# Pending checks per thread: enough to keep a thread busy, few enough to bound memory.
IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class Fault:
    """The reason why an entry is left out, as in the reasons of REJECTS, and details."""

    reason: str
    detail: str


def check_image(place: ImageLocation) -> tuple[int, int] | Fault:
    """Return the width and height of the upright image in pixels, or the fault that rules the image out.

    Raises OSError for errors of the machine (too many open files, a failing disk, a file without read permission),
    which say nothing about the image.
    """
    try:
        if place.size == 0:
            return Fault("empty", "0 bytes")
        return image_size(place)
    except (FileNotFoundError, NotADirectoryError):
        return Fault("missing", "no such file")
    except IsADirectoryError:
        return Fault("missing", "the entry names a folder in place of an image file, or no file at all")
    except DecompressionBombError:
        return Fault(
            "too-large", f"more than {2 * (MAX_IMAGE_PIXELS or 0):,} pixels, the limit of Pillow; scale it down"
        )
    except UnknownPixels as error:
        return Fault("unsupported", str(error))
    except UnidentifiedImageError:
        if zero_size := _zero_size_in_header(place):
            return Fault("zero-size", f"{zero_size[0]} x {zero_size[1]} pixels")
        return Fault("broken", "not an image that Pillow can read")
    except OSError as error:
        if error.errno in _MACHINE:
            raise
        return Fault("broken", error.strerror or str(error))
    except Exception as error:  # decoders raise all kinds of errors on damaged bytes
        return Fault("broken", f"{type(error).__name__}: {error}")


def check_images(
    items: Iterable[tuple[T, ImageLocation | None]], threads: int
) -> Iterator[tuple[T, tuple[int, int] | Fault | None]]:
    """Run `check_image` on pairs of an item and its place in several threads, and yield the results in order.

    If the place is None, the result is None. At most `IN_FLIGHT` items per thread are read ahead, so memory does not
    depend on the number of items.
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[T, Future[tuple[int, int] | Fault] | None]] = deque()
        for item, place in items:
            waiting.append((item, None if place is None else pool.submit(check_image, place)))
            if len(waiting) == IN_FLIGHT * threads:
                first, check = waiting.popleft()
                yield first, None if check is None else check.result()
        for first, check in waiting:
            yield first, None if check is None else check.result()


def _zero_size_in_header(place: ImageLocation) -> tuple[int, int] | None:
    """Return the width and height of a PNG, GIF or BMP file whose header states zero pixels, else None.

    Pillow does not recognise such a file as an image.
    """
    with open_location(place) as file:
        head = file.read(26)
    for magic, start, sizes in ((b"\x89PNG", 16, ">II"), (b"GIF8", 6, "<HH"), (b"BM", 18, "<ii")):
        if head.startswith(magic) and len(head) >= start + struct.calcsize(sizes):
            width, height = struct.unpack_from(sizes, head, start)
            return (width, height) if 0 in (width, height) else None
    return None
