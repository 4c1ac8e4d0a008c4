"""Captions of images by captioners that only write texts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from captionlab.captioners.writer import ShownImage, Writer
from captionlab.generation.captions import generated_rows
from captionlab.images.locations import LOCATION
from captionlab.images.pixels import open_image
from captionlab.jobs.progress import progress
from captionlab.storage.schemas import IMAGES
from captionlab.storage.tables import read_table


class WriterError(ValueError):
    """A captioner did not write one text for each image."""


def written_captions(
    writer: Writer, name: str, images: Mapping[str, tuple[Sequence[str], str]]
) -> Iterator[dict[str, list[Any]]]:
    """Yield columns of GENERATED, corpus by corpus.

    `images` has by corpus the ids of the images, in the order of the captions, and the table of the corpus (IMAGES).
    `name` is the name of the captioner, for messages. Raises WriterError.
    """
    for corpus, (ids, table) in images.items():
        rows = {row["image_id"]: row for row in read_table(table, IMAGES, ["image_id", *LOCATION]).to_pylist()}
        captions: list[str] = []
        for start in progress(range(0, len(ids), writer.batch), f"captions of {corpus}, batches"):
            part = ids[start : start + writer.batch]
            shown = [ShownImage(corpus, image_id, open_image(rows[image_id])) for image_id in part]
            captions += _checked(writer.caption(shown), shown, f"captioners.{name}: `caption`")
        yield generated_rows(corpus, ids, [0] * len(ids), captions)


def _checked(captions: Sequence[str], shown: Sequence[ShownImage], who: str) -> Sequence[str]:
    """Return captions that are one text for each image."""
    if isinstance(captions, str) or len(captions) != len(shown):
        found = "one text" if isinstance(captions, str) else f"{len(captions)} captions"
        raise WriterError(f"{who} returned {found} for {len(shown)} images; it must return a list with one for each")
    for caption, image in zip(captions, shown, strict=True):
        if not isinstance(caption, str):
            raise WriterError(f"{who} returned {caption!r} for the image {image.image_id!r}; a caption is a text")
    return captions
