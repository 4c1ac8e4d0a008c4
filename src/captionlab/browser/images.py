"""Annotations of the images of a corpus (references, objects and scenes) and their thumbnails."""

import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from captionlab.evaluation.unknown_words import known_words
from captionlab.images.locations import LOCATION, location_of
from captionlab.images.pixels import open_image
from captionlab.jobs.progress import count
from captionlab.storage.row_groups import Groups
from captionlab.storage.schemas import CAPTIONS, IMAGES, OBJECTS, SCENE_CAPTIONS
from captionlab.storage.tables import read_table

# Longer side of thumbnails in pixels, and JPEG quality.
SIDE, QUALITY = 320, 82
# Number of images in a folder of thumbnails; larger folders are slow.
OF_FOLDER = 1000


def images_of(files: Mapping[str, str], split: str) -> dict[str, Any]:
    """Return columns of the images of a split, in the order of the annotation file.

    `files` are the tables of the corpus. The columns are id, width, height, look-alike set, references, object classes,
    scenes and scene captions.
    """
    columns = ["image_id", "position", "split", "width", "height", "image_set"]
    table = read_table(files["images"], IMAGES, columns).sort_by("position")
    table = table.filter(pc.equal(table["split"], split))
    ids = table["image_id"].to_pylist()
    return {
        "id": ids,
        "width": table["width"].to_pylist(),
        "height": table["height"].to_pylist(),
        "set": table["image_set"].to_pylist(),
        "references": _lists(files["captions"], CAPTIONS, "caption", ids),
        "objects": [list(dict.fromkeys(labels)) for labels in _lists(files["objects"], OBJECTS, "label", ids)],
        "scenes": [
            list(dict.fromkeys(filter(None, labels)))
            for labels in _lists(files["scene_captions"], SCENE_CAPTIONS, "scene", ids)
        ],
        "scene_captions": _lists(files["scene_captions"], SCENE_CAPTIONS, "caption", ids),
    }


def _lists(path: str, kind: Any, column: str, ids: Sequence[str]) -> list[list[Any]]:
    """Return the values of a column for each image, in the order of the table's key."""
    order = [(name, "ascending") for name in kind.key]
    found: dict[str, list[Any]] = defaultdict(list)
    for part in Groups([path], kind, [*kind.key, column]).parts():
        here = part.filter(pc.is_in(part["image_id"], value_set=pa.array(ids, pa.string()))).sort_by(order)
        for image, value in zip(here["image_id"].to_pylist(), here[column].to_pylist(), strict=True):
            found[image].append(value)
    return [found[image] for image in ids]


def training_words(images: str, captions: str) -> set[str]:
    """Return the words of the captions in the split train of a corpus."""
    table = read_table(images, IMAGES, ["image_id", "split"])
    trained = table.filter(pc.equal(table["split"], "train"))["image_id"].combine_chunks()
    known: set[str] = set()
    for part in Groups([captions], CAPTIONS, ["image_id", "caption"]).parts():
        known |= known_words(part.filter(pc.is_in(part["image_id"], value_set=trained))["caption"].to_pylist())
    return known


def write_thumbnails(path: str, ids: Sequence[str], folder: Path, threads: int) -> dict[str, list[int]]:
    """Write a JPEG thumbnail of each image of a table, into subfolders with OF_FOLDER images each.

    A thumbnail is named by the position of its image among the `ids`. Returns the positions of images without a
    thumbnail: `without` for images without a file, as in corpora of texts only, and `broken` for unreadable images.
    """
    places, missing = {image: place for place, image in enumerate(ids)}, {"without": list[int](), "broken": list[int]()}
    for start in range(0, len(ids), OF_FOLDER):
        (folder / str(start // OF_FOLDER)).mkdir(parents=True)
    with ThreadPoolExecutor(threads) as pool:
        for rows in _images(path, places):
            made = pool.map(lambda row: _thumbnail(row, folder, places[row["image_id"]]), rows)
            for row, fault in zip(rows, made, strict=True):
                if fault:
                    missing[fault].append(places[row["image_id"]])
    return {fault: sorted(numbers) for fault, numbers in missing.items()}


def _images(path: str, wanted: Mapping[str, int]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of the wanted images, one group of the table at a time."""
    ids = pa.array([*wanted], pa.string())
    for part in Groups([path], IMAGES, ["image_id", *LOCATION]).parts():
        yield part.filter(pc.is_in(part["image_id"], value_set=ids)).to_pylist()


def _thumbnail(row: Mapping[str, Any], folder: Path, place: int) -> str | None:
    """Write the thumbnail of an image and return None, or return the reason why it has none: `without` or `broken`."""
    where = location_of(row)
    if where.path is None and where.data is None:
        return "without"
    try:
        small = open_image(row)
    except Exception:  # decoders raise all kinds of errors on damaged bytes
        count("images that can no longer be read, shown as such")
        return "broken"
    small.thumbnail((SIDE, SIDE))
    stream = io.BytesIO()
    small.save(stream, "JPEG", quality=QUALITY)
    (folder / str(place // OF_FOLDER) / f"{place}.jpg").write_bytes(stream.getvalue())
    return None
