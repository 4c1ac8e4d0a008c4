"""Images whose captions are compared, with the captions and with what a model is shown beside them."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from captionlab.images.locations import LOCATION
from captionlab.storage.schemas import CAPTIONS, GENERATED, IMAGES
from captionlab.storage.tables import read_table

logger = logging.getLogger(__name__)
# Captions of a captioner by corpus and image.
Texts = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Described:
    """An image with its captions by captioner, and what a model is shown: the row of IMAGES or the references."""

    corpus: str
    image_id: str
    captions: Mapping[str, str]
    image: Mapping[str, Any] | None = None
    references: Sequence[str] = ()


def described_images(
    captions: Mapping[str, str],
    corpora: Sequence[str],
    shown: Mapping[str, Sequence[str]],
    number: int | None,
    seed: int,
) -> list[Described]:
    """Return the images of each corpus that all captioners describe, at most `number` of each, drawn by the seed.

    `captions` has the table GENERATED of each captioner. Of several captions of an image, the first one counts. `shown`
    has the tables IMAGES (`images`) or CAPTIONS (`references`) of the corpora that the model is shown, and no tables of
    the other kind.
    """
    texts = {captioner: first_captions(table) for captioner, table in captions.items()}
    described = []
    for place, corpus in enumerate(corpora):
        of_corpus = {captioner: by_corpus.get(corpus, {}) for captioner, by_corpus in texts.items()}
        ids = [image for image in next(iter(of_corpus.values())) if all(image in own for own in of_corpus.values())]
        ids = drawn_images(ids, number, seed)
        rows = {kind: _rows(kind, tables[place], ids) if tables else {} for kind, tables in shown.items()}
        for image in ids:
            pictures = rows["images"].get(image, [None])
            references = [row["caption"] for row in rows["references"].get(image, [])]
            own = {captioner: by_image[image] for captioner, by_image in of_corpus.items()}
            described.append(Described(corpus, image, own, pictures[0], references))
        logger.info("%s: captions of %d images are compared", corpus, len(ids))
    return described


def first_captions(table: str) -> Texts:
    """Return the first caption of each image of a table GENERATED, by corpus and image."""
    rows = read_table(table, GENERATED, ["corpus", "image_id", "caption_index", "caption"]).to_pylist()
    texts: Texts = defaultdict(dict)
    for row in sorted(rows, key=lambda row: row["caption_index"]):
        texts[row["corpus"]].setdefault(row["image_id"], row["caption"])
    return texts


def drawn_images(ids: Sequence[str], number: int | None, seed: int) -> list[str]:
    """Return `number` ids, drawn at random, or all ids. A larger number has the same ids and further ones."""
    order = np.random.default_rng(seed).permutation(len(ids))
    return [ids[place] for place in sorted(order[:number])]


def _rows(kind: str, table: str, ids: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of images in a table of a corpus, in the order of the table."""
    schema, columns = (IMAGES, LOCATION) if kind == "images" else (CAPTIONS, ["caption_index", "caption"])
    wanted, rows = {*ids}, defaultdict[str, list[dict[str, Any]]](list)
    for row in read_table(table, schema, ["image_id", *columns]).to_pylist():
        if row["image_id"] in wanted:
            rows[row["image_id"]].append(row)
    return rows
