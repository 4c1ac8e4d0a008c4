"""COCO's own annotation files."""

import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import AnnotatedObject, Entry, image_place, records, take, take_id
from captionlab.corpora.readers.marks import MarkedCaptions
from captionlab.userfiles.reading import read_json

logger = logging.getLogger(__name__)


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of COCO's captions files, one file per split, with the boxes of instances files if configured.

    All captions of an image are used. A box around a crowd has the attribute `crowd`.
    """
    for split, name in config["annotations"].items():
        instances = (config.get("instances") or {}).get(split)
        objects = coco_objects(root / instances) if instances else {}
        yield from coco_entries(config, root, name, split, objects)


def coco_entries(
    config: Mapping[str, Any], root: Path, name: str, split: str, objects: Mapping[str, Sequence[AnnotatedObject]]
) -> Iterator[Entry]:
    """Yield the entries of a captions file in COCO's format, limited to the `domain` of the config if it has one.

    `objects` maps image ids to objects. Captions that the file marks as unusable are left out and counted in the log,
    but for the marks in `keep` of the config, and so are images that have no other captions. Raises CorpusError if a
    record is malformed, if two images have the same id, or if no image of the file has objects although there are some.
    """
    file, domain = root / name, config.get("domain")
    expected = '{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}'
    if domain:
        expected = expected.replace('"file_name"', '"file_name", "domain"')
    document, has_images = read_json(file), config["images"] is not None
    images = [
        (where, take_id(image, "id", where, expected), image)
        for where, image in records(document, "images", file, expected)
    ]
    _check_ids(images)
    captions = {image_id: list[str | None]() for _, image_id, _ in images}
    _check_objects(objects, captions, file)
    marked = MarkedCaptions(config.get("keep", ()))
    _fill(captions, document, marked, file, expected)
    for where, image_id, image in images:
        usable = marked.usable(captions[image_id])
        if usable is None or (domain and take(image, "domain", str, where, expected) != domain):
            continue
        file_name = take(image, "file_name", str, where, expected) if has_images else ""
        yield Entry(
            image_id=image_id,
            split=split,
            place=image_place(config, root, file_name, split),
            captions=usable,
            objects=objects.get(image_id, ()),
            size=(image.get("width") or 0, image.get("height") or 0),
        )
    marked.log(file)


def _fill(
    captions: Mapping[str, list[str | None]], document: Any, marked: MarkedCaptions, file: Path, expected: str
) -> None:
    """Add the captions of a document to the captions by image id, with None in the place of marked captions."""
    for where, annotation in records(document, "annotations", file, expected):
        image_id = take_id(annotation, "image_id", where, expected)
        if image_id not in captions:
            raise CorpusError(f"{where} is about image {image_id!r}, which is not among the images of this file")
        caption = take(annotation, "caption", str, where, expected)
        captions[image_id].append(None if marked.leave_out(annotation, where) else caption)


def _check_objects(objects: Mapping[str, Any], images: Mapping[str, Any], file: Path) -> None:
    """Log how many images with objects are not among the images. Raises CorpusError if none of them is."""
    strangers = len(objects.keys() - images.keys())
    if strangers and strangers == len(objects):
        raise CorpusError(
            f"{file} has no image of the file of objects, whose ids are like {next(iter(objects))!r}; take both "
            "files from one release"
        )
    if strangers:
        logger.info("boxes of %d images are left out, as %s does not list these images", strangers, file)


def _check_ids(images: Sequence[tuple[str, str, Mapping[str, Any]]]) -> None:
    """Raise a CorpusError if two images, each with its place and id, have the same id and different files.

    It is not known which image their captions describe.
    """
    first: dict[str, tuple[str, Any]] = {}
    for where, image_id, image in images:
        before, file_name = first.setdefault(image_id, (where, image.get("file_name")))
        if file_name != image.get("file_name"):
            raise CorpusError(
                f"{where} has the id {image_id!r} and another file than {before} with this id, so captions cannot be "
                "told apart; give each image an id of its own, in `annotations` too"
            )


def coco_objects(file: Path) -> dict[str, list[AnnotatedObject]]:
    """Return the objects by image id of an instances file in COCO's format."""
    expected = (
        '{"categories": [{"id", "name"}], "annotations": [{"image_id", "category_id", "bbox": [x, y, width, height]}]}'
    )
    document = read_json(file, without=("segmentation",))
    labels = {
        take(category, "id", int, where, expected): take(category, "name", str, where, expected)
        for where, category in records(document, "categories", file, expected)
    }
    objects = defaultdict(list)
    for where, annotation in records(document, "annotations", file, expected):
        box = take(annotation, "bbox", list, where, expected)
        category = take(annotation, "category_id", int, where, expected)
        if [isinstance(edge, (int, float)) for edge in box] != [True] * 4 or category not in labels:
            raise CorpusError(f"{where} has box {box} and category {category}; the reader expects {expected}")
        x, y, width, height = box
        attributes = ("crowd",) if annotation.get("iscrowd") else ()
        objects[take_id(annotation, "image_id", where, expected)].append(
            AnnotatedObject(labels[category], (x, y, x + width, y + height), attributes)
        )
    return dict(objects)
