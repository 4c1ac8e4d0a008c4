"""Hard negatives: the most similar other images of each image, by the cosine of an encoder's embeddings.

Dessì et al. 2023, appendix D.2; in the authors' code scripts/compute_hard_negatives.py.
"""

import os
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from torch.nn.functional import normalize

from captionlab.jobs.progress import progress
from captionlab.storage.schemas import IMAGE_ID
from captionlab.storage.tables import Column, TableError, TableSchema, read_table

NEIGHBOURS = TableSchema(
    "neighbours",
    "an image and its most similar images in the same split",
    ("image_id",),
    image_id=IMAGE_ID,
    neighbours=Column(pa.list_(pa.string()), "other images, the most similar first"),
    similarities=Column(pa.list_(pa.float32()), "cosine of each neighbour with the image"),
)
# Number of similarities in memory at a time, which limits memory to about 250 MB.
SCORES = 64_000_000


def nearest(embeddings: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the rows (n, count) of the most similar other embeddings of each embedding (n, d), and their cosines.

    The most similar embedding is the first. An image is not a neighbour of itself, but a copy of the image is. Raises
    ValueError if `count` is not below n.
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
    for start in progress(starts, "parts of the images", len(starts)) if len(starts) > 1 else starts:
        scores = unit[start : start + chunk] @ unit.T
        scores.diagonal(start).fill_(-torch.inf)
        found.append(scores.topk(count, dim=1))
    return torch.cat([best.indices for best in found]), torch.cat([best.values for best in found])


def neighbour_columns(ids: Sequence[str], rows: Tensor, similarities: Tensor) -> dict[str, pa.Array | list[str]]:
    """Return the columns of the NEIGHBOURS table for the images `ids`, from the result of `nearest`."""
    names = np.array(ids, dtype=object)[rows.cpu().numpy()]
    return {
        "image_id": list(ids),
        "neighbours": pa.array(names.tolist(), pa.list_(pa.string())),
        "similarities": pa.array(similarities.cpu().tolist(), pa.list_(pa.float32())),
    }


def read_neighbours(path: str | os.PathLike[str], ids: Sequence[str], count: int) -> Tensor:
    """Return the nearest neighbours of the images `ids` as row numbers in `ids`, int64 (len(ids), count).

    Raises TableError if the table is of other images or has fewer than `count` neighbours of an image.
    """
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
