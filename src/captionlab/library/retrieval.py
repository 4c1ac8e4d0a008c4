"""Retrieval of images by captions in one call."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from captionlab.evaluation.metrics.retrieval.metric import ranks, unit_length
from captionlab.library.installed import models_needed
from captionlab.library.intervals import Interval, intervals

if TYPE_CHECKING:
    from captionlab.library.images import AnyImage

Protocol = Literal["full", "file-order", "random"]
PROTOCOLS = get_args(Protocol)


class Retrieval(NamedTuple):
    """The result of a search for the image of each caption."""

    p_at_1: Interval
    """share, 0 to 1, of the captions that find their image first, with its 95 % interval"""
    ranks: pd.DataFrame
    """a row for each scored caption: `caption` and `image`, their row numbers; `rank` of the image, from 1;
    `candidates`, the number of images to choose from; `chosen`, the row number of the image that was found"""


def retrieve(
    captions: Sequence[str] | np.ndarray,
    images: "Sequence[AnyImage] | np.ndarray",
    encoder: str | os.PathLike[str] | None = None,
    *,
    targets: Sequence[int] | None = None,
    protocol: Protocol = "full",
    candidates: int = 100,
    seed: int = 0,
    device: str | None = None,
) -> Retrieval:
    """Search for the image of each caption among candidates, by the cosine of their embeddings.

    `captions` are n texts, or their embeddings (n, d). `images` are m files or images of Pillow, or their embeddings
    (m, d). `encoder` is the folder of an encoder of a run (`run.model("encoders", NAME)`), or of a CLIP or SigLIP of
    transformers; it is not needed if both are embeddings. `targets` (n,) are the row numbers of the images of the
    captions; without it, caption i is about image i.

    Candidates are all images (`full`), the block of `candidates` consecutive images that has the image
    (`file-order`; images after the last whole block are not scored), or the image and others drawn with `seed`
    (`random`). Ties go to the right image. `device` is cpu or cuda; by default a GPU is used if there is one. Raises
    ValueError if numbers of captions and images, or sizes of embeddings, do not fit.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol is {protocol!r}; it must be {', '.join(PROTOCOLS)}")
    texts, pictures = _embedded(captions, images, encoder, device)
    rows = _rows_of_images(texts, pictures, targets)
    if protocol != "full" and candidates > len(pictures):
        raise ValueError(
            f"there are {len(pictures)} images; set `candidates` to {len(pictures)} or less, it is {candidates}"
        )
    copies = pd.Series(rows).groupby(rows).cumcount().to_numpy()
    options: dict[str, Any] = {"candidates": candidates, "copies": copies, "seed": seed, "corpus": "images"}
    rank, sizes, chosen = ranks(texts, rows, pictures, protocol, **options)
    numbers = {"caption": np.arange(len(rows)), "image": rows, "rank": rank, "candidates": sizes, "chosen": chosen}
    table = pd.DataFrame(numbers)[rank > 0].reset_index(drop=True)
    return Retrieval(intervals((table["rank"] == 1).to_numpy(), table["image"].tolist()), table)


def _rows_of_images(texts: np.ndarray, pictures: np.ndarray, targets: Sequence[int] | None) -> np.ndarray:
    """Return the row of the image of each caption. Raises ValueError if numbers or sizes do not fit."""
    rows = np.arange(len(texts)) if targets is None else np.asarray(targets, dtype=np.int64)
    if len(rows) != len(texts) or (targets is None and len(texts) != len(pictures)):
        raise ValueError(
            f"there are {len(texts)} captions, {len(pictures)} images and {len(rows)} targets; give one caption for "
            "each image, or the row number of the image of each caption as `targets`"
        )
    if len(rows) and not 0 <= rows.min() <= rows.max() < len(pictures):
        raise ValueError(f"targets are {rows.min()} to {rows.max()}; rows of images are below {len(pictures)}")
    if texts.shape[1] != pictures.shape[1]:
        raise ValueError(f"embeddings of captions have {texts.shape[1]} numbers, and of images {pictures.shape[1]}")
    return rows


def _embedded(
    captions: Any, images: Any, encoder: str | os.PathLike[str] | None, device: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the embeddings of captions and images, of length 1."""
    if isinstance(captions, str):
        raise ValueError("captions is a text; give a list of texts")
    texts, pictures = (value if isinstance(value, np.ndarray) else None for value in (captions, images))
    if texts is None or pictures is None:
        if encoder is None:
            raise ValueError("texts and images need an encoder; name its folder, or give embeddings as numpy arrays")
        with models_needed("retrieval by texts or images"):
            from captionlab.jobs.scripting import device as best_device
            from captionlab.library.images import embed, open_encoder

        model = open_encoder(encoder, device or best_device())
        texts = model.embed_texts(list(captions)).cpu().numpy() if texts is None else texts
        pictures = embed(model, images).numpy() if pictures is None else pictures
    for name, array in (("captions", texts), ("images", pictures)):
        if array.ndim != 2:
            raise ValueError(f"embeddings of {name} have the shape {array.shape}; it must be (number, size)")
    rows = [[str(row) for row in range(len(array))] for array in (texts, pictures)]
    return unit_length(texts, rows[0], "captions"), unit_length(pictures, rows[1], "images")
