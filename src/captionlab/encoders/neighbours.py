"""The most similar other images of each image, by the cosine of an encoder's embeddings: hard negatives.

Dessì et al. 2023, appendix D.2; in the authors' code scripts/compute_hard_negatives.py.
"""

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn.functional import normalize

from captionlab.progress import progress
from captionlab.schemas import IMAGE_ID
from captionlab.tables import Column, TableError, TableSchema, read_table

NEIGHBOURS = TableSchema(
    "neighbours",
    "an image of a split and those of the same split that look most like it",
    ("image_id",),
    image_id=IMAGE_ID,
    neighbours=Column(pa.list_(pa.string()), "other images, the most similar first"),
    similarities=Column(pa.list_(pa.float32()), "cosine of each with the image"),
)
# Similarities held at a time; bounds memory to about 250 MB.
SCORES = 64_000_000


def nearest(embeddings: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Rows (n, count) of the `count` most similar others of each embedding (n, d), best first, and their cosines.

    An image is no neighbour of itself, a copy of it is. ValueError when there are too few others.
    """
    images = len(embeddings)
    if count >= images:
        raise ValueError(
            f"{count} neighbours are wanted and there are {images} images; lower reward.hard_negatives, or take a "
            "larger corpus"
        )
    unit = normalize(embeddings.float(), dim=1)
    found = []
    chunk = max(1, SCORES // images)
    starts = range(0, images, chunk)
    for start in progress(starts, "parts of the images", len(starts)):
        scores = unit[start : start + chunk] @ unit.T
        scores.diagonal(start).fill_(-torch.inf)
        found.append(scores.topk(count, dim=1))
    return torch.cat([best.indices for best in found]), torch.cat([best.values for best in found])


def neighbour_columns(ids: Sequence[str], rows: Tensor, similarities: Tensor) -> dict[str, pa.Array | list[str]]:
    """Columns of the NEIGHBOURS table of images `ids`."""
    names = np.array(ids, dtype=object)[rows.cpu().numpy()]
    return {
        "image_id": list(ids),
        "neighbours": pa.array(names.tolist(), pa.list_(pa.string())),
        "similarities": pa.array(similarities.cpu().tolist(), pa.list_(pa.float32())),
    }


def read_neighbours(path: str | os.PathLike[str], ids: Sequence[str], count: int) -> Tensor:
    """Rows (len(ids), count), among `ids`, of their nearest neighbours; TableError for a table of others or fewer."""
    table = read_table(path, NEIGHBOURS, ["image_id", "neighbours"])
    found = dict(zip(table["image_id"].to_pylist(), table["neighbours"].to_pylist(), strict=True))
    place = {image_id: row for row, image_id in enumerate(ids)}
    try:
        rows = [[place[other] for other in found[image_id][:count]] for image_id in ids]
    except KeyError as error:
        raise TableError(f"{path}: image {error.args[0]!r} is in one of table and split only; mine again") from error
    if short := [image_id for image_id, others in zip(ids, rows, strict=True) if len(others) < count]:
        raise TableError(f"{path}: image {short[0]!r} has fewer than {count} neighbours; mine again")
    return torch.tensor(rows, dtype=torch.long)
