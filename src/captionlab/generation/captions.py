"""Tables of captions: the images that an evaluation captions, and captions made by people or other programs."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from captionlab.storage.schemas import CAPTIONS, IMAGES
from captionlab.storage.tables import read_table
from captionlab.userfiles.delimited import delimited
from captionlab.userfiles.ids import id_text, known_id
from captionlab.userfiles.lists import listed_texts
from captionlab.userfiles.reading import json_line, read_json, text_lines, whole_lines

# Fields of an entry for the id of the image, and for its caption or captions; the first that an entry has counts.
IDS = ("image_id", "image", "id", "file_name")
TEXTS = ("caption", "text", "captions", "references")


class CaptionFileError(ValueError):
    """A file of captions cannot be read, or does not fit its corpus."""


def evaluated_images(
    images: str | os.PathLike[str], corpus: str, split: str, captions: str | os.PathLike[str] | None = None
) -> list[str]:
    """Return the ids of the images of a split that are captioned, in the order of the annotation file.

    With `captions`, images of look-alike sets are left out if they have no reference. Raises ValueError if no image is
    left.
    """
    table = read_table(images, IMAGES, ["image_id", "position", "split", "image_set"]).sort_by("position")
    rows = table.filter(pc.field("split") == split).to_pylist()
    if captions:  # undescribed images of look-alike sets are only distractors (ImageCoDe)
        described = {*read_table(captions, CAPTIONS, ["image_id"])["image_id"].to_pylist()}
        rows = [row for row in rows if row["image_set"] is None or row["image_id"] in described]
    if not rows:
        splits = ", ".join(sorted(table["split"].unique().to_pylist())) or "no images at all"
        raise ValueError(f"{corpus} has no images in the split {split!r}, it has {splits}; set its evaluation_split")
    return [row["image_id"] for row in rows]


def one_line(caption: str) -> str:
    """Return the caption on one line: each run of white space becomes a space, and none is left at the ends."""
    return " ".join(caption.split())


def generated_rows(
    corpus: str,
    image_ids: Sequence[str],
    caption_indices: Sequence[int],
    captions: Sequence[str],
    log_probs: Sequence[float | None] | None = None,
    confidences: Sequence[float | None] | None = None,
) -> dict[str, list[Any]]:
    """Return the columns of a table of generated captions of a corpus. Each caption is put on one line."""
    unknown = [None] * len(captions)
    return {
        "corpus": [corpus] * len(captions),
        "image_id": list(image_ids),
        "caption_index": list(caption_indices),
        "caption": [one_line(caption) for caption in captions],
        "log_prob": list(unknown if log_probs is None else log_probs),
        "confidence": list(unknown if confidences is None else confidences),
    }


def joined(parts: Sequence[Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """Return the columns of several corpora, joined into the columns of a single table."""
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def reference_rows(
    captions: str | os.PathLike[str], ids: Sequence[str], corpus: str, each: bool
) -> dict[str, list[Any]]:
    """Return the columns of a table of human captions: the first reference of each image, or all if `each` is set.

    The authors' code uses the first reference, too. Raises CaptionFileError if an image has no reference.
    """
    columns = read_table(captions, CAPTIONS, ["image_id", "caption_index", "caption"]).to_pydict().values()
    entries = list(zip(*columns, strict=True))
    if not each:
        entries = [next(of_image) for _, of_image in groupby(sorted(entries), key=lambda entry: entry[0])]
    return _rows_of(entries, ids, corpus, captions)


def file_rows(
    path: str | os.PathLike[str], ids: Sequence[str], known: Sequence[str] | None, corpus: str
) -> dict[str, list[Any]]:
    """Return the columns of a table of captions made elsewhere, for the images `ids` of a corpus, in this order.

    `known` are all images of the corpus, or None if captions may be of any image. Captions of images that are not
    evaluated are left out. Captions may be empty. Raises CaptionFileError for captions of unknown images, for images
    without a caption, and for an image and caption index that occur twice.
    """
    entries, of_corpus = read_caption_file(path), {*(ids if known is None else known)}
    ids_of = {name: known_id(name, of_corpus) for name in dict.fromkeys(name for name, _, _ in entries)}
    unknown = sorted(name for name, of_image in ids_of.items() if of_image is None)
    if unknown and known is not None:
        raise CaptionFileError(
            f"{path}: {_some(unknown)} are not in the corpus {corpus}, whose ids are like {ids[0]!r} (docs/data.md "
            "says what they are for each reader); is the file for another corpus?"
        )
    entries = [(ids_of[name] or name, index, caption) for name, index, caption in entries]
    numbers = Counter((name, index) for name, index, _ in entries)
    if repeated := dict.fromkeys(name for (name, _), number in numbers.items() if number > 1):
        raise CaptionFileError(
            f"{path}: {_some([*repeated])} have more than one caption; keep one, or number the captions of an image in "
            "a field caption_index"
        )
    return _rows_of(entries, ids, corpus, path)


def read_caption_file(path: str | os.PathLike[str]) -> list[tuple[str, int, str]]:
    """Return (image id, caption index, caption) for each entry of a file of captions.

    The file is in COCO's format of results (.json, a list of {"image_id", "caption"}), has one such object per line
    (.jsonl), or is a .csv or .tsv with a header, separated by commas, semicolons or tabs. Other names of these fields
    are in IDS and TEXTS. Image ids are read by `id_text`, so 42, 42.0 and "42" are the same id. `caption_index` is
    optional and 0 by default. A caption that is a list, or a list written as text, counts as several captions with
    consecutive indices. Raises CaptionFileError or GivenError that names the file and the entry.
    """
    if (suffix := Path(path).suffix.lower()) not in _ENTRIES:
        raise CaptionFileError(
            f"{path}: captions are read from {', '.join(_ENTRIES)} files, not {suffix or 'this one'}"
        )
    return [caption for where, entry in _ENTRIES[suffix](path) for caption in entry_captions(entry, where)]


def _json_entries(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    """Yield the place in the file, for messages, and the content of each entry of a .json file."""
    entries = read_json(path, several="name the file .jsonl if it has a document in each line")
    if not isinstance(entries, list):
        raise CaptionFileError(f'{path} must hold a list of {{"image_id", "caption"}}, not {str(entries)[:60]}')
    yield from ((f"{path}, entry {number}", entry) for number, entry in enumerate(entries, 1))


def _lines_entries(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    for number, (where, line) in enumerate(text_lines(path)):
        if not number and line.lstrip().startswith("["):
            raise CaptionFileError(f"{where} begins a list; name the file .json, for .jsonl has an object in each line")
        if line.strip():
            yield where, json_line(line, where)


def _csv_entries(path: str | os.PathLike[str]) -> Iterator[tuple[str, Any]]:
    header, rows = delimited(Path(path), whole_lines(path), {*IDS, *TEXTS})
    if not ({*IDS} & {*header} and {*TEXTS} & {*header}):
        raise CaptionFileError(
            f"{path}, line 1: the header must have the columns image_id and caption, separated by commas, semicolons "
            f"or tabs; it is {','.join(header)[:80]!r}"
        )
    yield from rows


# Readers of entries, by the suffix of the file. Each yields the place in the file, for messages, and the content.
_ENTRIES = {".json": _json_entries, ".jsonl": _lines_entries, ".csv": _csv_entries, ".tsv": _csv_entries}


def entry_captions(entry: Any, where: str) -> list[tuple[str, int, str]]:
    """Return (image id, caption index, caption) for each caption of an entry, a mapping with one of IDS and of TEXTS.

    The text may be a list of texts. Raises CaptionFileError or GivenError, which begins with the position `where`.
    """
    fields = entry if isinstance(entry, dict) else {}
    ids, texts = ([name for name in names if name in fields] for names in (IDS, TEXTS))
    if not ids or not texts:
        raise CaptionFileError(f"{where}: expected image_id and caption, found {str(entry)[:80]}")
    name, found = id_text(entry[ids[0]], f"{where}: {ids[0]}"), entry[texts[0]]
    if name is None:
        raise CaptionFileError(f"{where}: {ids[0]} is null or empty; write the id of the image, or take the entry out")
    captions = found if isinstance(found, list) else [found]
    if not all(isinstance(caption, str) for caption in captions):
        raise CaptionFileError(f"{where}: {texts[0]} is {found!r}; it must be a text, which may be empty")
    index = id_text(entry.get("caption_index"), f"{where}: caption_index") or "0"
    if not index.isdecimal():
        raise CaptionFileError(f"{where}: caption_index is {index}; it must be a whole number from 0")
    try:
        f"{name}{''.join(captions)}".encode()
    except UnicodeEncodeError as error:
        raise CaptionFileError(f"{where}: holds half a character ({error}); write the file again as UTF-8") from error
    listed = captions if isinstance(found, list) else listed_texts(found)
    return [(name, number, text) for number, text in enumerate(listed, int(index))]


def _rows_of(
    entries: Sequence[tuple[str, int, str]], ids: Sequence[str], corpus: str, path: str | os.PathLike[str]
) -> dict[str, list[Any]]:
    found: dict[str, dict[int, str]] = {}
    for image_id, index, caption in entries:
        found.setdefault(image_id, {})[index] = caption
    if missing := [image_id for image_id in ids if image_id not in found]:
        raise CaptionFileError(
            f"{path}: {_some(missing)} of the {len(ids)} evaluated images of {corpus} have no caption; add them, "
            "or evaluate a corpus that has only the others"
        )
    rows = [(image_id, *item) for image_id in ids for item in sorted(found[image_id].items())]
    return generated_rows(corpus, *zip(*rows, strict=True))


def _some(image_ids: Sequence[str]) -> str:
    shown = ", ".join(map(repr, image_ids[:5]))
    return f"{len(image_ids)} image ids ({shown}{', ...' if len(image_ids) > 5 else ''})"
