"""Small copies of images for HTML tables."""

import io
from collections.abc import Mapping
from typing import Any

from PIL import Image

SIDE = 240


def thumbnail(row: Mapping[str, Any]) -> bytes:
    """A PNG, no larger than SIDE on either side, of a row of IMAGES; nothing when its file can no longer be read."""
    try:
        with Image.open(row["path"] if row["data"] is None else io.BytesIO(row["data"])) as image:
            small = image.convert("RGB")
    except OSError:
        return b""
    small.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    small.save(stream, "PNG", optimize=True)
    return stream.getvalue()
