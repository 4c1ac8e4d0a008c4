"""Images as an encoder wants them, and the table of their embeddings."""

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
from captionlab.groups import Groups
from captionlab.pixels import open_image
from captionlab.places import PLACE, place_of
from captionlab.progress import progress
from captionlab.schemas import IMAGES, embeddings_schema
from captionlab.shards import shard_rows
from captionlab.tables import TableWriter

Prepared = TypeVar("Prepared")


def normalise(pixels: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """Pixels (n, 3, height, width), 0 to 255, scaled to 0..1, then to mean 0 and deviation 1."""
    centre = torch.tensor(mean, device=pixels.device).view(3, 1, 1)
    spread = torch.tensor(std, device=pixels.device).view(3, 1, 1)
    return (pixels.float() / 255 - centre) / spread


def crop(image: Image.Image, size: int) -> Tensor:
    """An RGB image as bytes (3, size, size): its shorter side resized to `size` (bicubic), then the middle cut out.

    As in github.com/openai/CLIP (`_transform`).
    """
    width, height = image.size
    shorter = min(width, height)
    # The longer side is rounded down and the middle is rounded half to even, as torchvision does.
    width, height = int(size * width / shorter), int(size * height / shorter)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BICUBIC)
    left, top = round((width - size) / 2), round((height - size) / 2)
    array = np.asarray(image)[top : top + size, left : left + size]
    return torch.from_numpy(array.transpose(2, 0, 1).copy())


def colours(image: Image.Image) -> Tensor:
    """An RGB image as bytes (3, height, width), of its own size."""
    return torch.from_numpy(np.asarray(image).transpose(2, 0, 1).copy())


def squeeze(image: Image.Image, size: int) -> Tensor:
    """An RGB image as bytes (3, size, size), resized (bicubic) in both directions."""
    return colours(image.resize((size, size), Image.Resampling.BICUBIC))


def decode(
    images: Iterable[pa.Table], prepare: Callable[[Image.Image], Prepared], threads: int, ahead: int = 512
) -> Iterator[Prepared]:
    """Prepared images of tables (image_id and PLACE), at most `ahead` in memory; ValueError names a broken one."""
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
    except Exception as error:  # decoders raise whatever damaged bytes make them stumble over
        raise ValueError(
            f"image {row['image_id']!r} ({place_of(row)}) cannot be decoded: {error}; it could be when its corpus was "
            "read, so restore it, or delete the tables of the corpus and run again to leave it out"
        ) from error


def _rows_of_shard(
    images: str | os.PathLike[str], shard: str, split: str | None
) -> tuple[int, Callable[[Sequence[str]], Iterator[pa.Table]]]:
    """How many rows a shard of a table of images has, or of those of a split, and what reads some columns of them.

    Groups of rows that the shard has nothing of are not read: bytes of images may be in them.
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
    """Write the embeddings, or the patch features, of a shard of a table of images to `output`, in its order.

    With `split` the shard is one of the images of that split, and no others are opened.
    """
    count, read = _rows_of_shard(images, shard, split)
    # Half precision would change the rank of about two in a thousand captions of the toy world. No caption is ranked
    # by patch features, which are large.
    shape = encoder.patch_shape if patches else (encoder.image_dimensions,)
    kind = embeddings_schema(math.prod(shape), "float16" if patches else "float32")
    embed, metadata = (encoder.embed_patches, {SHAPE: list(shape)}) if patches else (encoder.embed_images, None)
    rows = read(["image_id", *PLACE])
    pixels = progress(decode(rows, encoder.preprocess, threads, 2 * batch), "images", count)
    ids = (image for table in read(["image_id"]) for image in table["image_id"].to_pylist())
    with TableWriter(output, kind, metadata) as writer:
        # A row group at a time: written batch by batch, a large table would fall into tiny pieces.
        while group := list(islice(ids, kind.group_rows)):
            batches = (islice(pixels, min(batch, len(group) - done)) for done in range(0, len(group), batch))
            values = torch.cat([embed(torch.stack(list(images_of))).cpu() for images_of in batches])
            writer.write(embedding_rows(pa.chunked_array([group], pa.string()), values.numpy(), kind, output))
