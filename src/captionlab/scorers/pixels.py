"""Images of tables for scorers that read pixels."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from PIL import Image

from captionlab.encoders.images import decode
from captionlab.images.locations import LOCATION
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import TableError, read_table


def open_pixels(paths: Sequence[str], prepare: Callable[[Image.Image], Any]) -> Callable[[Sequence[str]], list[Any]]:
    """Return a function that decodes images of tables by their ids and preprocesses each by `prepare`, in threads.

    The function raises TableError for an image that is not in the tables.
    """
    table = Groups(paths, IMAGES, ["image_id", *LOCATION])
    ids = read_table(paths, IMAGES, ["image_id"])["image_id"]
    row = {image: row for row, image in enumerate(ids.to_pylist())}

    def prepared(images: Sequence[str]) -> list[Any]:
        if missing := [image for image in images if image not in row]:
            raise TableError(f"{', '.join(paths)}: there is no image {missing[0]!r}")
        rows = table.take([row[image] for image in images])
        return list(decode([rows], prepare, threads=torch.get_num_threads()))

    return prepared
