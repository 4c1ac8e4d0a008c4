"""The references that captions are compared with."""

import os

from captionlab.storage.schemas import TOKENS
from captionlab.storage.tables import read_table


def read_references(path: str | os.PathLike[str], max_per_image: int | None = None) -> dict[str, list[str]]:
    """Return the tokenised references of each image from a table of TOKENS: all, or the first `max_per_image`."""
    found: dict[str, list[str]] = {}
    for row in read_table(path, TOKENS).sort_by("caption_index").to_pylist():
        if max_per_image is None or row["caption_index"] < max_per_image:
            found.setdefault(row["image_id"], []).append(row["tokens"])
    return found
