"""Training data of captioners: the train split of a corpus, its references, and the models of a reward."""

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from captionlab.captioners.images import Rows
from captionlab.encoders.bags import all_in_bags
from captionlab.encoders.embeddings import load_embeddings
from captionlab.networks.tokenizer import Tokenizer
from captionlab.regions.batches import RegionTable
from captionlab.storage.order import Places
from captionlab.storage.schemas import CAPTIONS, IMAGES
from captionlab.storage.tables import read_schema_name, read_table

logger = logging.getLogger(__name__)

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class TrainingData:
    """Training data of a captioner. Tables are read on first use, so data that no objective uses is not read."""

    images: Path
    features: Sequence[str]
    device: str
    batch: int
    seed: int
    captions: Path = ""
    """nothing where no objective reads references"""
    reward_models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """the retrievers and scorers that its reward names, as encoders/{name} and scorers/{name}: its `directory`, tables
    of `features` of the training corpus that it reads, and of `neighbours` there, where a reward has hard negatives.
    Sets of questions, as questions/{name}: the `table` of the questions and the block of their `answerer`"""
    bag_features: Sequence[str] = ()
    """tables of embeddings by which training images are look-alikes, if the objective has batches of bags"""
    captioner: Any = None
    """who learns, as soon as it is made"""
    tokenizer: Any = None

    @cached_property
    def ids(self) -> list[str]:
        """Return the ids of the training images."""
        return training_images(self.images)

    @cached_property
    def visual(self) -> Any:
        """Return the training images as the captioner reads them, by row, on the device.

        For most captioners these are embeddings (images, d).
        """
        return self.visual_of(self.ids)

    def visual_of(self, ids: Sequence[str]) -> Any:
        """Return the images `ids` as the captioner reads them, by row, on the device.

        For most captioners these are embeddings (images, d).
        """
        if (images := self.captioner.open_images(self.features, self.tokenizer)) is not None:
            return Rows(images, ids, self.device)
        return load_embeddings(self.features, ids).values.to(self.device)

    @cached_property
    def texts(self) -> list[list[str]]:
        """Return the references of each training image. Raises ValueError if there is no table of captions."""
        if not self.captions:
            raise ValueError("this objective reads references, and no table of captions was given")
        return references(self.captions, self.ids)

    @property
    def encoded(self) -> list[list[list[int]]]:
        """Return the token ids of each reference of each training image."""
        return encode_references(self.texts, self.tokenizer, self.captioner.longest, self.captioner.cut_keeps_end)

    @property
    def order(self) -> dict[str, Any]:
        """Return size, seed and places of batches, as keyword arguments of batches."""
        return {"size": self.batch, "seed": self.seed, "places": self.places}

    def bags(self, config: Mapping[str, Any]) -> list[tuple[int, np.ndarray]]:
        """Return the bags of look-alikes of an objective: the first epoch, from 0, and the bags from this epoch on.

        The bags depend on the embeddings alone, so a resumed training makes the same bags. Without `bags`, the list is
        empty.
        """
        if not (sizes := config.get("bags", {}).get("sizes")):
            return []
        embeddings = load_embeddings(self.bag_features, self.ids).values.to(self.device)
        return [(one["epoch"] - 1, all_in_bags(embeddings, one["size"])) for one in sizes]

    @property
    def places(self) -> Places | None:
        """Return where the regions of the training images lie in their table, or None if no regions are read.

        If the captioner reads embeddings or pixels, the regions of the first reward model that reads regions count.
        """
        if isinstance(self.visual, Rows):
            return self.visual.images.places(self.ids)
        for asked in self.reward_models.values():
            if asked["features"] and read_schema_name(asked["features"][0]) == "regions":
                return RegionTable(asked["features"]).places(self.ids)
        return None


def training_images(images: Path, of: str = "train") -> list[str]:
    """Return the ids of the images of a split, in the order of the annotation file.

    Raises ValueError if the split has no images.
    """
    table = read_table(images, IMAGES, columns=["image_id", "position", "split"]).sort_by("position").to_pydict()
    ids = [image_id for image_id, split in zip(table["image_id"], table["split"], strict=True) if split == of]
    if not ids:
        splits = ", ".join(sorted(set(table["split"]))) or "no images at all"
        use = "is trained on the split 'train'" if of == "train" else f"shall be selected on the split {of!r}"
        raise ValueError(f"{images}: a captioner {use}, and this corpus has {splits}")
    return ids


def references(captions: Path, ids: Sequence[str]) -> list[list[str]]:
    """Return the references of each image of `ids`, in their order. Raises ValueError for an image without any."""
    table = read_table(captions, CAPTIONS)
    try:
        return texts_by_image(table, ids)
    except ValueError as error:
        raise ValueError(f"{captions}: {error}") from error


def texts_by_image(captions: pa.Table, ids: Sequence[str]) -> list[list[str]]:
    """Return the captions of each image of `ids`, in their order, from a table of captions.

    Raises ValueError for an image without captions.
    """
    found: dict[str, list[str]] = {image_id: [] for image_id in ids}
    for image_id, caption in zip(captions["image_id"].to_pylist(), captions["caption"].to_pylist(), strict=True):
        if image_id in found:
            found[image_id].append(caption)
    if empty := [image_id for image_id, texts in found.items() if not texts]:
        raise ValueError(f"{len(empty)} training images have no caption, the first is {empty[0]!r}")
    return list(found.values())


def other_texts(captions: Path, ids: Sequence[str]) -> list[str]:
    """Return the captions of all images that are not among `ids`."""
    table = read_table(captions, CAPTIONS, ["image_id", "caption"])
    return table.filter(pc.invert(pc.is_in(table["image_id"], pa.array(ids))))["caption"].to_pylist()


def encode_references(
    texts: Sequence[Sequence[str]], tokenizer: Tokenizer, longest: int, cut_keeps_end: bool = False
) -> list[list[list[int]]]:
    """Return the token ids of each reference of each image, with an end token.

    References of more than `longest` tokens are cut. A cut reference loses its end token. With `cut_keeps_end` it keeps
    the end token and loses another token instead.
    """
    encoded = iter(tokenizer.encode([text for of_image in texts for text in of_image]))
    tokens = [[[*next(encoded), tokenizer.end] for _ in of_image] for of_image in texts]
    if cut := sum(len(ids) > longest for of_image in tokens for ids in of_image):
        logger.info("%d references have more than %d tokens and are cut", cut, longest)
    end = [tokenizer.end] if cut_keeps_end else []
    return [
        [ids if len(ids) <= longest else [*ids[: longest - len(end)], *end] for ids in of_image] for of_image in tokens
    ]
