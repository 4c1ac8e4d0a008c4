"""Captions and references as people have them: files, mappings, lists of records and data frames."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from captionlab.corpora.readers.coco.reader import coco_entries
from captionlab.corpora.readers.entries import Entry
from captionlab.corpora.readers.karpathy import reader as karpathy
from captionlab.generation.captions import CaptionFileError, entry_captions, read_caption_file
from captionlab.userfiles.ids import id_text
from captionlab.userfiles.reading import read_json

logger = logging.getLogger(__name__)
# Where texts come from: the path of a file, texts by image, records with image_id and caption, or such a data frame.
Source = "str | os.PathLike[str] | Mapping[Any, Any] | Sequence[Mapping[str, Any]] | pd.DataFrame"


class Texts(NamedTuple):
    """Texts of images, and their name in messages."""

    name: str
    of_images: dict[str, list[str]]
    """texts by image id, in the order of the source"""
    repeated: tuple[str, ...] = ()
    """images with several texts that are not numbered, so that one of them may be a mistake"""


def read_texts(source: Any, name: str, split: str = "test") -> Texts:
    """Return the texts of images from a `Source`. `name` is what messages call it if it is no file.

    A .json file is a list of {"image_id", "caption"} (COCO's results), {"images", "annotations"} (COCO's captions),
    {"images": [{"sentences"}]} (Karpathy's splits, of which `split` is taken), or texts by image id. A .jsonl file has
    such a record in each line, a .csv or .tsv file in each row. Ids are compared as texts, so 42, 42.0 and "42" are the
    same. Raises ValueError that names file and record.
    """
    if isinstance(source, str | os.PathLike):
        return _of_file(Path(source), split)
    if isinstance(source, Mapping):
        return Texts(name, _of_mapping(source, name))
    if hasattr(source, "to_frame"):
        raise ValueError(f"{name} are a {type(source).__name__}; give a data frame, or texts by image by `.to_dict()`")
    records = source.to_dict("records") if hasattr(source, "columns") else source
    if not isinstance(records, Sequence) or isinstance(records, str | bytes):
        raise ValueError(f"{name} are a {type(source).__name__}; give a path, texts by image, records or a data frame")
    entries = [text for place, record in enumerate(records) for text in entry_captions(record, f"{name}[{place}]")]
    return _of_entries(name, entries)


def _of_file(path: Path, split: str) -> Texts:
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    document = read_json(path, several="name the file .jsonl") if path.suffix.lower() == ".json" else None
    if not isinstance(document, dict):
        return _of_entries(str(path), read_caption_file(path))
    if "annotations" in document:
        return Texts(str(path), _of_corpus(coco_entries({"images": None}, Path(), str(path), "", {})))
    if "images" in document:
        return Texts(str(path), _of_split(path, split))
    return Texts(str(path), _of_mapping(document, str(path)))


def _of_split(path: Path, split: str) -> dict[str, list[str]]:
    entries = [*karpathy.read({"annotations": path, "images": None}, Path())]
    here = [entry for entry in entries if entry.split == split]
    if not here:
        splits = ", ".join(sorted({entry.split for entry in entries}))
        raise CaptionFileError(f"{path} has no image of the split {split!r}; it has {splits or 'no images'}")
    return _of_corpus(here)


def _of_corpus(entries: Iterable[Entry]) -> dict[str, list[str]]:
    return {entry.image_id: [*(entry.captions or ())] for entry in entries}


def _of_entries(name: str, entries: Sequence[tuple[str, int, str]]) -> Texts:
    texts: dict[str, list[str]] = {}
    numbers: dict[tuple[str, int], int] = {}
    for image, index, text in entries:
        texts.setdefault(image, []).append(text)
        numbers[image, index] = numbers.get((image, index), 0) + 1
    return Texts(name, texts, tuple(dict.fromkeys(image for (image, _), number in numbers.items() if number > 1)))


def _of_mapping(texts: Mapping[Any, Any], name: str) -> dict[str, list[str]]:
    """Return texts by image id. A text alone is a list with one text, which is logged. Raises CaptionFileError."""
    found: dict[str, list[str]] = {}
    single = 0
    for key, value in texts.items():
        image = id_text(key, f"{name}: an image id")
        if image is None:
            raise CaptionFileError(f"{name}: an image id is null or empty; write the id of the image")
        of_image = [value] if isinstance(value, str) else value
        if not isinstance(of_image, Sequence) or not all(isinstance(text, str) for text in of_image):
            raise CaptionFileError(f"{name}: {image!r} has {str(value)[:60]}; it must be a text or a list of texts")
        if image in found:
            raise CaptionFileError(f"{name}: the image {image!r} is there twice, as a number and as a text; keep one")
        single += isinstance(value, str)
        found[image] = [*of_image]
    if 0 < single < len(found):
        logger.warning("%s: %d of %d images have a text and not a list; each is one text", name, single, len(found))
    return found
