"""Preprocessing of images for encoders, and the table of their embeddings."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import torch
from PIL import Image
from torch import Tensor

from captionlab.encoders.embeddings import SHAPE, embedding_rows
from captionlab.encoders.encoder import Encoder
from captionlab.images.locations import LOCATION, location_of
from captionlab.images.pixels import open_image
from captionlab.jobs.progress import progress
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import IMAGES, embeddings_schema
from captionlab.storage.shards import shard_rows
from captionlab.storage.tables import TableWriter

Prepared = TypeVar("Prepared")


def normalise(pixels: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Scale pixels (n, 3, height, width) from 0..255 to 0..1, subtract the mean and divide by the deviation."""
    centre = torch.tensor(mean, device=pixels.device).view(3, 1, 1)
    spread = torch.tensor(std, device=pixels.device).view(3, 1, 1)
    return (pixels.float() / 255 - centre) / spread


def crop(image: Image.Image, size: int) -> Tensor:
    """Return the centre of an RGB image as uint8 (3, size, size), its shorter side resized to `size` (bicubic).

    As in github.com/openai/CLIP (`_transform`).
    """
    width, height = image.size
    shorter = min(width, height)
    # The longer side is rounded down and the centre is rounded half to even, as in torchvision.
    width, height = int(size * width / shorter), int(size * height / shorter)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    left, top = round((width - size) / 2), round((height - size) / 2)
    array = np.asarray(image)[top : top + size, left : left + size]
    return torch.from_numpy(array.transpose(2, 0, 1).copy())


def colours(image: Image.Image) -> Tensor:
    """Return an RGB image as uint8 (3, height, width), in its own size."""
    return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy())


def squeeze(image: Image.Image, size: int) -> Tensor:
    """Return an RGB image as uint8 (3, size, size), resized (bicubic) in both directions."""
    return colours(image.resize((size, size), Image.Resampling.BICUBIC))


def decode(
    images: Iterable[pa.Table], prepare: Callable[[Image.Image], Prepared], threads: int, ahead: int = 512
) -> Iterator[Prepared]:
    """Yield the preprocessed images of tables with the columns image_id and PLACE, with at most `ahead` in memory.

    `prepare` runs in `threads` threads. Raises ValueError that names an image that cannot be decoded.
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Prepared]] = deque()
        for chunk in (chunk for table in images for chunk in table.to_batches(max_chunksize=ahead)):
            for row in chunk.to_pylist():
                waiting.append(pool.submit(_decode_one, row, prepare))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _decode_one(row: dict[str, Any], prepare: Callable[[Image.Image], Prepared]) -> Prepared:
    try:
        return prepare(open_image(row))
    except Exception as error:  # decoders raise any type of error for damaged bytes
        raise ValueError(
            f"image {row['image_id']!r} ({location_of(row)}) cannot be decoded: {error}; it could be when its corpus "
            "was read, so restore it, or delete the tables of the corpus and run again to leave it out"
        ) from error


def _rows_of_shard(
    images: str | os.PathLike[str], shard: str, split: str | None
) -> tuple[int, Callable[[Sequence[str]], Iterator[pa.Table]]]:
    """Return the number of rows in a shard of a table of images, and a function that reads some columns of the rows.

    With `split`, the shard is a part of the images of the split. Row groups without rows of the shard are not read,
    because they may contain the bytes of images.
    """
    if split is None:
        part = shard_rows(shard, Groups([images], IMAGES, ["image_id"]).rows)
        return part.stop - part.start, lambda columns: Groups([images], IMAGES, columns).parts(part)
    splits = Groups([images], IMAGES, ["split"])
    rows = [np.flatnonzero(splits[group]["split"].to_numpy() == split) for group in range(len(splits))]
    part = shard_rows(shard, sum(map(len, rows)))
    before = np.cumsum([0, *map(len, rows)])[:-1]
    chosen = [found[max(part.start - n, 0) : max(part.stop - n, 0)] for found, n in zip(rows, before, strict=True)]

    def read(columns: Sequence[str]) -> Iterator[pa.Table]:
        groups = Groups([images], IMAGES, columns)
        return (groups[number].take(found) for number, found in enumerate(chosen) if len(found))

    return part.stop - part.start, read


def embed_images(
    encoder: Encoder,
    images: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    shard: str = "0-of-1",
    threads: int = 1,
    batch: int = 256,
    patches: bool = False,
    split: str | None = None,
) -> None:
    """Write the embeddings, or the patch features, of a shard of a table of images to `output`, in the table's order.

    With `split`, the shard is a part of the images of the split, and no other images are opened. `batch` images are
    embedded at a time. Raises ValueError that names an image that cannot be decoded.
    """
    count, read = _rows_of_shard(images, shard, split)
    # Half precision would change the rank of about two in a thousand captions of the toy world. Patch features are
    # large, and no caption is ranked by them, so they are stored in half precision.
    shape = encoder.patch_shape if patches else (encoder.image_dimensions,)
    kind = embeddings_schema(math.prod(shape), "float16" if patches else "float32")
    embed, metadata = (encoder.embed_patches, {SHAPE: list(shape)}) if patches else (encoder.embed_images, None)
    rows = read(["image_id", *LOCATION])
    pixels = progress(decode(rows, encoder.preprocess, threads, 2 * batch), "images", count)
    ids = (image for table in read(["image_id"]) for image in table["image_id"].to_pylist())
    with TableWriter(output, kind, metadata) as writer:
        # Writes a row group at a time. Writing batch by batch would split a large table into tiny groups.
        while group := list(islice(ids, kind.group_rows)):
            batches = (islice(pixels, min(batch, len(group) - done)) for done in range(0, len(group), batch))
            values = torch.cat([embed(torch.stack(list(images_of))).cpu() for images_of in batches])
            writer.write(embedding_rows(pa.chunked_array([group], pa.string()), values.numpy(), kind, output))
