"""Region features from given boxes: each box is cropped and embedded by an encoder (as in R-CNN, Girshick et al. 2014).

A crop is resized to the square input of the encoder. Pooling the encoder's grid features of the whole image over a box
would be cheaper, but small encoders have few grid cells, and the toy world's encoder has only one. The first region of
an image is the whole image.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import tee

import numpy as np
import pyarrow as pa
import torch
from PIL import Image
from torch import Tensor

from captionlab.encoders.encoder import Encoder
from captionlab.encoders.images import colours, decode, squeeze
from captionlab.regions.tables import ImageRegions

# Label, and box: left, top, right and bottom edge in pixels.
Box = tuple[str | None, tuple[float, float, float, float]]


def boxes_by_image(objects: pa.Table) -> dict[str, list[Box]]:
    """Return the labels and boxes of each image in a table of objects."""
    found: dict[str, list[Box]] = {}
    names = ("image_id", "label", "x1", "y1", "x2", "y2")
    for image, label, *box in zip(*(objects[name].to_pylist() for name in names), strict=True):
        found.setdefault(image, []).append((label, (box[0], box[1], box[2], box[3])))
    return found


def cut_out(image: Image.Image, box: Sequence[float], size: int) -> Tensor:
    """Crop a box from an RGB image and resize it (bicubic) in both directions; the result is uint8 (3, size, size).

    The crop contains all pixels that the box touches. If the box touches no pixel, the crop is the nearest pixel.
    """
    edges = []
    for start, end, length in ((box[0], box[2], image.width), (box[1], box[3], image.height)):
        first = min(max(math.floor(start), 0), length - 1)
        edges.append((first, max(first + 1, min(math.ceil(end), length))))
    (left, right), (top, bottom) = edges
    return squeeze(image.crop((left, top, right, bottom)), size)


def cropped_regions(
    encoder: Encoder,
    size: int,
    images: Iterable[pa.Table],
    boxes: Mapping[str, Sequence[Box]],
    threads: int = 1,
    batch: int = 64,
) -> Iterator[ImageRegions]:
    """Yield the regions of each image of tables, the whole image first, each resized to `size` pixels and embedded."""
    named, shown = tee(images)
    pixels = decode(shown, colours, threads, 2 * batch)
    sizes = (table.select(["image_id", "width", "height"]) for table in named)
    for rows in (rows for table in sizes for rows in table.to_batches(max_chunksize=batch)):
        found: list[list[Box]] = []
        parts: list[Tensor] = []
        for image, width, height in zip(*(column.to_pylist() for column in rows.columns), strict=True):
            found.append([(None, (0.0, 0.0, float(width), float(height))), *boxes.get(image, ())])
            picture = Image.fromarray(next(pixels).permute(1, 2, 0).numpy())
            parts.append(torch.stack([cut_out(picture, box, size) for _, box in found[-1]]))
        features = encoder.embed_images(torch.cat(parts)).cpu().split([len(part) for part in parts])
        for row, given, of_image in zip(rows.to_pylist(), found, features, strict=True):
            yield ImageRegions(
                row["image_id"],
                width=row["width"],
                height=row["height"],
                boxes=np.array([box for _, box in given], np.float32),
                features=of_image.numpy(),
                label=[label for label, _ in given],
            )
