"""Readers of published corpora: each turns its annotation files into entries, one per image.

A reader takes the block of the corpus in the config and the folder that relative paths start from. It reads
annotations only; images are checked by those who use the entries. `captionlab.corpora.reading` makes the tables.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from captionlab.corpora.images import Fault
from captionlab.corpora.inputs import CorpusError

# Concadia's texts are cut to so many characters in the experiments on discriminative finetuning.
CONCADIA_CHARACTERS = 200
# Images in a set of ImageCoDe. The annotations name an image by its rank in the set.
IMAGECODE_SET = 10


@dataclass(frozen=True, slots=True)
class AnnotatedObject:
    """An object: its class, its box (left, top, right, bottom in pixels) and its attributes."""

    label: str
    box: tuple[float, float, float, float]
    attributes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene caption and the annotators' confidence in it, 1 to 5, where that was asked."""

    caption: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An image as annotated.

    `path` is None in a corpus of texts only. `captions` is None where none is due, in contrast to an image whose
    captions are missing. `size` is the width and height in pixels that the annotations state, (0, 0) if they do not.
    `fault` says why the annotations themselves rule the image out.
    """

    image_id: str
    split: str
    path: str | None
    captions: Sequence[str] | None
    objects: Sequence[AnnotatedObject] = ()
    scenes: Sequence[Scene] = ()
    image_set: str | None = None
    size: tuple[int, int] = (0, 0)
    fault: Fault | None = None


def read_karpathy(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """COCO, Flickr8k or Flickr30k in Karpathy and Fei-Fei's splits (2015), one JSON file per corpus.

    `restval`, the part of COCO's validation images that everybody trains on, becomes `train`. All captions of an image
    count, which are six or seven of a few of COCO's. Images are known by their COCO number where there is one, else by
    file name without ending.
    """
    file, folder = root / config["annotations"], _folder(config, root)
    expected = '{"images": [{"filename", "split", "sentences": [{"raw"}]}]}, in COCO with "filepath" and "cocoid"'
    for where, image in _records(read_json(file, without=("tokens",)), "images", file, expected):
        name = _take(image, "filename", str, where, expected)
        split = _take(image, "split", str, where, expected)
        sentences = _take(image, "sentences", list, where, expected)
        yield Entry(
            image_id=str(image["cocoid"]) if "cocoid" in image else Path(name).stem,
            split="train" if split == "restval" else split,
            path=_path(folder, Path(image.get("filepath", "")) / name),
            captions=[
                _take(sentence, "raw", str, f"{where}.sentences[{i}]", expected) for i, sentence in enumerate(sentences)
            ],
        )


def read_coco(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """COCO's own captions files, one per split, with the boxes of its instances files where these are given.

    All captions of an image count. A box around a crowd has the attribute `crowd`.
    """
    for split, name in config["annotations"].items():
        instances = (config.get("instances") or {}).get(split)
        objects = _coco_objects(root / instances) if instances else {}
        yield from _coco_entries(root / name, split, _folder(config, root, split), objects)


def read_nocaps(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """The validation part of nocaps, or one of its domains: in-domain, near-domain or out-domain."""
    yield from _coco_entries(root / config["annotations"], "val", _folder(config, root), {}, config.get("domain"))


def read_conceptual_captions(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Conceptual Captions: a file per split of caption, tab, URL.

    The image of row r (from 0) is `{r:08d}.jpg` in the folder of its split, or the file that a third column names.
    """
    expected = "caption, tab, URL and perhaps tab, file of the image"
    for split, name in config["annotations"].items():
        folder = _folder(config, root, split)
        for row, (where, line) in enumerate(_lines(root / name)):
            columns = line.split("\t")
            if len(columns) not in (2, 3):
                raise CorpusError(f"{where} has {len(columns)} columns; the reader expects {expected}")
            file = columns[2] if len(columns) == 3 else f"{row:08d}.jpg"
            yield Entry(f"{split}/{row:08d}", split, _path(folder, file), [columns[0]])


def read_concadia(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """Concadia: images of Wikipedia with a caption and a description; `text` says which of the two to read.

    The text is cut to 200 characters, as in the code of Dessì et al. (2023), for they fed it to CLIP.
    """
    file, folder, text = root / config["annotations"], _folder(config, root), config["text"]
    expected = f'{{"images": [{{"filename", "split", "{text}": {{"raw"}}}}]}}'
    for where, image in _records(read_json(file, without=("tokens", "context")), "images", file, expected):
        name = _take(image, "filename", str, where, expected)
        raw = _take(_take(image, text, dict, where, expected), "raw", str, f"{where}.{text}", expected)
        split = _take(image, "split", str, where, expected)
        yield Entry(Path(name).stem, split, _path(folder, name), [raw[:CONCADIA_CHARACTERS]])


def read_imagecode(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """ImageCoDe: sets of ten look-alike images, some of which are described.

    Every image of a set is an entry, `{set}/{rank}`; its rank is that of the number in `img<number>.jpg`. A set
    that has not ten such files is left out whole: its ranks would be wrong.
    """
    folder = root / config["images"]
    expected = '{set: {rank of the image, "0" to "9": description}}'
    for split, name in config["annotations"].items():
        document = read_json(root / name)
        for image_set in document:
            where = f"{root / name}: set {image_set!r}"
            descriptions = _take(document, image_set, dict, str(root / name), expected)
            if unknown := sorted(set(descriptions) - {str(rank) for rank in range(IMAGECODE_SET)}):
                raise CorpusError(f"{where} has no image {unknown[0]!r}; the reader expects {expected}")
            files = [path for path in (folder / image_set).glob("img*.jpg") if re.fullmatch(r"img\d+", path.stem)]
            files.sort(key=lambda path: int(path.stem[3:]))
            fault = None
            if len(files) != IMAGECODE_SET:
                found = f"{len(files)} images img<number>.jpg in place of {IMAGECODE_SET} in the folder of the set"
                fault, files = Fault("missing", found), [folder / image_set] * IMAGECODE_SET
            for rank, path in enumerate(files):
                captions = [_take(descriptions, str(rank), str, where, expected)] if str(rank) in descriptions else None
                yield Entry(f"{image_set}/{rank}", split, str(path), captions, image_set=image_set, fault=fault)


def read_hl(config: Mapping[str, Any], root: Path) -> Iterator[Entry]:
    """The High-Level dataset (Cafagna et al. 2023): JSON lines, a file per split, images of COCO train2014.

    Object captions, which are COCO's, become captions, or with `text: scene` the scene captions do; scene captions
    always become scenes with their confidence. An image is known by its COCO number, as in the other readers of COCO.

    The validation split of Cafagna et al. 2022 was not published: it is in the published train split. `validation`
    draws so many `images` with a `seed` and calls their split val.
    """
    expected = '{"file_name", "captions": {"object": [...], "scene": [...]}, "confidence": {"scene": [...]}}'
    kept = config.get("text", "object")
    for split, file_name in config["annotations"].items():
        folder = _folder(config, root, split)
        drawn = _drawn_lines(config.get("validation"), root / file_name) if split == "train" else set()
        for number, (where, line) in enumerate(_lines(root / file_name)):
            record = _parse(line, where)
            name = _take(record, "file_name", str, where, expected)
            texts = _take(record, "captions", dict, where, expected)
            scenes = _texts(texts, "scene", f"{where}: captions", expected)
            confidences = (record.get("confidence") or {}).get("scene", [None] * len(scenes))
            if len(confidences) != len(scenes):
                raise CorpusError(
                    f"{where} has {len(scenes)} scene captions and {len(confidences)} confidences in them"
                )
            coco_number = re.fullmatch(r"COCO_\w+_(\d{12})", Path(name).stem)
            yield Entry(
                image_id=str(int(coco_number[1])) if coco_number else Path(name).stem,
                split="val" if number in drawn else split,
                path=_path(folder, name),
                captions=_texts(texts, kept, f"{where}: captions", expected),
                scenes=[Scene(*pair) for pair in zip(scenes, confidences, strict=True)],
            )


def _drawn_lines(validation: Mapping[str, int] | None, file: Path) -> set[int]:
    """The numbers, from 0, of the lines that are drawn for validation."""
    if validation is None:
        return set()
    lines = sum(1 for _ in _lines(file))
    if validation["images"] >= lines:
        raise CorpusError(f"{file} has {lines} images; validation.images is {validation['images']}, which leaves none")
    return {*Random(validation["seed"]).sample(range(lines), validation["images"])}


READERS: dict[str, Callable[[Mapping[str, Any], Path], Iterator[Entry]]] = {
    "karpathy": read_karpathy,
    "coco": read_coco,
    "nocaps": read_nocaps,
    "conceptual-captions": read_conceptual_captions,
    "concadia": read_concadia,
    "imagecode": read_imagecode,
    "hl": read_hl,
}


def read_json(file: Path, without: Sequence[str] = ()) -> Any:
    """The document in a JSON file, without the fields named: polygons and tokens are most of some files.

    Raises CorpusError with line and column where the file is not JSON.
    """

    def drop(record: dict[str, Any]) -> dict[str, Any]:
        for name in without:
            record.pop(name, None)
        return record

    try:
        with open(file, encoding="utf-8-sig") as stream:
            return json.load(stream, object_hook=drop if without else None)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{file}, line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise CorpusError(f"{file}: not UTF-8 text from byte {error.start} on") from error


def _coco_entries(
    file: Path,
    split: str,
    folder: Path | None,
    objects: Mapping[Any, Sequence[AnnotatedObject]],
    domain: str | None = None,
) -> Iterator[Entry]:
    """Entries of a captions file in COCO's format, those of one domain where a domain is given."""
    expected = '{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}]}'
    if domain:
        expected = expected.replace('"file_name"', '"file_name", "domain"')
    document = read_json(file)
    captions: dict[Any, list[str]] = {
        _take(image, "id", (int, str), where, expected): []
        for where, image in _records(document, "images", file, expected)
    }
    for where, annotation in _records(document, "annotations", file, expected):
        number = _take(annotation, "image_id", (int, str), where, expected)
        if number not in captions:
            raise CorpusError(f"{where} is about image {number!r}, which is not among the images of this file")
        captions[number].append(_take(annotation, "caption", str, where, expected))
    for where, image in _records(document, "images", file, expected):
        if domain and _take(image, "domain", str, where, expected) != domain:
            continue
        yield Entry(
            image_id=str(image["id"]),
            split=split,
            path=_path(folder, _take(image, "file_name", str, where, expected)) if folder else None,
            captions=captions[image["id"]],
            objects=objects.get(image["id"], ()),
            size=(image.get("width") or 0, image.get("height") or 0),
        )


def _coco_objects(file: Path) -> dict[Any, list[AnnotatedObject]]:
    """Boxes per image number of an instances file in COCO's format."""
    expected = (
        '{"categories": [{"id", "name"}], "annotations": [{"image_id", "category_id", "bbox": [x, y, width, height]}]}'
    )
    document = read_json(file, without=("segmentation",))
    labels = {
        _take(category, "id", int, where, expected): _take(category, "name", str, where, expected)
        for where, category in _records(document, "categories", file, expected)
    }
    objects = defaultdict(list)
    for where, annotation in _records(document, "annotations", file, expected):
        box = _take(annotation, "bbox", list, where, expected)
        category = _take(annotation, "category_id", int, where, expected)
        if len(box) != 4 or category not in labels:
            raise CorpusError(f"{where} has box {box} and category {category}; the reader expects {expected}")
        x, y, width, height = box
        attributes = ("crowd",) if annotation.get("iscrowd") else ()
        objects[_take(annotation, "image_id", (int, str), where, expected)].append(
            AnnotatedObject(labels[category], (x, y, x + width, y + height), attributes)
        )
    return dict(objects)


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    """Lines of a text file without their ends, each with its place for messages; one line is in memory at a time."""
    with open(file, "rb") as stream:
        for number, line in enumerate(stream, 1):
            where = f"{file}, line {number}"
            try:
                yield where, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise CorpusError(f"{where}: not UTF-8 text from byte {error.start} of the line on") from error


def _parse(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{where}, column {error.colno}: not valid JSON: {error.msg}") from error


def _records(document: Any, name: str, file: Path, expected: str) -> Iterator[tuple[str, Any]]:
    """The records of a list in a document, each with its place for messages."""
    for index, record in enumerate(_take(document, name, list, str(file), expected)):
        yield f"{file}: {name}[{index}]", record


def _take(record: Any, name: str, kind: type | tuple[type, ...], where: str, expected: str) -> Any:
    """A field of a record; a CorpusError says what is expected where it is missing or of another type."""
    if not isinstance(record, dict) or name not in record:
        raise CorpusError(f"{where} has no field {name!r}; the reader expects {expected}")
    if not isinstance(record[name], kind):
        raise CorpusError(f"{where}: {name!r} cannot be {str(record[name])[:40]!r}; the reader expects {expected}")
    return record[name]


def _texts(record: Any, name: str, where: str, expected: str) -> list[str]:
    """A field that is a list of texts."""
    texts = _take(record, name, list, where, expected)
    if not all(isinstance(text, str) for text in texts):
        raise CorpusError(f"{where}: {name!r} must hold texts only; the reader expects {expected}")
    return texts


def _folder(config: Mapping[str, Any], root: Path, split: str | None = None) -> Path | None:
    """The folder of the images, the split's own where each has one, or None where the corpus is of texts only."""
    folder = config["images"]
    if isinstance(folder, Mapping):
        folder = folder[split]
    return None if folder is None else root / folder


def _path(folder: Path | None, name: str | Path) -> str | None:
    return None if folder is None else str(folder / name)
