"""COCO's own annotation files."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from captionlab.corpora.inputs import CorpusError
from captionlab.corpora.readers.entries import AnnotatedObject, Entry, image_place, records, take
from captionlab.userfiles.reading import read_json


def read(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Yield the entries of COCO's captions files, one file per split, with the boxes of instances files if configured.

    All captions of an image are used. A box around a crowd has the attribute `crowd`.
    """
    for split, name in config["annotations"].items():
        instances = (config.get("instances") or {}).get(split)
        objects = _coco_objects(root / instances) if instances else {}
        yield from coco_entries(config, root, name, split, objects)


def coco_entries(
    config: Mapping[str, Any], root: Path, name: str, split: str, objects: Mapping[Any, Sequence[AnnotatedObject]]
) -> Iterator[Entry]:
    """Yield the entries of a captions file in COCO's format, limited to the `domain` of the config if it has one.

    `objects` maps image numbers to objects. Raises CorpusError if a record is malformed.
    """
    file, domain = root / name, config.get("domain")
    expected = '{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}'
    if domain:
        expected = expected.replace('"file_name"', '"file_name", "domain"')
    document, has_images = read_json(file), config["images"] is not None
    captions: dict[Any, list[str]] = {
        take(image, "id", (int, str), where, expected): []
        for where, image in records(document, "images", file, expected)
    }
    for where, annotation in records(document, "annotations", file, expected):
        number = take(annotation, "image_id", (int, str), where, expected)
        if number not in captions:
            raise CorpusError(f"{where} is about image {number!r}, which is not among the images of this file")
        captions[number].append(take(annotation, "caption", str, where, expected))
    for where, image in records(document, "images", file, expected):
        if domain and take(image, "domain", str, where, expected) != domain:
            continue
        file_name = take(image, "file_name", str, where, expected) if has_images else ""
        yield Entry(
            image_id=str(image["id"]),
            split=split,
            place=image_place(config, root, file_name, split),
            captions=captions[image["id"]],
            objects=objects.get(image["id"], ()),
            size=(image.get("width") or 0, image.get("height") or 0),
        )


def _coco_objects(file: Path) -> dict[Any, list[AnnotatedObject]]:
    """Return the objects by image number of an instances file in COCO's format."""
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
        objects[take(annotation, "image_id", (int, str), where, expected)].append(
            AnnotatedObject(labels[category], (x, y, x + width, y + height), attributes)
        )
    return dict(objects)
