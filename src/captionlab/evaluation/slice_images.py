"""Images of slices: by the labels of a corpus, or by a column of a file of the user."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from captionlab.storage.schemas import IMAGES, OBJECTS, SCENE_CAPTIONS
from captionlab.storage.tables import read_table
from captionlab.userfiles.delimited import delimited
from captionlab.userfiles.ids import known_id
from captionlab.userfiles.reading import GivenError, whole_lines

IMAGE_ID = "image_id"
# Tables of a corpus with labels of images, by what images are sliced by: the schema and the column of the labels.
LABELS = {"scene": (SCENE_CAPTIONS, "scene"), "object": (OBJECTS, "label")}


def evaluated_images(path: str, split: str) -> tuple[list[str], list[str]]:
    """Return the ids of the images of a split of a corpus, and of all its images, from its table of images."""
    table = read_table(path, IMAGES, [IMAGE_ID, "split"])
    ids = table[IMAGE_ID].to_pylist()
    return [image for image, own in zip(ids, table["split"].to_pylist(), strict=True) if own == split], ids


def labelled_images(by: str, path: str, images: Iterable[str]) -> dict[str, list[str]]:
    """Return the images that have each label in a table of scenes or objects. An image may have several labels."""
    schema, column = LABELS[by]
    table = read_table(path, schema, [*schema.key, column])
    known, labelled = {*images}, dict[str, dict[str, None]]()
    for image, label in zip(table[IMAGE_ID].to_pylist(), table[column].to_pylist(), strict=True):
        if label and image in known:
            labelled.setdefault(label, {})[image] = None
    return {label: [*labelled[label]] for label in sorted(labelled)}


def valued_images(
    path: str, column: str, images: Mapping[str, Sequence[str]], known: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, list[str]]]:
    """Return, by corpus, the evaluated images that have each value in a column of a file with a row for each image.

    `images` has the evaluated images of each corpus, and `known` all its images. An id that several corpora have stands
    for the image of each of them. Images without a value are in no slice. Raises GivenError, which names the file and
    the row, if the file is empty, lacks a column, or has an image twice, an image of no corpus, or a value of no
    evaluated image.
    """
    values = _values(path, column, {image for ids in known.values() for image in ids}, ", ".join(known))
    slices: dict[str, dict[str, list[str]]] = {corpus: {} for corpus in images}
    for corpus, ids in images.items():
        for image in ids:
            if value := values.get(image):
                slices[corpus].setdefault(value, []).append(image)
    if not any(slices.values()):
        raise GivenError(
            f"{path}: no evaluated image of {', '.join(images)} has a value in the column {column!r}; write the values "
            "of images of the evaluated split there"
        )
    return {corpus: dict(sorted(of_corpus.items())) for corpus, of_corpus in slices.items()}


def _values(path: str, column: str, known: Set[str], corpora: str) -> dict[str, str]:
    """Return the value of each image in a file; it is empty if the row has none."""
    values: dict[str, str] = {}
    rows_of: dict[str, str] = {}
    for where, row in _rows(path, column):
        name = (row[IMAGE_ID] or "").strip()
        if not name:
            raise GivenError(f"{where}: {IMAGE_ID} is empty; write the id of the image, or take the row out")
        if (image := known_id(name, known)) is None:
            raise GivenError(
                f"{where}: {IMAGE_ID} is {name!r}, which no corpus of the evaluation has ({corpora}); correct it, or "
                "take the row out"
            )
        if image in values:
            raise GivenError(
                f"{where}: {IMAGE_ID} is {name!r} again, after {rows_of[image]}; keep one row of the image"
            )
        values[image], rows_of[image] = (row[column] or "").strip(), where.removeprefix(f"{path}, ")
    return values


def _rows(path: str, column: str) -> Iterator[tuple[str, dict[str, str | None]]]:
    """Return the rows of a file, each with its place for messages."""
    header, rows = delimited(Path(path), whole_lines(path), {IMAGE_ID, column})
    if not header:
        raise GivenError(f"{path} is empty; a header with the columns {IMAGE_ID} and {column} is expected")
    if absent := [name for name in (IMAGE_ID, column) if name not in header]:
        raise GivenError(
            f"{path}, line 1: the header has no column {absent[0]!r}; it is {','.join(header)[:80]!r}; columns are "
            "separated by commas, semicolons or tabs"
        )
    if repeated := [name for name in (IMAGE_ID, column) if header.count(name) > 1]:
        raise GivenError(f"{path}, line 1: the header has the column {repeated[0]!r} twice; rename one")
    return rows
