"""Small copies of images for HTML tables."""

import io
from collections.abc import Mapping
from typing import Any

from captionlab.images.pixels import open_image

SIDE = 240


def thumbnail(row: Mapping[str, Any]) -> bytes:
    """Return a PNG, at most SIDE pixels on either side, of a row of IMAGES; empty if its file can no longer be read."""
    try:
        small = open_image(row)
    except OSError:
        return b""
    small.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    small.save(stream, "PNG", optimize=True)
    return stream.getvalue()
